"""Each folder of tests holds one kind of test, as CONTRIBUTING.md says."""

import re
from pathlib import Path

import pytest

from support.docs_page import ROOT

TESTS = ROOT / "tests"
FOLDERS = {path.name for path in TESTS.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))}

DATABASE = r"\b(database_url: str|still_node|database_libraries|asyncpg\.connect|EmbeddedPostgres)\b"
NODE = r"\b(still_node|Node\()"
PROCESSES = r"\b(support\.cluster|support\.run_command|tickwork\.cli\.__main__)\b"
WITHOUT = {
    "unit": [DATABASE, NODE, PROCESSES],
    "property": [DATABASE, NODE, PROCESSES],
    "store": [PROCESSES],
    "worker": [DATABASE, NODE, PROCESSES],
    "flow": [PROCESSES],
}


def test_every_folder_is_explained() -> None:
    explained = re.findall(r"^\| `tests/(\w+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert set(explained) == FOLDERS - {"support"}


@pytest.mark.parametrize("folder", WITHOUT)
def test_nothing_in_the_folder_uses_what_its_kind_goes_without(folder: str) -> None:
    for path in (TESTS / folder).rglob("*.py"):
        for pattern in WITHOUT[folder]:
            found = re.search(pattern, path.read_text())
            assert not found, f"{path.relative_to(ROOT)} uses {found and found[0]}"


def test_every_test_is_in_a_folder() -> None:
    assert not list(TESTS.glob("test_*.py"))


def test_no_test_file_imports_another() -> None:
    importing = [
        path for path in _test_files() if re.search(r"^(from|import) test_", path.read_text(), re.MULTILINE)
    ]
    assert not importing


def test_names_of_test_files_are_unique() -> None:
    names = [path.name for path in _test_files()]
    assert sorted(names) == sorted(set(names))


def _test_files() -> list[Path]:
    return sorted(TESTS.rglob("test_*.py"))
