"""The path of every page, for tests that walk through all of them."""

from playwright.sync_api import Page, expect

LISTS = (
    "/",
    "/jobs",
    "/jobs/new",
    "/executions",
    "/calendar",
    "/workflows",
    "/dead-letters",
    "/dead-letters?view=single",
    "/pings",
    "/pings/new",
    "/notifications",
    "/notification-rules",
    "/notification-rules/new",
    "/channels",
    "/channels/new",
    "/queues",
    "/workers",
    "/breakers",
    "/cluster",
    "/events",
    "/settings",
)


def open_page(page: Page, path: str) -> None:
    """Waits until its heading and its first answers are there. The stream of events stays open."""
    page.goto(path)
    page.get_by_role("heading", level=1).wait_for()
    expect(page.locator(".mantine-Skeleton-root")).to_have_count(0)
