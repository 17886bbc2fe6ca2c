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
    "/tasks",
    "/breakers",
    "/cluster",
    "/events",
    "/settings",
)


_NOWHERE = "/nowhere"
_GO = "(path) => history.pushState(null, '', path)"


def open_page(page: Page, path: str) -> None:
    """Waits until its heading and its first answers are there. The stream of events stays open.

    The first page is loaded. To the others the dashboard goes by itself, as after a click on a link: loading scripts
    anew for each would take most of the time. In between is a page that does not exist, so that nothing of one page is
    left on the next.
    """
    if page.url == "about:blank":
        page.goto(path)
    else:
        _go_to(page, path)
    page.get_by_role("heading", level=1).wait_for()
    expect(page.locator(".mantine-Skeleton-root")).to_have_count(0)


def _go_to(page: Page, path: str) -> None:
    nothing = page.get_by_text("There is no such page")
    page.evaluate(_GO, _NOWHERE)
    nothing.wait_for()
    page.evaluate(_GO, path)
    nothing.wait_for(state="detached")
