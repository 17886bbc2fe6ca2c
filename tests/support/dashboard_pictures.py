"""`make pictures`: takes pictures of every page of the dashboard into build/pictures, in both themes and on a phone."""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from support.dashboard_server import DashboardServer, dashboard_server
from support.dashboard_trouble import a_node_is_silent, a_worker_is_silent, wait_for_the_open_breaker
from tickwork import Client

FOLDER = Path(__file__).parents[2] / "build" / "pictures"
DESKTOP = (1440, 900)
PHONE = (390, 844)
_LOOKS = {"light": ("light", DESKTOP), "dark": ("dark", DESKTOP), "phone": ("light", PHONE)}
_PATIENCE = 60_000  # milliseconds for the figures to come
_QUIET = 1_000  # milliseconds for charts and graphs to be drawn
_WITH_SILENT_WORKER = ("overview", "workers")
_CHROMIUM_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def pages_of_the_demo(client: Client) -> dict[str, str]:
    """The name and the path of every page, with the demo's most interesting job, executions and workflow."""
    job = client.list_jobs(key="cart-mails").items
    running = client.list_executions(status="running").items
    failed = client.list_executions(status="failed", task="reports.daily_sales").items
    waiting = client.list_executions(queue="gpu").items
    hour = (datetime.now(UTC) + timedelta(hours=1)).replace(minute=0, second=0, microsecond=0, tzinfo=None)
    workflow = client.list_workflows().items
    told = client.list_notifications(channel="team-ops", kind="execution.failed", status="sent").items
    gathered = max(told, key=lambda each: each.count)
    undelivered = client.list_notifications(channel="warehouse-screen").items
    return {
        "overview": "/",
        "jobs": "/jobs",
        "job": f"/jobs/{job[0].id}",
        "job-executions": f"/jobs/{job[0].id}?tab=executions",
        "job-upcoming": f"/jobs/{job[0].id}?tab=upcoming",
        "job-edit": f"/jobs/{job[0].id}?tab=edit",
        "job-changes": f"/jobs/{job[0].id}?tab=changes",
        "new-job": "/jobs/new",
        "executions": "/executions",
        "execution": f"/executions/{(running or failed)[0].id}",
        "execution-failed": f"/executions/{failed[0].id}",
        "execution-waiting": f"/executions/{waiting[0].id}",
        "calendar": "/calendar",
        "calendar-year": "/calendar?scale=year",
        "calendar-hour": f"/calendar?at={hour.isoformat()}",
        "workflows": "/workflows",
        "workflow": f"/workflows/{workflow[0].job_id}",
        "dead-letters": "/dead-letters",
        "pings": "/pings",
        "ping": "/pings/offsite-backup",
        "new-ping": "/pings/new",
        "notifications": "/notifications",
        "notification": f"/notifications/{gathered.id}",
        "notification-undelivered": f"/notifications/{undelivered[0].id}",
        "notification-rules": "/notification-rules",
        "notification-rule": "/notification-rules/machines",
        "channels": "/channels",
        "channel": "/channels/team-ops",
        "channel-failing": "/channels/warehouse-screen",
        "channel-texts": "/channels/finance?tab=template",
        "channel-edit": "/channels/team-ops?tab=edit",
        "new-channel": "/channels/new",
        "new-channel-email": "/channels/new?kind=email",
        "queues": "/queues",
        "workers": "/workers",
        "breakers": "/breakers",
        "cluster": "/cluster",
        "events": "/events",
        "settings": "/settings",
    }


def take_pictures(server: DashboardServer, browser: Browser, only: Sequence[str] = ()) -> Iterator[Path]:
    """Of the named pages, or of all."""
    with Client(server.url, server.key) as client:
        pages = pages_of_the_demo(client)
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
        page.goto("/sign-in")
        page.wait_for_load_state("networkidle")
        page.screenshot(path=FOLDER / f"sign-in-{look}.png")
        context.request.post("/v1/session", data={"key": server.key}, headers={"tickwork-csrf": "1"})
        for name, path in pages.items():
            if not only or name in only:
                with a_worker_is_silent(server) if name in _WITH_SILENT_WORKER else nullcontext():
                    yield _picture(page, path, FOLDER / f"{name}-{look}.png")
        context.close()


def _picture(page: Page, path: str, file: Path) -> Path:
    page.goto(path)
    page.get_by_role("heading", level=1).wait_for()
    if path == "/jobs/new":
        _fill_in_a_job(page)
    expect(page.locator(".mantine-Skeleton-root")).to_have_count(0, timeout=_PATIENCE)
    page.wait_for_timeout(_QUIET)
    page.screenshot(path=file)
    return file


def _fill_in_a_job(page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("Tell the team about new orders")
    task = page.get_by_role("combobox", name="Task")
    task.click()
    page.get_by_role("option").first.click()
    page.get_by_label("In words, cron or as a time").fill("every weekday at 02:30")


def main(only: Sequence[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with (
        tempfile.TemporaryDirectory(prefix="tickwork-pictures-", ignore_cleanup_errors=True) as folder,
        dashboard_server(Path(folder), "--demo") as server,
        a_node_is_silent(server),
        sync_playwright() as playwright,
    ):
        wait_for_the_open_breaker(server)
        browser = playwright.chromium.launch(executable_path=chromium, args=_CHROMIUM_OPTIONS)
        for file in take_pictures(server, browser, only):
            sys.stdout.write(f"{file.relative_to(FOLDER.parents[1])}\n")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
