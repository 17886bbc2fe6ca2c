# Two commands do everything: `make up` runs Tickwork, `make test` checks it.
# They need Python 3.11 or newer, pip and make; all else goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help up test lint types layers unit stock chaos simulate bench peers schema lock docs dist clean

# A heading begins with ##@, the description of a target with ##.
help: ## show this list
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z]+:.*## / { printf "  %-10s%s\n", $$1, $$2 }' \
	  $(MAKEFILE_LIST)

##@ Run

up: $(VENV)/base ## run Tickwork with its own PostgreSQL; ARGS="tasks:app" adds a worker
	@$(BIN)/tickwork up $(ARGS)

##@ Check

test: lint types layers unit ## everything that must be green: lint, types, layers, unit

lint: $(VENV)/dev ## ruff: style and format
	@$(BIN)/ruff check src tests docs
	@$(BIN)/ruff format --check src tests docs

types: $(VENV)/dev ## mypy: src strictly, tests, bench and docs
	@$(BIN)/mypy

layers: $(VENV)/dev ## import-linter: dependencies between packages point one way
	@$(BIN)/lint-imports

unit: $(VENV)/dev ## pytest: every kind of test; ARGS="tests/store -k plan" runs some
	@$(BIN)/pytest -n 2 --dist worksteal $(ARGS)

# A PostgreSQL as Debian installs it, with the settings it comes with.
STOCK := /usr/lib/postgresql/15/bin
STOCK_TESTS := tests/store tests/flow/test_spine.py tests/process/test_doctor.py tests/flow/test_limit.py \
  tests/flow/test_overlap.py tests/flow/test_dependency.py tests/flow/test_dependency_round.py tests/flow/test_backfill.py \
  tests/flow/test_dead_letter.py tests/flow/test_breaker.py tests/flow/test_priority.py tests/flow/test_queue.py \
  tests/flow/test_why_it_waits.py tests/flow/test_past_job.py tests/worker/test_worker_recovery.py

stock: $(VENV)/dev ## what depends on PostgreSQL, and lateness, on a PostgreSQL 15 as Debian installs it
	@TICKWORK_TEST_POSTGRES=$(STOCK) $(BIN)/pytest -n 2 --dist worksteal $(STOCK_TESTS) $(ARGS)
	@$(BIN)/tickwork bench lateness --quick --postgres $(STOCK) --out build/bench/stock

chaos: $(VENV)/dev ## break everything under load for 25 minutes; TICKWORK_CHAOS_SEED and _FAULTS choose what
	@TICKWORK_CHAOS=long $(BIN)/pytest tests/chaos $(ARGS)

simulate: $(VENV)/dev ## many simulated histories: 5000, or TICKWORK_SEEDS of them
	@TICKWORK_SEEDS=$${TICKWORK_SEEDS:-5000} $(BIN)/pytest tests/simulation/test_simulation.py $(ARGS)

##@ Measure

bench: $(VENV)/base ## measure everything and write the report; ARGS="--only lateness" measures one thing
	@$(BIN)/python bench/run.py $(ARGS)

peers: $(VENV)/base build/bench-venv/ready ## measure Tickwork beside its peers, about 15 minutes; ARGS=--quick only tries them
	@$(BIN)/python bench/run.py --only peers $(ARGS)

build/bench-venv/ready: bench/requirements.txt
	@$(PYTHON) -m venv build/bench-venv
	@build/bench-venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r bench/requirements.txt
	@touch $@

##@ Maintain

schema: $(VENV)/dev ## write what the migrations amount to into src/tickwork/store/schema.sql
	@cd tests && ../$(BIN)/python -m support.schema_dump

lock: $(VENV)/dev ## pin the newest versions of all dependencies in requirements/
	@$(BIN)/pip install --quiet pip-tools
	@for set in base build dev; do \
	  $(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe --no-header \
	    --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
	    -o requirements/$$set.txt requirements/$$set.in || exit 1; done

docs: $(VENV)/dev ## build the documentation as a site into build/site; a broken link fails it
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

dist: $(VENV)/base ## build the wheel and the source distribution into dist/
	@rm -rf dist
	@$(BIN)/hatchling build

clean: ## remove the environment, the caches and dist/
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/base: requirements/base.txt requirements/build.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tickwork needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Tickwork's dependencies into $(VENV) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/base.txt -r requirements/build.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev: $(VENV)/base requirements/dev.txt
	@echo "Installing the test tools into $(VENV) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@
