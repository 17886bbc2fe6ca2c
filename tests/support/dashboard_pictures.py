"""`make pictures`: takes pictures of every page of the dashboard into build/pictures, in both themes and on a phone."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from support.chromium import CHROMIUM, OPTIONS
from support.dashboard_additions import more_to_show
from support.dashboard_page_list import PAGES, PREPARE, found_in_the_demo
from support.dashboard_server import DashboardServer, dashboard_server
from support.dashboard_trouble import (
    a_node_is_silent,
    a_worker_is_silent,
    the_cluster_is_paused,
    wait_for_the_open_breaker,
)
from tickwork import Client

FOLDER = Path(__file__).parents[2] / "build" / "pictures"
DESKTOP = (1440, 900)
PHONE = (360, 780)
_LOOKS = {"light": ("light", DESKTOP), "dark": ("dark", DESKTOP), "phone": ("light", PHONE)}
_PATIENCE = 60_000  # milliseconds for the figures to come
_QUIET = 1_000  # milliseconds for charts and graphs to be drawn
_TROUBLE: dict[str, Callable[[DashboardServer], AbstractContextManager[None]]] = {
    "overview": a_worker_is_silent,
    "workers": a_worker_is_silent,
    "cluster-paused": the_cluster_is_paused,
}


def take_pictures(server: DashboardServer, browser: Browser, only: Sequence[str] = ()) -> Iterator[Path]:
    """Of the named pages, or of all."""
    with Client(server.url, server.key) as client:
        found = found_in_the_demo(client)
    pages = {name: path.format(**found) for name, path in PAGES.items() if not only or name in only}
    for look, (theme, (width, height)) in _LOOKS.items():
        context = browser.new_context(
            base_url=server.url,
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="Europe/Paris",
        )
        page = context.new_page()
        for name, path in pages.items():
            if name != "sign-in":
                context.request.post("/v1/session", data={"key": server.key}, headers={"tickwork-csrf": "1"})
            with _TROUBLE[name](server) if name in _TROUBLE else nullcontext():
                yield _picture(page, name, path, FOLDER / f"{name}-{look}.png")
        context.close()


def _picture(page: Page, name: str, path: str, file: Path) -> Path:
    """Of the whole page, however long it is; of one screen where something is opened over it."""
    size = page.viewport_size
    assert size
    page.goto(path)
    page.get_by_role("heading", level=1).wait_for()
    _wait_until_drawn(page)
    if name in PREPARE:
        PREPARE[name](page)
        _wait_until_drawn(page)
    if page.get_by_role("dialog").count() == 0:
        whole = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": size["width"], "height": max(size["height"], whole)})
        _wait_until_drawn(page)
    page.screenshot(path=file)
    page.set_viewport_size(size)
    return file


def _wait_until_drawn(page: Page) -> None:
    """Parts that are loaded later bring placeholders of their own."""
    page.wait_for_timeout(_QUIET)
    expect(page.locator(".mantine-Skeleton-root")).to_have_count(0, timeout=_PATIENCE)


def main(only: Sequence[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="tickwork-pictures-", ignore_cleanup_errors=True) as folder,
        dashboard_server(Path(folder), "--demo") as server,
        a_node_is_silent(server),
        more_to_show(server),
        sync_playwright() as playwright,
    ):
        wait_for_the_open_breaker(server)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS, "--lang=en-GB"])
        for file in take_pictures(server, browser, only):
            sys.stdout.write(f"{file.relative_to(FOLDER.parents[1])}\n")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
