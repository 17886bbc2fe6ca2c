"""The list of jobs: searching among many, and acting on all that a filter finds."""

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import SignedIn
from tickwork import Client

MANY = 100_000


@pytest.fixture(scope="module")
def many_jobs(client: Client) -> int:
    """So many that are due in a year."""
    client.create_jobs(
        {
            "name": f"sync customer{number:06}",
            "task": "work",
            "schedule": "0 3 1 1 *",
            "tags": ["rare"] if number % 400 == 0 else ["usual"],
        }
        for number in range(MANY)
    )
    return MANY


def test_one_job_is_found_among_a_hundred_thousand(page: Page, many_jobs: int) -> None:
    page.goto("/jobs")
    expect(page.get_by_role("status").filter(has_text="jobs")).to_be_visible()
    page.keyboard.press("/")
    page.get_by_label("Search jobs").fill("customer077123")
    expect(page.get_by_role("row").filter(has_text="customer077123")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(2)
    assert "q=customer077123" in page.url
    page.reload()
    expect(page.get_by_role("link", name="sync customer077123")).to_be_visible()
    page.get_by_role("link", name="sync customer077123").click()
    expect(page.get_by_role("heading", name="sync customer077123")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Search jobs")).to_have_value("customer077123")
    expect(page.get_by_role("row")).to_have_count(2)


def test_all_jobs_that_a_filter_finds_are_paused(page: Page, client: Client, many_jobs: int) -> None:
    page.goto("/jobs?tag=rare&status=active")
    expect(page.get_by_text("250 jobs")).to_be_visible()
    expect(page.locator("tbody a").first).to_be_visible()
    page.get_by_label("Select all loaded rows").click()
    page.get_by_role("button", name="Select all 250 matching").click()
    page.get_by_role("button", name="Pause", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Pause: 250 jobs").click()
    expect(dialog.get_by_role("status")).to_contain_text("250 jobs paused.")
    dialog.get_by_role("button", name="Close").last.click()
    expect(page.get_by_text("No job matches")).to_be_visible()
    paused = client.list_jobs(tag=["rare"], status="paused", count="exact")
    assert paused.count
    assert paused.count.value == 250


def test_what_an_action_does_not_work_on_is_named(page: Page, client: Client) -> None:
    kept = client.create_job(name="kept alive", task="work", schedule="0 3 1 1 *", tags=["two"]).id
    gone = client.create_job(name="gone", task="work", schedule="0 3 1 1 *", tags=["two"]).id
    client.cancel_job(gone)
    page.goto("/jobs?tag=two")
    expect(page.get_by_role("link", name="gone")).to_be_visible()
    page.get_by_label("Select all loaded rows").click()
    page.get_by_role("button", name="Pause", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Pause: 2 jobs").click()
    expect(dialog.get_by_role("status")).to_contain_text("1 job paused, 1 not.")
    expect(dialog.get_by_label("What did not work")).to_contain_text(gone)
    assert client.get_job(kept).status == "paused"


def test_chosen_columns_are_remembered(page: Page, client: Client) -> None:
    client.create_job(name="with an owner", task="work", schedule="0 3 1 1 *", owner="team-a")
    page.goto("/jobs?owner=team-a")
    page.get_by_role("button", name="Choose columns").click()
    page.get_by_role("checkbox", name="Owner").check()
    page.reload()
    expect(page.get_by_role("columnheader", name="Owner")).to_be_visible()
    expect(page.get_by_role("cell", name="team-a")).to_be_visible()


def test_a_key_that_may_only_read_is_offered_nothing_else(signed_in: SignedIn, client: Client) -> None:
    job = client.create_job(name="look only", task="work", schedule="0 3 1 1 *", tags=["look"]).id
    page = signed_in(client.create_key("reader", scopes=["read"]).secret)
    page.goto("/jobs?tag=look")
    expect(page.get_by_role("link", name="look only")).to_be_visible()
    expect(page.get_by_role("link", name="New job")).to_have_count(0)
    expect(page.get_by_role("checkbox")).to_have_count(0)
    page.goto(f"/jobs/{job}?tab=edit")
    expect(page.get_by_role("heading", name="look only")).to_be_visible()
    for name in ("Run now", "Pause", "More actions", "Save the changes"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
