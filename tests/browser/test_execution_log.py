"""The log of an execution, followed while it runs."""

import re

from playwright.sync_api import Page, expect

from tickwork import Client


def test_a_live_log_is_followed_until_the_end(page: Page, client: Client) -> None:
    job = client.create_job(name="counts", task="count", payload={"steps": 80, "pause": 0.05}).id
    page.goto(f"/executions/{client.list_executions(job=job).items[0].id}")
    log = page.get_by_role("log", name="Log lines")
    expect(log).to_contain_text("step 3 of 80")
    expect(log).to_contain_text("step 79 of 80")
    expect(page.get_by_text("Completed").first).to_be_visible()
    page.get_by_label("Find in the log").fill("step 42 of")
    expect(page.get_by_text(re.compile("1 of 80 lines"))).to_be_visible()
    expect(log).not_to_contain_text("step 79 of 80")
