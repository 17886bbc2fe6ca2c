"""The maps of the code lead to files and functions that exist: the page on architecture, and CONTRIBUTING.md."""

import re
import runpy
from pathlib import Path

import pytest

from support.docs_page import ROOT

PAGE = ROOT / "docs/explanation/architecture.md"
DRAW = PAGE.parent / "architecture" / "draw.py"
PAGES = {path.name: path.read_text() for path in (PAGE, ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md")}
STEPS = re.findall(r"^\| `(src/[^`]+)` \| `(\w+)` \|", PAGES["architecture.md"], re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page: str) -> None:
    paths = re.findall(r"`((?:src|tests|docs|bench|examples|requirements)/[\w./-]*)`", PAGES[page])
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_every_function_exists_in_its_file(file: str, name: str) -> None:
    assert re.search(rf"^ *(async def|def|class) {name}\b", (ROOT / file).read_text(), re.MULTILINE)


def test_every_package_is_in_the_picture() -> None:
    packages = {path.parent.name for path in (ROOT / "src/tickwork").glob("*/__init__.py")}
    shown = {name for row in runpy.run_path(str(DRAW))["layers"]() for name in row}
    assert packages <= shown


@pytest.mark.parametrize("picture", ["packages.svg", "way-of-a-job.svg"])
def test_the_pictures_show_what_the_page_says(picture: str) -> None:
    drawn = runpy.run_path(str(DRAW))["PICTURES"][picture]()
    again = f"draw it again: .venv/bin/python {Path(DRAW).relative_to(ROOT)}"
    assert (DRAW.parent / picture).read_text() == drawn, again
