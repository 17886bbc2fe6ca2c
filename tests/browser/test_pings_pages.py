"""Pings: what runs elsewhere is created in the form, reports by its URL, and is seen to come or to stay away."""

import re
from urllib.request import urlopen

from playwright.sync_api import Page, expect

from browser.conftest import SignedIn
from support.dashboard_server import DashboardServer
from tickwork import Client


def test_a_ping_is_created_in_the_form_and_reports_by_its_url(page: Page, client: Client) -> None:
    page.goto("/pings/new")
    page.get_by_label("Name", exact=True).fill("nightly-backup")
    page.get_by_label("In words or as cron").fill("0 2 * * *")
    expect(page.get_by_text("Every day at 02:00 (Europe/Paris).")).to_be_visible()
    page.get_by_label("Grace").fill("45m")
    page.get_by_role("button", name="Create the ping").click()
    expect(page.get_by_role("heading", name="nightly-backup")).to_be_visible()
    expect(page.get_by_text("Not heard yet")).to_be_visible()
    url = page.get_by_label("the URL", exact=True).inner_text()
    assert "/ping/twp_" in url
    expect(page.get_by_label("the line: crontab", exact=True)).to_contain_text(
        f"curl -fsS -m 10 --retry 5 {url}/$?"
    )
    with urlopen(f"{url}/start"), urlopen(url, data=b"copied 3 files"):  # noqa: S310 (of the server under test)
        pass
    expect(page.get_by_role("table").get_by_text("Success")).to_be_visible()
    expect(page.get_by_role("table").get_by_text("copied 3 files")).to_be_visible()
    page.reload()
    expect(page.get_by_label("the URL", exact=True)).not_to_have_text(url)
    assert client.get_ping("nightly-backup").grace == 2700.0


def test_the_list_shows_states_and_the_latest_runs(page: Page, client: Client) -> None:
    for name in ("list-good", "list-bad"):
        client.set_ping(name, schedule="every 1h")
    client.signal_ping("list-good")
    client.signal_ping("list-bad", "fail")
    page.goto("/pings?q=list-")
    good = page.get_by_role("row").filter(has_text="list-good")
    expect(good).to_contain_text("OK")
    expect(good.get_by_role("img", name="Last 1: 1 success")).to_be_visible()
    page.get_by_role("combobox", name="State").click()
    page.get_by_role("option", name="failed").click()
    expect(page.get_by_role("row").filter(has_text="list-good")).to_have_count(0)
    page.get_by_role("link", name="list-bad").click()
    expect(page.get_by_role("heading", name="list-bad")).to_be_visible()


def test_a_ping_that_stays_away_turns_missing_before_ones_eyes(page: Page, client: Client) -> None:
    client.create_job(name="something else", task="work", wait=60)  # so that there is an overview
    client.set_ping("stays-away", schedule="every 10s", grace="1s")
    page.goto("/pings/stays-away")
    expect(page.get_by_text("Not heard yet")).to_be_visible()
    expect(page.locator("header").get_by_text("Missing")).to_be_visible(timeout=30_000)
    page.goto("/")
    attention = page.get_by_role("region", name="Needs attention")
    expect(attention.get_by_role("link", name="Ping stays-away")).to_be_visible()
    page.goto("/events?kind=ping.missing")
    expect(page.get_by_role("row").filter(has_text="stays-away").first).to_be_visible()
    client.delete_ping("stays-away")


def test_a_ping_is_edited_gets_another_url_and_is_deleted(page: Page, client: Client) -> None:
    old = client.set_ping("edited", schedule="0 3 * * *", grace="10m").url or ""
    page.goto("/pings/edited")
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("In words or as cron")).to_have_value("0 3 * * *")
    page.get_by_label("Grace").fill("20m")
    page.get_by_label("Description").fill("of the shop")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("of the shop")).to_be_visible()
    page.get_by_role("button", name="Make another URL").click()
    page.get_by_role("dialog").get_by_role("button", name="Make another URL").click()
    expect(page.get_by_label("the URL", exact=True)).to_contain_text(re.compile(r"/ping/twp_[\w-]{32}"))
    assert page.get_by_label("the URL", exact=True).inner_text() != old
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the ping").click()
    expect(page.get_by_role("heading", name="Pings")).to_be_visible()
    expect(page.get_by_role("link", name="edited")).to_have_count(0)


def test_what_is_wrong_is_said_at_its_field(page: Page, client: Client, errors: list[str]) -> None:
    client.set_ping("taken", schedule="every 1h")
    page.goto("/pings/new")
    page.get_by_label("Name", exact=True).fill("taken")
    page.get_by_role("button", name="Create the ping").click()
    expect(page.get_by_text("is taken by another ping").first).to_be_visible()
    page.get_by_label("Name", exact=True).fill("wrong")
    page.get_by_label("Grace").fill("soon")
    page.get_by_role("button", name="Create the ping").click()
    expect(page.get_by_label("Grace")).to_have_attribute("aria-invalid", "true")
    assert [error for error in errors if "422" not in error] == []
    errors.clear()


def test_a_key_that_may_only_read_is_offered_nothing_that_changes(
    signed_in: SignedIn, server: DashboardServer, client: Client
) -> None:
    client.set_ping("only-read", schedule="every 1h")
    page = signed_in(client.create_key("pings reader", scopes=["read"]).secret)
    page.goto("/pings")
    expect(page.get_by_role("link", name="only-read")).to_be_visible()
    expect(page.get_by_role("link", name="New ping")).to_have_count(0)
    page.goto("/pings/only-read")
    expect(page.get_by_role("heading", name="only-read")).to_be_visible()
    for name in ("Delete", "Make another URL"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
