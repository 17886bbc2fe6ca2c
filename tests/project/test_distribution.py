"""What `make dist` builds holds everything that an installed Tickwork needs."""

import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from support.docs_page import ROOT
from tickwork import __version__

SOURCES = ROOT / "src"


def shipped() -> set[str]:
    """Every file of the package, as its path below src."""
    files = (path for path in (SOURCES / "tickwork").rglob("*") if path.is_file())
    return {str(path.relative_to(SOURCES)) for path in files if path.suffix != ".pyc"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_the_wheel_contains_every_file_of_the_package(built: Path) -> None:
    (wheel,) = built.glob(f"tickwork-{__version__}-py3-none-any.whl")
    assert shipped() <= set(ZipFile(wheel).namelist())


def test_among_them_are_the_sql_the_pages_and_the_mark_of_types() -> None:
    files = shipped()
    assert {Path(file).suffix for file in files} >= {".py", ".sql", ".html", ".css", ".js"}
    assert "tickwork/py.typed" in files


def test_the_source_distribution_can_be_built_and_tested(built: Path) -> None:
    name = f"tickwork-{__version__}"
    with tarfile.open(built / f"{name}.tar.gz") as archive:
        members = set(archive.getnames())
    needed = {"pyproject.toml", "Makefile", "requirements/dev.txt", "tests/conftest.py", "docs/README.md"}
    assert {f"{name}/{path}" for path in needed} <= members
    assert {f"{name}/src/{path}" for path in shipped()} <= members
