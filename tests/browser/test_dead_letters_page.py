"""Dead letters by cause, and redriving a whole cause."""

from playwright.sync_api import Page, expect

from support.dashboard_server import DashboardServer
from tickwork import Client


def test_all_dead_letters_of_a_cause_are_redriven(
    page: Page, client: Client, server: DashboardServer
) -> None:
    needed = server.folder / "redriven"
    jobs = client.create_jobs(
        {
            "name": f"import {number}",
            "task": "need_file",
            "payload": {"path": str(needed)},
            "tags": ["redriven"],
        }
        for number in range(3)
    )
    for job in jobs:
        client.wait_for_execution(client.list_executions(job=job.id).items[0].id)
    needed.touch()
    page.goto("/dead-letters?task=need_file")
    row = page.get_by_role("row").filter(has_text="redriven is missing")
    row.get_by_role("button", name="Redrive").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 executions")
    dialog.get_by_role("button", name="Redrive 3").click()
    expect(page.get_by_text("3 executions are tried again")).to_be_visible()
    page.goto("/executions?tag=redriven&status=completed")
    expect(page.get_by_role("row").filter(has_text="need_file")).to_have_count(3)
