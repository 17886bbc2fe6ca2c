"""Workflows: the list, the graph live, and a retry from a node."""

import re

from playwright.sync_api import Page, expect

from support.dashboard_server import DashboardServer
from tickwork import Client
from tickwork.model.job import JobRequest


def test_a_workflow_goes_green_while_it_is_watched(
    page: Page, client: Client, server: DashboardServer
) -> None:
    first, *_ = client.create_jobs(
        [
            {"ref": "a", "name": "orders", "task": "work", "schedule": "in 3s"},
            {"ref": "b", "name": "clean", "task": "work", "depends_on": ["@a"]},
            {"ref": "c", "name": "enrich", "task": "work", "depends_on": ["@a"]},
            {"name": "load", "task": "work", "depends_on": ["@b", "@c"]},
        ]
    )
    page.goto("/workflows")
    page.get_by_role("link", name="orders").click()
    page.wait_for_url(f"**/workflows/{first.id}")
    expect(page.get_by_text("All 4 jobs completed.")).to_be_visible()
    graph = page.get_by_test_id("rf__wrapper")
    for name in ("orders", "clean", "enrich", "load"):
        expect(graph.get_by_text(name, exact=True)).to_be_visible()
    expect(graph.get_by_role("img", name="Completed")).to_have_count(4)


def test_a_retry_from_the_failed_node_lets_the_workflow_end(
    page: Page, client: Client, server: DashboardServer
) -> None:
    needed = server.folder / "needed"
    first, *_ = client.create_jobs(
        [
            {"ref": "a", "name": "fetch", "task": "work"},
            {
                "ref": "b",
                "name": "check",
                "task": "need_file",
                "payload": {"path": str(needed)},
                "depends_on": ["@a"],
            },
            {"name": "publish", "task": "work", "depends_on": ["@b"]},
        ]
    )
    page.goto(f"/workflows/{first.id}")
    expect(page.get_by_text("1 of 3 jobs failed; 1 wait for them.")).to_be_visible()
    panel = page.get_by_role("region", name="check")
    expect(panel).to_contain_text("is missing")
    needed.touch()
    panel.get_by_role("button", name="Retry from here (1 after it)").click()
    expect(page.get_by_text("All 3 jobs completed.")).to_be_visible()


def test_ten_thousand_jobs_are_folded_and_listed(page: Page, client: Client) -> None:
    root = JobRequest(ref="a", name="fan out", task="work", schedule="in 30d")
    wide = [JobRequest(ref=f"p{number}", task="work", depends_on=["@a"]) for number in range(9_000)]
    first, *_ = client.create_jobs([root, *wide])
    page.goto(f"/workflows/{first.id}")
    expect(page.get_by_text(re.compile("9,000 . work"))).to_be_visible()
    page.get_by_text("List", exact=True).click()
    expect(page.get_by_role("link", name="fan out").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("columnheader", name="Runs after")).to_be_visible()
    client.cancel_job(first.id)
