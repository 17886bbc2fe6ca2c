"""Every page in both themes for those who cannot see it as drawn, and at the width of a phone."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from browser.every_page import LISTS, open_page
from support.dashboard_routes import routes_without
from support.waiting import eventually_without_loop
from tickwork import Client

_AXE = Path(__file__).parents[2] / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
_SERIOUS = """async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map(({ html }) => html.slice(0, 200)).join(" | "));
}"""

_THIS_HOUR = datetime.now(UTC).replace(minute=0, second=0, microsecond=0, tzinfo=None).isoformat()


@pytest.fixture(scope="module")
def paths(client: Client) -> Iterator[list[str]]:
    """Every page, with something to show on each."""
    job = client.create_job(
        name="look at me", task="work", schedule="every 10m", tags=["seen"], owner="team-a"
    ).id
    client.run_job(job, wait=60)
    failed = client.create_job(name="broken", task="fail", wait=60).id
    first, *_ = client.create_jobs(
        [
            {"ref": "a", "name": "first", "task": "work"},
            {"name": "then", "task": "work", "depends_on": ["@a"]},
        ]
    )
    execution = _execution(client, failed)
    client.set_ping("looked-at", schedule="every 1h")
    client.signal_ping("looked-at", "fail", log="one\ntwo")
    pings = ["/pings/looked-at", "/pings/looked-at?tab=edit"]
    client.set_channel("looked-at", kind="webhook", url="http://127.0.0.1:9/hook")
    client.set_notification_rule("looked-at", on=["failed"], to=["looked-at"])
    channels = [f"/channels/looked-at{tab}" for tab in ("", "?tab=edit", "?tab=template")]
    client.create_job(name="told of", task="fail", wait=60)
    told = [f"/notifications/{_first_told(client)}", "/notification-rules/looked-at", *channels]
    tabs = [f"/jobs/{job}?tab={tab}" for tab in ("edit", "executions", "upcoming", "changes", "graph")]
    command = client.create_job(name="says hello", command=["echo", "hello"], wait=60)
    executions = [f"/executions/{each}" for each in (execution, _execution(client, command.id))]
    client.declare_task("not.offered", description="Nobody offers it.")
    client.disable_task("not.offered", reason="it is looked at")
    calendars = ["/calendar?scale=year", "/calendar?view=table", f"/calendar?at={_THIS_HOUR}"]
    jobs = [f"/jobs/{job}", f"/jobs/{command.id}", *tabs]
    yield [*LISTS, *pings, *told, *jobs, *executions, *calendars, f"/workflows/{first.id}"]
    client.cancel_job(job)


def _execution(client: Client, job: str) -> str:
    return client.list_executions(job=job).items[0].id


def _first_told(client: Client) -> str:
    return eventually_without_loop(lambda: client.list_notifications(channel="looked-at").items)[0].id


def test_every_page_is_looked_at(paths: list[str]) -> None:
    assert routes_without([*paths, "/sign-in"]) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(page: Page, paths: list[str], theme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=theme)
    found = {}
    page.add_init_script(path=_AXE)
    for path in paths:
        open_page(page, path)
        if serious := page.evaluate(_SERIOUS):
            found[path] = serious
    assert found == {}


def test_axe_finds_nothing_serious_where_nobody_is_signed_in(
    context: BrowserContext, errors: list[str]
) -> None:
    page = context.new_page()
    page.add_init_script(path=_AXE)
    for path, heading in (
        ("/sign-in", "Sign in to Tickwork"),
        ("/jobs/no/such/page", "There is no such page"),
    ):
        page.goto(path)
        page.get_by_role("heading", name=heading, level=1).wait_for()
        assert page.evaluate(_SERIOUS) == []
    errors.clear()  # Chromium logs the answer that tells a page that nobody is signed in


_DIALOGS = {
    "Cancel the job": "Cancel look at me?",
    "Delete for good": "Delete look at me for good?",
    "Backfill a past range": "Backfill look at me",
}
_PLANNED = "due times"  # on the button of a backfill, once it can be pressed
_AT_REST = "() => document.getAnimations().length === 0"  # before that, colours are those of the state before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_dialogs_of_a_job(
    page: Page, client: Client, paths: list[str], theme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=theme)
    page.add_init_script(path=_AXE)
    found = {}
    (job,) = client.list_jobs(tag="seen").items
    open_page(page, f"/jobs/{job.id}")
    for action, title in _DIALOGS.items():
        page.get_by_role("button", name="More actions").click()
        page.get_by_role("button", name=action).click()
        page.get_by_role("dialog", name=title).wait_for()
        if action.startswith("Backfill"):
            expect(page.get_by_role("button", name=_PLANNED)).to_be_enabled()
        page.wait_for_function(_AT_REST)
        if serious := page.evaluate(_SERIOUS):
            found[action] = serious
        page.get_by_role("button", name="Keep things as they are").click()
        page.get_by_role("dialog", name=title).wait_for(state="detached")
    assert found == {}


def test_no_page_scrolls_sideways_on_a_phone(page: Page, paths: list[str]) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    wide = {}
    for path in paths:
        open_page(page, path)
        if (width := page.evaluate("document.documentElement.scrollWidth")) > 360:
            wide[path] = width
    assert wide == {}
