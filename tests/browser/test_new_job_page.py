"""Jobs that are made in the form."""

import re

from playwright.sync_api import Page, expect

from support.dashboard_server import DashboardServer
from tickwork import Client


def choose_task(page: Page, name: str) -> None:
    page.get_by_role("combobox", name="Task").fill(name)
    page.get_by_role("option", name=name, exact=True).click()


def test_a_job_that_is_made_in_the_form_runs(page: Page, client: Client) -> None:
    page.goto("/jobs/new")
    page.get_by_label("Name", exact=True).fill("Greet Ann")
    choose_task(page, "greet")
    page.get_by_role("textbox", name="name", exact=True).fill("Ann")
    page.get_by_role("textbox", name="times").fill("2")
    page.get_by_text("Now", exact=True).click()
    expect(page.get_by_text("It runs once, as soon as it is created.")).to_be_visible()
    command = page.get_by_label("the job", exact=True)
    expect(command).to_contain_text("--name 'Greet Ann'")
    page.get_by_text("Python", exact=True).click()
    expect(command).to_contain_text('payload={"name": "Ann", "times": 2}')
    page.get_by_role("button", name="Create the job").click()
    expect(page.get_by_role("heading", name="Greet Ann")).to_be_visible()
    page.get_by_role("link", name="Executions", exact=True).last.click()
    expect(page.get_by_role("table").get_by_text("Completed")).to_be_visible()
    (job,) = client.list_jobs(q="Greet Ann").items
    assert client.get_job(job.id).payload == {"name": "Ann", "times": 2}


def test_the_schedule_builder_and_the_free_text_are_one(page: Page, errors: list[str]) -> None:
    page.goto("/jobs/new")
    text = page.get_by_label("In words, cron or as a time")
    page.get_by_text("Weekly", exact=True).click()
    page.get_by_text("Thu", exact=True).click()
    expect(text).to_have_value("every monday and thursday at 09:00")
    expect(page.get_by_text("Every Monday and Thursday at 09:00 (Europe/Paris).")).to_be_visible()
    text.fill("0 2 * * *")
    expect(page.get_by_label("Hour")).to_have_value("2")
    text.fill("every day at 02:30")
    expect(page.get_by_label("Warnings")).to_contain_text(re.compile("clock|02:30"))
    expect(page.get_by_text(re.compile("due at 02:30"))).to_be_visible()
    text.fill("now and then")
    expect(page.get_by_role("alert")).to_contain_text("schedule")
    assert [error for error in errors if "422" not in error] == []
    errors.clear()


def test_what_is_wrong_is_said_at_its_field(page: Page, errors: list[str]) -> None:
    page.goto("/jobs/new")
    page.get_by_text("An HTTP call", exact=True).click()
    page.get_by_role("textbox", name="URL", exact=True).fill("ftp://example.org/")
    page.get_by_label("Timeout of an attempt").fill("soon")
    page.get_by_role("button", name="Create the job").click()
    expect(page.get_by_role("textbox", name="URL", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Timeout of an attempt")).to_have_attribute("aria-invalid", "true")
    assert [error for error in errors if "422" not in error] == []
    errors.clear()


def test_an_http_call_can_be_tried_out(page: Page, server: DashboardServer) -> None:
    page.goto("/jobs/new")
    page.get_by_text("An HTTP call", exact=True).click()
    page.get_by_role("combobox", name="Method").click()
    page.get_by_role("option", name="GET", exact=True).click()
    page.get_by_role("textbox", name="URL", exact=True).fill(f"{server.url}/livez")
    page.get_by_role("button", name="Try it out").click()
    expect(page.get_by_role("status", name="Outcome of the try-out")).to_contain_text("Completed")


def test_a_command_that_is_made_in_the_form_runs(page: Page, client: Client) -> None:
    page.goto("/jobs/new")
    page.get_by_label("Name", exact=True).fill("Say it")
    page.get_by_text("A command", exact=True).click()
    page.get_by_role("textbox", name="Command", exact=True).fill("echo 'two words' $HOME")
    page.get_by_label("Environment").fill("API_TOKEN=s3cret-value")
    page.get_by_text("Now", exact=True).click()
    expect(page.get_by_label("the job", exact=True)).to_contain_text("--command -- echo 'two words' '$HOME'")
    page.get_by_role("button", name="Create the job").click()
    expect(page.get_by_role("heading", name="Say it")).to_be_visible()
    expect(page.get_by_text("echo 'two words' '$HOME'")).to_be_visible()
    (job,) = client.list_jobs(q="Say it").items
    assert (job.command, job.env) == (["echo", "two words", "$HOME"], {"API_TOKEN": "***"})
    ended = client.wait_for_job(job.id, timeout=30)
    page.goto(f"/executions/{ended.id}")
    expect(page.get_by_text("two words $HOME")).to_be_visible()
    expect(page.get_by_text(re.compile("of CPU time, .* of memory at most"))).to_be_visible()


def test_a_reload_keeps_what_was_typed(page: Page) -> None:
    page.goto("/jobs/new")
    page.get_by_label("Name", exact=True).fill("half typed")
    page.reload()
    expect(page.get_by_label("Name", exact=True)).to_have_value("half typed")
