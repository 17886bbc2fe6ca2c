"""One Chromium for all files, one server with a worker for each; each test has a page of its own, signed in.

A test fails if the page logs an error: an exception, a violation of the content security policy, a missing file."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from support.chromium import CHROMIUM, OPTIONS
from support.dashboard_server import DashboardServer, dashboard_server
from tickwork import Client

_PATIENCE = 20_000  # milliseconds: a machine that runs other tests is slow

SignedIn = Callable[[str], Page]


@pytest.fixture(scope="module")
def server() -> Iterator[DashboardServer]:
    """Not shared with other files: pages show what all jobs of an installation do."""
    with (
        tempfile.TemporaryDirectory(prefix="tickwork-test-", ignore_cleanup_errors=True) as folder,
        dashboard_server(Path(folder)) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def client(server: DashboardServer) -> Iterator[Client]:
    with Client(server.url, server.key) as client:
        yield client


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Not for the whole run: while it is open, its event loop keeps asyncio tests of the process from running."""
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("the dashboard was not tested: install Debian's package chromium-headless-shell")
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
    yield browser
    browser.close()


@pytest.fixture
def errors() -> list[str]:
    """What the pages of a test complained about. A test that provokes an error empties it."""
    return []


@pytest.fixture
def context(browser: Browser, server: DashboardServer, errors: list[str]) -> Iterator[BrowserContext]:
    expect.set_options(timeout=_PATIENCE)
    context = browser.new_context(
        base_url=server.url,
        viewport={"width": 1440, "height": 900},
        locale="en-GB",
        timezone_id="Europe/Paris",
        reduced_motion="reduce",
    )
    context.set_default_timeout(_PATIENCE)
    context.on(
        "console", lambda message: errors.append(_with_place(message)) if message.type == "error" else None
    )
    context.on("weberror", lambda error: errors.append(str(error.error)))
    yield context
    context.close()
    assert errors == []


def _with_place(message: ConsoleMessage) -> str:
    return f"{message.text} {message.location['url']}"


@pytest.fixture
def signed_in(context: BrowserContext, server: DashboardServer) -> SignedIn:
    """Opens a page that is signed in with a key."""

    def sign_in(key: str) -> Page:
        answer = context.request.post("/v1/session", data={"key": key}, headers={"tickwork-csrf": "1"})
        assert answer.ok, answer.text()
        return context.new_page()

    return sign_in


@pytest.fixture
def page(signed_in: SignedIn, server: DashboardServer) -> Page:
    """Signed in as admin."""
    return signed_in(server.key)
