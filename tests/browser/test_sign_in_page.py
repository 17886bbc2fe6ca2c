"""Signing in by an API key and by a link that works once."""

import re

from playwright.sync_api import BrowserContext, expect

from support.dashboard_server import DashboardServer
from tickwork import Client


def without_401(errors: list[str]) -> list[str]:
    """Chromium logs the answer that tells a page that nobody is signed in."""
    return [error for error in errors if "401" not in error]


def test_a_key_signs_in_and_leads_to_the_page_that_was_asked_for(
    context: BrowserContext, server: DashboardServer, errors: list[str]
) -> None:
    page = context.new_page()
    page.goto("/queues")
    expect(page.get_by_role("heading", name="Sign in to Tickwork")).to_be_visible()
    page.get_by_role("textbox", name="API key").fill("tw_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("this API key is not known")
    page.get_by_role("textbox", name="API key").fill(server.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Queues", level=1)).to_be_visible()
    expect(page).to_have_url("/queues")
    assert server.key not in page.evaluate("JSON.stringify([document.cookie, localStorage, sessionStorage])")
    assert page.evaluate("document.cookie") == ""
    errors[:] = without_401(errors)


def test_a_link_signs_in_once(context: BrowserContext, client: Client, errors: list[str]) -> None:
    link = f"/sign-in#{client.create_sign_in_link().token}"
    page = context.new_page()
    page.goto(link)
    expect(page).to_have_url("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.get_by_role("button", name="Account and appearance").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to Tickwork")).to_be_visible()
    second = context.new_page()
    second.goto(link)
    expect(second.get_by_role("alert")).to_contain_text("this link was used already")
    expect(second).to_have_url(re.compile("/sign-in$"))
    errors[:] = without_401(errors)
