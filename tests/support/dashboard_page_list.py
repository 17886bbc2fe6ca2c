"""Every page of the dashboard and what can be opened on it, with what the demo has to show there."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page

from tickwork import Client

PAGES = {
    "sign-in": "/sign-in",
    "overview": "/",
    "overview-keys": "/",
    "overview-search": "/",
    "jobs": "/jobs",
    "job": "/jobs/{job}",
    "job-run": "/jobs/{job}",
    "job-backfill": "/jobs/{job}",
    "job-cancel": "/jobs/{running_job}",
    "job-delete": "/jobs/{running_job}",
    "job-command": "/jobs/{command_job}",
    "job-executions": "/jobs/{job}?tab=executions",
    "job-upcoming": "/jobs/{job}?tab=upcoming",
    "job-graph": "/jobs/{workflow}?tab=graph",
    "job-edit": "/jobs/{job}?tab=edit",
    "job-changes": "/jobs/{job}?tab=changes",
    "new-job": "/jobs/new",
    "new-job-command": "/jobs/new",
    "new-job-http": "/jobs/new",
    "executions": "/executions",
    "execution": "/executions/{running}",
    "execution-failed": "/executions/{failed}",
    "execution-retry": "/executions/{failed}",
    "execution-waiting": "/executions/{waiting}",
    "execution-command": "/executions/{command}",
    "execution-callback": "/executions/{callback}",
    "calendar": "/calendar",
    "calendar-table": "/calendar?view=table",
    "calendar-year": "/calendar?scale=year",
    "calendar-hour": "/calendar?at={hour}",
    "workflows": "/workflows",
    "workflow": "/workflows/{workflow}",
    "workflow-list": "/workflows/{workflow}?view=list",
    "dead-letters": "/dead-letters",
    "dead-letters-single": "/dead-letters?view=single",
    "pings": "/pings",
    "ping": "/pings/offsite-backup",
    "ping-edit": "/pings/offsite-backup?tab=edit",
    "new-ping": "/pings/new",
    "notifications": "/notifications",
    "notification": "/notifications/{gathered}",
    "notification-undelivered": "/notifications/{undelivered}",
    "notification-rules": "/notification-rules",
    "notification-rule": "/notification-rules/machines",
    "new-notification-rule": "/notification-rules/new",
    "channels": "/channels",
    "channel": "/channels/team-ops",
    "channel-failing": "/channels/warehouse-screen",
    "channel-texts": "/channels/finance?tab=template",
    "channel-edit": "/channels/team-ops?tab=edit",
    "new-channel": "/channels/new",
    "new-channel-email": "/channels/new?kind=email",
    "queues": "/queues",
    "queue-limits": "/queues",
    "workers": "/workers",
    "tasks": "/tasks",
    "task-disable": "/tasks",
    "task-retire": "/tasks",
    "breakers": "/breakers",
    "cluster": "/cluster",
    "cluster-paused": "/cluster",
    "events": "/events",
    "settings": "/settings",
    "settings-new-key": "/settings",
    "not-found": "/jobs/no/such/page",
}


def found_in_the_demo(client: Client) -> dict[str, str]:
    """What stands in braces above: the demo's most interesting jobs, executions and notifications."""
    running = _job(client, "recommendations")
    failed = client.list_executions(status="failed", task="reports.daily_sales").items[0].id
    told = client.list_notifications(channel="team-ops", kind="execution.failed", status="sent").items
    next_hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0, tzinfo=None) + timedelta(hours=1)
    return {
        "job": _job(client, "cart-mails"),
        "running_job": running,
        "running": _latest(client, running),
        "command_job": _job(client, "copy-database"),
        "command": _latest(client, _job(client, "copy-database")),
        "callback": _latest(client, _job(client, "product-video")),
        "failed": failed,
        "waiting": client.list_executions(queue="gpu").items[0].id,
        "hour": next_hour.isoformat(),
        "workflow": client.list_workflows().items[0].job_id,
        "gathered": max(told, key=lambda each: each.count).id,
        "undelivered": client.list_notifications(channel="warehouse-screen").items[0].id,
    }


def _job(client: Client, key: str) -> str:
    return client.list_jobs(key=key).items[0].id


def _latest(client: Client, job: str) -> str:
    """The execution that runs, or else the one that ran last, or is to run."""
    running = client.list_executions(job=job, status="running").items
    completed = client.list_executions(job=job, status="completed").items
    return (running or completed or client.list_executions(job=job).items)[0].id


def _press(*names: str) -> Callable[[Page], None]:
    def press(page: Page) -> None:
        for name in names:
            page.get_by_role("button", name=name, exact=True).first.click()
        page.get_by_role("dialog").wait_for()

    return press


def _fill_in_a_task(page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("Tell the team about new orders")
    page.get_by_role("combobox", name="Task").fill("orders.import")
    page.get_by_label("In words, cron or as a time").fill("every weekday at 02:30")
    page.get_by_role("heading", name="New job").click()


def _fill_in_a_command(page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("Copy the database")
    page.get_by_text("A command", exact=True).click()
    page.get_by_role("textbox", name="Command", exact=True).fill("backup-db --full shop")


def _fill_in_a_call(page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("Render the product video")
    page.get_by_text("An HTTP call", exact=True).click()
    page.get_by_role("textbox", name="URL", exact=True).fill("https://video.example.org/render")


def _keys(keys: str) -> Callable[[Page], None]:
    def press(page: Page) -> None:
        page.keyboard.press(keys)
        page.get_by_role("dialog").wait_for()

    return press


# What is done on a page before its picture is taken.
PREPARE: dict[str, Callable[[Page], None]] = {
    "overview-keys": _keys("?"),
    "overview-search": _keys("Control+k"),
    "job-run": _press("Run now"),
    "job-backfill": _press("More actions", "Backfill a past range"),
    "job-cancel": _press("More actions", "Cancel the job"),
    "job-delete": _press("More actions", "Delete for good"),
    "new-job": _fill_in_a_task,
    "new-job-command": _fill_in_a_command,
    "new-job-http": _fill_in_a_call,
    "execution-retry": _press("Edit and retry"),
    "queue-limits": _press("Limits"),
    "task-disable": _press("Disable"),
    "task-retire": _press("Retire"),
    "settings-new-key": _press("New key"),
}
