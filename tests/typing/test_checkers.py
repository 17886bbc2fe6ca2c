"""mypy and pyright say of a program that uses Tickwork what they should, line by line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAM = HERE / "typed_program.py"
_EXPECTED = re.compile(r"# error(?:: (mypy|pyright))?$")


def expected(checker: str) -> set[int]:
    marks = ((number, _EXPECTED.search(line)) for number, line in enumerate(lines(), 1))
    return {number for number, mark in marks if mark and mark[1] in (None, checker)}


def lines() -> list[str]:
    return PROGRAM.read_text().splitlines()


def said_by_mypy() -> dict[int, str]:
    """What is said of lines of the program. The program's own types are what an installed package shows."""
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--show-absolute-path",
        "--output=json",
        str(PROGRAM),
    ]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    return {each["line"]: each["message"] for each in found if each["severity"] == "error"}


def said_by_pyright(tmp_path: Path) -> dict[int, str]:
    settings = tmp_path / "pyrightconfig.json"
    settings.write_text(
        json.dumps(
            {
                "typeCheckingMode": "strict",
                "include": [str(PROGRAM)],
                "extraPaths": [str(ROOT / "src")],
                "pythonVersion": "3.11",
                "reportUnusedCallResult": "none",
            }
        )
    )
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--project", str(settings)]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    found = json.loads(told)["generalDiagnostics"]
    return {
        each["range"]["start"]["line"] + 1: each["message"] for each in found if each["severity"] == "error"
    }


def check(checker: str, said: dict[int, str]) -> None:
    wanted = expected(checker)
    wrong = [f"{number}: {said[number]}" for number in sorted(said.keys() - wanted)]
    missed = [f"{number}: {lines()[number - 1]}" for number in sorted(wanted - said.keys())]
    assert not wrong, f"{checker} refuses what is right"
    assert not missed, f"{checker} lets pass what is wrong"


@pytest.mark.timeout(600)
def test_mypy_refuses_what_is_wrong_and_nothing_else() -> None:
    check("mypy", said_by_mypy())


@pytest.mark.timeout(600)
def test_pyright_refuses_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    check("pyright", said_by_pyright(tmp_path))
