"""The dashboard agrees with the API and the server, weighs little, and is made of pinned packages."""

import gzip
import json
import re
from collections.abc import Iterable

import pytest

from support.dashboard_page_list import PAGES, PREPARE
from support.dashboard_routes import routes_without
from support.dashboard_types import TYPES, current_types
from support.docs_page import ROOT
from tickwork.api.dashboard_pages import BUILT_FILES, SECTIONS, is_built

SOURCES = ROOT / "dashboard"
LIMIT = 200_000  # bytes of compressed script


@pytest.fixture(scope="module")
def manifest() -> dict[str, dict]:
    assert is_built(), "run `make dashboard`"
    return json.loads((BUILT_FILES / "manifest.json").read_text())


def scripts(manifest: dict[str, dict], names: Iterable[str]) -> set[str]:
    """The files that these modules load before they run."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        chunk = manifest[waiting.pop()]
        if chunk["file"] not in found:
            found.add(chunk["file"])
            waiting += chunk.get("imports", [])
    return found


def compressed(files: Iterable[str]) -> int:
    return sum(len(gzip.compress((BUILT_FILES / file).read_bytes(), 9)) for file in files)


def test_the_first_load_of_the_overview_is_small(manifest: dict[str, dict]) -> None:
    """With everything below its folder and the charts, which it loads a moment later."""
    lazy = [name for name in manifest if name.startswith(("src/pages/overview/", "src/parts/Chart"))]
    assert compressed(scripts(manifest, ["index.html", "src/pages/OverviewPage.tsx", *lazy])) < LIMIT


def test_heavy_parts_are_not_loaded_before_they_are_needed(manifest: dict[str, dict]) -> None:
    first = scripts(manifest, ["index.html", "src/pages/OverviewPage.tsx"])
    for part in ("src/shell/Palette.tsx", "src/shell/KeyboardHelp.tsx", "src/parts/ConfirmDialog.tsx"):
        assert manifest[part]["file"] not in first


def test_nothing_is_loaded_from_another_host() -> None:
    page = (BUILT_FILES / "index.html").read_text()
    assert re.findall(r'(?:src|href)="((?!\./assets/|/").*?)"', page) == []


def test_the_page_has_the_places_that_the_server_fills() -> None:
    page = (BUILT_FILES / "index.html").read_text()
    assert page.count('<base href="/" />') == 1
    assert page.count('<meta property="csp-nonce" nonce="" />') == 1
    assert page.index("<base") < page.index("./assets/")


def test_the_types_are_those_of_the_api() -> None:
    assert TYPES.read_text() == current_types(), "run `make openapi`"


def test_the_server_shows_the_dashboard_at_the_paths_of_its_routes() -> None:
    paths = re.findall(
        r'getParentRoute: \(\) => (?:root|inside),\n  path: "/(.*?)"',
        (SOURCES / "src/routes.tsx").read_text(),
    )
    assert sorted(path for path in paths if path) == sorted(SECTIONS)


def test_pictures_are_taken_of_every_page() -> None:
    assert routes_without(PAGES.values()) == []
    assert set(PREPARE) <= set(PAGES)


def test_every_package_is_pinned_and_no_download_address_is_kept() -> None:
    package = json.loads((SOURCES / "package.json").read_text())
    versions = [*package["dependencies"].values(), *package["devDependencies"].values()]
    assert [version for version in versions if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []
    locked = json.loads((SOURCES / "package-lock.json").read_text())["packages"]
    assert [name for name, entry in locked.items() if "resolved" in entry] == []
    assert [name for name, entry in locked.items() if name and not entry.get("integrity")] == []
