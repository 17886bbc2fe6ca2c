"""The stream of events: live, filtered, and still while it is paused."""

from playwright.sync_api import Page, expect

from tickwork import Client


def test_what_happens_shows_at_once_and_leads_on(page: Page, client: Client) -> None:
    page.goto("/events?kind=job.created")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    client.create_job(name="seen live", task="work", schedule="0 0 1 1 *")
    page.get_by_role("link", name="seen live").click()
    expect(page.get_by_role("heading", name="seen live")).to_be_visible()


def test_a_pause_counts_what_it_holds_back(page: Page, client: Client) -> None:
    client.create_job(name="before the pause", task="work", schedule="0 0 1 1 *")
    page.goto("/events?kind=job.created")
    expect(page.get_by_role("link", name="before the pause").first).to_be_visible()
    page.get_by_role("button", name="Pause", exact=True).click()
    client.create_job(name="during the pause", task="work", schedule="0 0 1 1 *")
    pill = page.get_by_role("button", name="1 new")
    expect(pill).to_be_visible()
    expect(page.get_by_role("link", name="during the pause")).to_have_count(0)
    pill.click()
    expect(page.get_by_role("link", name="during the pause").first).to_be_visible()


def test_filters_are_in_the_address(page: Page, client: Client) -> None:
    client.create_job(name="tagged", task="work", schedule="0 0 1 1 *", tags=["events-page"])
    page.goto("/events")
    page.get_by_label("Tag").fill("events-page")
    expect(page).to_have_url("/events?tag=events-page")
    expect(page.get_by_role("row")).to_have_count(2)
    page.reload()
    expect(page.get_by_label("Tag")).to_have_value("events-page")


def test_starts_and_ends_are_shown_as_they_happen(page: Page, client: Client) -> None:
    page.goto("/events?pulse=true")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    client.create_job(name="quick", task="work")
    expect(page.get_by_text("execution.completed", exact=True).first).to_be_visible()
