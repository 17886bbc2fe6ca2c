"""The overview: how things stand, past and future on one line, and what needs somebody."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import SignedIn
from tickwork import Client


@pytest.fixture(scope="module")
def recurring_job(client: Client) -> Iterator[str]:
    job = client.create_job(name="water the plants", task="work", schedule="every 1m")
    client.run_job(job.id, wait=60)
    yield job.id
    client.cancel_job(job.id)


@pytest.fixture(scope="module")
def dead_letter(client: Client) -> str:
    """The id of an execution that failed for good."""
    job = client.create_job(name="broken pump", task="fail", payload={"message": "the pump is dry"}, wait=60)
    assert job.execution_id
    return job.execution_id


def test_the_sentence_says_how_things_stand_and_its_numbers_lead_on(page: Page, dead_letter: str) -> None:
    page.goto("/")
    sentence = page.get_by_role("main").get_by_role("paragraph").first
    sentence.get_by_role("link", name="dead letter").click()
    expect(page).to_have_url("/dead-letters")
    page.go_back()
    sentence.get_by_role("link", name="running").click()
    expect(page).to_have_url("/executions?status=running")


def test_past_and_future_of_a_job_are_on_one_line(page: Page, recurring_job: str) -> None:
    page.goto("/?range=1h&by=job")
    line = page.get_by_role("region", name="Time line")
    expect(line.get_by_role("link", name="water the plants")).to_be_visible()
    expect(line.locator('[data-state="due"]').first).to_be_attached()
    line.get_by_role("button", name="Table").click()
    row = line.get_by_role("row").filter(has_text="water the plants")
    expect(row).to_contain_text("completed")
    line.get_by_role("link", name="water the plants").click()
    expect(page.get_by_role("heading", name="water the plants")).to_be_visible()


def test_the_overview_asks_little_of_the_server(page: Page, recurring_job: str) -> None:
    """Of scripts and styles a first load takes some more; the answers of the API are what costs."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/")
    expect(page.get_by_role("region", name="Time line").get_by_role("link").first).to_be_visible()
    expect(
        page.get_by_role("region", name="The coming day").get_by_text("due", exact=False).first
    ).to_be_visible()
    page.wait_for_load_state("load")
    api = [url.partition("/v1/")[2] for url in asked if "/v1/" in url]
    assert len(api) <= 10, api


def test_ranges_and_zooms_are_in_the_address(page: Page, recurring_job: str) -> None:
    page.goto("/")
    line = page.get_by_role("region", name="Time line")
    line.get_by_text("24h", exact=True).click()
    expect(page).to_have_url("/?range=24h")
    plot = line.locator("[data-bars]")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 8, steps=4)
    page.mouse.up()
    back = line.get_by_role("button", name="Back to now")
    expect(back).to_be_visible()
    assert "from=" in page.url
    page.reload()
    expect(back).to_be_visible()
    page.keyboard.press("n")
    expect(back).to_be_hidden()
    expect(page).to_have_url("/?range=24h")


@pytest.fixture
def herd(client: Client) -> Iterator[None]:
    at = (datetime.now(UTC) + timedelta(minutes=10)).replace(second=0, microsecond=0).isoformat()
    created = client.create_jobs({"name": "herd", "task": "count", "schedule": at} for _ in range(150))
    yield
    for job in created:
        client.cancel_job(job.id)


def test_more_than_the_slots_at_once_is_said_before_it_happens(page: Page, herd: None) -> None:
    page.goto("/?range=1h")
    line = page.get_by_role("region", name="Time line")
    expect(line.get_by_text("wanted, 100 slots")).to_be_visible()


def test_a_cause_is_redriven_where_it_is_told(page: Page, client: Client, dead_letter: str) -> None:
    page.goto("/")
    attention = page.get_by_role("region", name="Needs attention")
    expect(attention.get_by_text("the pump is dry")).to_be_visible()
    attention.get_by_role("listitem").filter(has_text="the pump is dry").get_by_role(
        "button", name="Redrive"
    ).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("run")
    dialog.get_by_role("button", name="Redrive").click()
    expect(page.get_by_text(re.compile("^Dead letters of .* run again$"))).to_be_visible()
    client.wait_for_execution(dead_letter, timeout=60)
    assert len(client.list_attempts(dead_letter).items) == 2


def test_a_key_that_may_only_read_is_offered_no_action(
    signed_in: SignedIn, client: Client, dead_letter: str
) -> None:
    page = signed_in(client.create_key("looks at the overview", scopes=["read"]).secret)
    page.goto("/")
    attention = page.get_by_role("region", name="Needs attention")
    expect(attention.get_by_role("link").first).to_be_visible()
    expect(attention.get_by_role("button")).to_have_count(0)


def test_a_new_installation_shows_what_to_do(signed_in: SignedIn, client: Client) -> None:
    page = signed_in(client.create_key("first of its tenant", scopes=["admin"], tenant="newcomer").secret)
    page.goto("/")
    expect(page.get_by_role("heading", name="Nothing runs here yet")).to_be_visible()
    expect(page.get_by_text("tickwork job create")).to_be_visible()
    expect(page.get_by_role("link", name="New job")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/calendar", "/events"])
def test_a_phone_shows_all_without_scrolling_sideways(page: Page, path: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(path)
    expect(page.get_by_role("main").get_by_role("button").first).to_be_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
