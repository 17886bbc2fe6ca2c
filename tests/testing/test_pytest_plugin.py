"""The fixtures, as pytest gives them to a user's tests, and the guide about them."""

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from support.docs_page import ROOT, blocks

_PLUGIN = "tickwork.testing.pytest_plugin"
_GUIDE = ROOT / "docs/guides/testing-your-jobs.md"

pytestmark = pytest.mark.timeout(300)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """With nothing of this project's own configuration."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("TICKWORK_", "PYTEST_"))
    }
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=clean, capture_output=True, text=True, check=False
    )


def run_tests(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *_loading(), *options)


def _loading() -> Sequence[str]:
    """By itself where Tickwork was installed with the plugin, else by its name."""
    installed = any(each.value == _PLUGIN for each in entry_points(group="pytest11"))
    return () if installed else ("-p", _PLUGIN)


def write(folder: Path, **files: str) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def test_without_an_app_the_error_says_how_to_give_it(tmp_path: Path) -> None:
    write(tmp_path, test_it="def test_it(tickwork): ...")
    done = run_tests(tmp_path)
    assert done.returncode == 1
    assert 'tickwork_app = "myproject.tasks:app"' in done.stdout
    assert "def tickwork_app():" in done.stdout


def test_it_costs_nothing_when_it_is_not_used(tmp_path: Path) -> None:
    test = """
    import sys

    def test_it(pytestconfig):
        assert "tickwork.testing.pytest_plugin" in sys.modules
        assert not {"asyncpg", "msgspec", "structlog", "tickwork.node", "tickwork.sdk.app"} & set(sys.modules)
    """
    write(tmp_path, test_it="\n".join(line.removeprefix("    ") for line in test.splitlines()))
    done = run_tests(tmp_path, "-p", "no:hypothesispytest", "-p", "no:schemathesis", "-p", "no:asyncio")
    assert done.returncode == 0, done.stdout


def test_an_app_and_a_beginning_can_be_given_by_fixtures(tmp_path: Path) -> None:
    conftest = """
from datetime import UTC, datetime

import pytest

from tickwork import App

app = App()


@app.task(name="hello")
def hello() -> str:
    return "hello"


@pytest.fixture
def tickwork_app() -> App:
    return app


@pytest.fixture
def tickwork_start_at() -> datetime:
    return datetime(2030, 1, 1, tzinfo=UTC)
"""
    test = """
from conftest import hello


def test_it(tickwork):
    assert tickwork.now.year == 2030
    hello.on("every hour").submit()
    tickwork.advance("2 hours")
    tickwork.assert_completed(hello, times=2)


def test_another_begins_with_nothing(tickwork):
    assert tickwork.jobs() == []
"""
    write(tmp_path, conftest=conftest, test_it=test)
    done = run_tests(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_guide_does_what_it_says(tmp_path: Path) -> None:
    for _, text in blocks(_GUIDE.read_text()):
        name, _, _ = text.removeprefix("# ").partition("\n")
        (tmp_path / name).write_text(text)
    done = run_tests(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout
    alone = run(tmp_path, "without_pytest.py")
    assert alone.returncode == 0, alone.stderr
    assert "reminded Ada" in alone.stdout
