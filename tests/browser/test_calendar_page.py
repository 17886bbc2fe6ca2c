"""The calendar: what ran and what is due, from the year down to the minute."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tickwork import Client


@pytest.fixture(scope="module", autouse=True)
def frequent_job(client: Client) -> Iterator[None]:
    job = client.create_job(name="tick", task="work", schedule="every 1m", queue="clocks")
    yield
    client.cancel_job(job.id)


def test_an_hour_opens_its_minutes_and_stays_open(page: Page) -> None:
    page.goto("/calendar?queue=clocks")
    page.get_by_role("button", name=re.compile("60 due")).first.click()
    expect(page).to_have_url(re.compile("at="))
    expect(page.get_by_role("list", name="Minute by minute").get_by_role("listitem")).to_have_count(60)
    expect(page.get_by_role("link", name="tick", exact=True).first).to_be_visible()
    page.reload()
    expect(page.get_by_role("list", name="Minute by minute")).to_be_visible()


def test_filters_leave_only_what_fits_them(page: Page, client: Client) -> None:
    tagged = client.create_job(name="tagged", task="work", schedule="every 2m", tags=["rare"])
    for query, due in ((f"job={tagged.id}", 30), ("tag=rare", 30), ("task=work&queue=clocks", 60)):
        page.goto(f"/calendar?{query}")
        expect(page.get_by_role("button", name=re.compile(rf"\b{due} due")).first).to_be_visible()
    page.get_by_label("Queue").fill("nowhere")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=re.compile(r"\d due"))).to_have_count(0)
    client.cancel_job(tagged.id)


def test_arrow_keys_lead_from_hour_to_hour(page: Page) -> None:
    page.goto("/calendar?from=2026-03")
    first = page.locator('[data-cell="0,0"]')
    first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(page.locator('[data-cell="1,1"]')).to_be_focused()


def test_days_on_which_the_clocks_change_say_so(page: Page) -> None:
    page.goto("/calendar?from=2026-10")
    expect(page.get_by_role("columnheader").filter(has_text="25 h")).to_have_count(1)
    page.goto("/calendar?from=2026-03")
    expect(page.get_by_role("columnheader").filter(has_text="23 h")).to_have_count(1)


def test_a_day_of_the_year_leads_to_its_month(page: Page) -> None:
    page.goto("/calendar?scale=year&from=2027")
    expect(page.get_by_role("heading", name="2027")).to_be_visible()
    page.locator('[data-cell="0,10"]').click()
    expect(page.get_by_role("heading", name="March 2027")).to_be_visible()


def test_the_same_figures_are_there_as_a_table(page: Page) -> None:
    page.goto("/calendar?queue=clocks")
    page.get_by_text("Table", exact=True).click()
    expect(page).to_have_url(re.compile("view=table"))
    expect(page.get_by_role("row").filter(has_text="60").first).to_be_visible()
