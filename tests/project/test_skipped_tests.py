"""What a run of the tests says at its end of those that it left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.skip(reason="this machine has no redis")
@pytest.mark.parametrize("n", [1, 2])
def test_peer(n): ...

def test_other(): ...
"""


@pytest.mark.parametrize("options", [["-q"], ["-n", "2"]], ids=["quiet", "in two processes"])
def test_skipped_tests_are_the_last_section(tmp_path: Path, options: list[str]) -> None:
    shown = ended(tmp_path, TESTS, *options)
    *_, head, line, _stats = shown.splitlines()
    assert "2 skipped: not checked here" in head
    assert line == "test_some.py::test_peer (2 tests): this machine has no redis"


def test_without_any_there_is_no_such_section(tmp_path: Path) -> None:
    assert "not checked here" not in ended(tmp_path, "def test_other(): ...")


def ended(folder: Path, tests: str, *options: str) -> str:
    (folder / "test_some.py").write_text(tests)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "support.skipped_tests", *options],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # of which some take seconds to import
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.rstrip()
