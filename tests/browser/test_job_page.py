"""One job: looking at it, running, editing, pausing and cancelling it."""

import pytest
from playwright.sync_api import Page, expect

from tickwork import Client


@pytest.fixture
def job(client: Client) -> str:
    return client.create_job(
        name="Greet daily", task="greet", payload={"name": "Bob"}, schedule="every day at 9am"
    ).id


def test_a_job_is_edited_with_its_next_times_shown(page: Page, client: Client, job: str) -> None:
    page.goto(f"/jobs/{job}?tab=edit")
    page.get_by_label("Name", exact=True).fill("Greet at ten")
    page.get_by_label("In words, cron or as a time").fill("every day at 10:00")
    expect(page.get_by_text("Every day at 10:00 (UTC).")).to_be_visible()
    expect(page.get_by_label("the patch", exact=True)).to_contain_text('"schedule": "every day at 10:00"')
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_role("heading", name="Greet at ten")).to_be_visible()
    assert client.get_job(job).schedule == {"cron": "0 10 * * *", "timezone": "UTC"}
    assert client.get_job(job).payload == {"name": "Bob"}


def test_a_change_by_somebody_else_is_told_and_not_overwritten(
    page: Page, client: Client, job: str, errors: list[str]
) -> None:
    page.goto(f"/jobs/{job}?tab=edit")
    page.get_by_label("Name", exact=True).fill("Mine")
    client.edit_job(job, {"owner": "team-b"})
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_role("alert")).to_contain_text("Somebody else changed this job")
    page.get_by_role("button", name="Save only what I changed on top of theirs").click()
    expect(page.get_by_role("heading", name="Mine")).to_be_visible()
    changed = client.get_job(job)
    assert (changed.name, changed.owner) == ("Mine", "team-b")
    assert [error for error in errors if "412" not in error] == []
    errors.clear()


def test_the_changes_of_a_job_say_who_changed_what(page: Page, client: Client, job: str) -> None:
    client.edit_job(job, {"schedule": "every day at 10am", "owner": "team-b"})
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.get_by_role("link", name="Changes").click()
    changes = page.get_by_role("region", name="Who changed what").get_by_role("listitem")
    expect(changes).to_have_count(3)
    expect(changes.nth(0)).to_contain_text("Paused by first")
    expect(changes.nth(0)).to_contain_text("in a browser")
    edited = changes.nth(1).get_by_role("row").filter(has_text="schedule")
    expect(edited.get_by_role("cell")).to_have_text("every day at 9am → every day at 10am")
    expect(changes.nth(2)).to_contain_text("Created by first")


def test_a_job_is_paused_and_the_pause_undone(page: Page, client: Client, job: str) -> None:
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert client.get_job(job).status == "paused"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    assert client.get_job(job).status == "active"


def test_a_job_runs_now_as_it_is(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="Run now").click()
    page.get_by_role("button", name="Run it now").click()
    page.wait_for_url("**/executions/*")
    expect(page.get_by_text("Completed").first).to_be_visible()


def test_a_job_runs_now_with_other_parameters_and_stays_as_it_is(
    page: Page, client: Client, job: str
) -> None:
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="Run now").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="name", exact=True).fill("Carol")
    dialog.get_by_role("button", name="Run it now").click()
    page.wait_for_url("**/executions/*")
    expect(page.get_by_text("Hello Carol!").first).to_be_visible()
    assert client.get_job(job).payload == {"name": "Bob"}


def test_a_job_is_cancelled_after_a_question(page: Page, client: Client, job: str) -> None:
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Cancel the job").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Cancel Greet daily?")
    dialog.get_by_role("button", name="Cancel the job").click()
    expect(page.get_by_text("Cancelled").first).to_be_visible()
    assert client.get_job(job).status == "cancelled"


def test_a_job_is_cancelled_together_with_what_runs(page: Page, client: Client) -> None:
    job = client.create_job(name="counts long", task="count", payload={"steps": 2000, "pause": 0.05}).id
    execution = client.list_executions(job=job).items[0].id
    page.goto(f"/executions/{execution}")
    expect(page.get_by_role("log", name="Log lines")).to_contain_text("step 1 of 2000")
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Cancel the job").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("switch", name="Also stop what runs now").check(
        force=True
    )  # the page moves with the log
    dialog.get_by_role("button", name="Cancel the job").click()
    expect(page.get_by_text("what ran of it is stopped")).to_be_visible()
    assert client.get_execution(execution).status == "cancelled"


def test_a_job_is_deleted_for_good_after_the_effect_was_named(
    page: Page, client: Client, job: str, errors: list[str]
) -> None:
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Delete for good").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete Greet daily for good?")
    expect(dialog).to_contain_text("all its executions, with attempts, logs, results and dead letters")
    dialog.get_by_role("button", name="Delete it for good").click()
    page.wait_for_url("**/jobs")
    assert client.get_purge(job).status in ("running", "completed")
    page.context.close()  # so that nothing more comes
    errors[:] = [error for error in errors if f"/v1/jobs/{job}" not in error]  # it is gone


def test_an_execution_shows_what_it_ran_with_after_an_edit(page: Page, client: Client, job: str) -> None:
    execution = client.wait_for_execution(client.run_job(job).id)
    client.edit_job(job, {"payload": {"name": "Eve"}})
    page.goto(f"/executions/{execution.id}")
    expect(page.get_by_text("it has version 2 now, and this ran with version 1")).to_be_visible()
    expect(page.get_by_label("the payload", exact=True)).to_contain_text('"name": "Bob"')


def test_a_failed_execution_is_retried_with_another_payload(page: Page, client: Client) -> None:
    job = client.create_job(name="fails", task="fail", retry={"max_attempts": 1})
    assert job.execution_id
    client.wait_for_execution(job.execution_id)
    page.goto(f"/executions/{job.execution_id}")
    page.get_by_role("button", name="Edit and retry").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The payload of the job stays as it is")
    dialog.get_by_role("button", name="Retry with this payload").click()
    expect(dialog).not_to_be_visible()
    assert client.get_execution_input(job.execution_id).source == "retry"


def test_a_backfill_says_how_much_it_would_run_first(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Backfill a past range").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("From").fill("2026-11-01T00:00")
    dialog.get_by_label("To").fill("2026-11-04T00:00")
    expect(dialog.get_by_role("status")).to_contain_text("3 due times")
    dialog.get_by_role("button", name="Run 3 due times").click()
    expect(page.get_by_text("3 of 3")).to_be_visible()


def test_a_tab_survives_a_reload_and_the_way_back(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}")
    page.get_by_role("link", name="Upcoming").click()
    expect(page.get_by_role("columnheader", name="In the job's zone")).to_be_visible()
    page.reload()
    expect(page.get_by_role("columnheader", name="In the job's zone")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Durations")).to_be_visible()
