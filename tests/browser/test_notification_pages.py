"""Channels, notifications and rules: made in forms, tested against a receiver, seen to arrive, and sent again."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import SignedIn
from tickwork import Client


class Receiver(ThreadingHTTPServer):
    """Keeps what channels send, and answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receives)
        self.status = 200
        self._received: Queue[dict[str, Any]] = Queue()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"

    def keep(self, message: dict[str, Any]) -> None:
        self._received.put(message)

    def next(self) -> dict[str, Any]:
        """Waits for it."""
        return self._received.get(timeout=60)


class _Receives(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.keep(json.loads(body))
        self.send_response(self.server.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        Thread(target=receiver.serve_forever, daemon=True).start()
        yield receiver
        receiver.shutdown()


def test_a_webhook_channel_is_created_in_the_form_and_tested(
    page: Page, client: Client, receiver: Receiver
) -> None:
    page.goto("/channels/new")
    page.get_by_label("Name", exact=True).fill("hook")
    page.get_by_label("URL", exact=True).fill(receiver.url)
    page.get_by_label("Messages a minute").fill("12")
    expect(page.get_by_label("the channel", exact=True)).to_contain_text("tickwork channel set hook")
    page.get_by_role("button", name="Create the channel").click()
    expect(page.get_by_role("heading", name="hook")).to_be_visible()
    expect(page.get_by_text("Told nothing yet").first).to_be_visible()
    page.get_by_role("button", name="Send a test").click()
    result = page.get_by_role("status", name="Result of the test")
    expect(result).to_contain_text("Delivered")
    assert receiver.next()["title"] == "This is a test of the channel hook"
    receiver.status = 404
    page.get_by_role("button", name="Send a test").click()
    expect(result).to_contain_text("Not delivered")
    expect(result).to_contain_text("404")
    assert client.get_channel("hook").rate == 12


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("Slack", {"Webhook URL": "http://127.0.0.1:9/services/T/B/s3cret-of-slack"}),
        ("Microsoft Teams", {"Workflow URL": "http://127.0.0.1:9/workflows/1?sig=s3cret-of-teams"}),
        ("PagerDuty", {"Integration key": "s3cret-of-pagerduty"}),
        ("Opsgenie", {"API key": "s3cret-of-opsgenie"}),
        (
            "E-mail",
            {"Mail server": "mail.example.com", "From": "t@example.com", "Password": "s3cret-of-mail"},
        ),
    ],
)
def test_each_kind_has_a_form_of_its_own_and_shows_no_secret_afterwards(
    page: Page, client: Client, kind: str, fields: dict[str, str]
) -> None:
    name = f"kind-{kind.rsplit(maxsplit=1)[-1].lower()}"
    page.goto("/channels/new")
    page.get_by_role("radio", name=kind).click()
    page.get_by_label("Name", exact=True).fill(name)
    if kind == "E-mail":
        page.get_by_role("combobox", name="To", exact=True).fill("ann@example.com")
        page.get_by_role("switch", name="A mail server of its own").check()
        page.get_by_label("User name").fill("me")
    for label, value in fields.items():
        page.get_by_label(label, exact=True).fill(value)
    expect(page.get_by_label("the channel", exact=True)).not_to_contain_text("s3cret")
    page.get_by_role("button", name="Create the channel").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    assert "s3cret" not in page.content()
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("Messages a minute").fill("5")
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_text("5 a minute")).to_be_visible()
    page.goto("about:blank")  # the page asks for a preview of what is deleted now
    client.delete_channel(name)


def test_a_channel_is_edited_paused_given_texts_and_deleted(
    page: Page, client: Client, receiver: Receiver
) -> None:
    client.set_channel("edited", kind="webhook", url=receiver.url)
    client.set_notification_rule("edited-rule", on=["failed"], to=["edited"], tag="nobody")
    page.goto("/channels/edited?tab=edit")
    page.get_by_role("switch", name="Quiet hours").check()
    page.get_by_label("From", exact=True).fill("21:00")
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_text(re.compile(r"21:00.07:00 \(UTC\), except errors"))).to_be_visible()
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    page.get_by_role("link", name="Texts", exact=True).click()
    page.get_by_label("Title").fill("[{severity}] ")
    page.get_by_role("button", name="{job.name}").click()
    expect(page.get_by_role("group", name="The message")).to_contain_text("[error] weekly report")
    page.get_by_role("button", name="Save the texts").click()
    expect(page.get_by_text("The texts of edited are changed")).to_be_visible()
    template = client.get_channel("edited").template
    assert template is not None
    assert template.title == "[{severity}] {job.name}"
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The rule edited-rule and jobs that name it tell it nothing any more")
    dialog.get_by_role("button", name="Delete the channel").click()
    expect(page.get_by_role("heading", name="Channels")).to_be_visible()
    expect(page.get_by_role("link", name="edited", exact=True)).to_have_count(0)
    client.delete_notification_rule("edited-rule")


def test_what_is_wrong_with_a_channel_is_said_at_its_field(
    page: Page, client: Client, errors: list[str]
) -> None:
    client.set_channel("taken", kind="webhook", url="https://example.com/hook")
    page.goto("/channels/new")
    page.get_by_role("button", name="Create the channel").click()
    expect(page.get_by_label("Name", exact=True)).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Name", exact=True).fill("taken")
    page.get_by_role("button", name="Create the channel").click()
    expect(page.get_by_text("is taken by another channel").first).to_be_visible()
    page.get_by_label("Name", exact=True).fill("wrong")
    page.get_by_label("URL", exact=True).fill("ftp://example.com")
    page.get_by_label("Together within").fill("a while")
    page.get_by_role("button", name="Create the channel").click()
    expect(page.get_by_label("URL", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Together within")).to_have_attribute("aria-invalid", "true")
    page.goto("/channels/taken?tab=template")
    page.get_by_label("Text", exact=True).fill("{job.nam}")
    expect(page.get_by_label("Text", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("did you mean {job.name}?")).to_be_visible()
    client.delete_channel("taken")
    assert [error for error in errors if "422" not in error] == []
    errors.clear()


def test_a_failing_job_is_told_of_and_its_notification_is_sent_again(
    page: Page, client: Client, receiver: Receiver
) -> None:
    client.set_channel("ops", kind="webhook", url=receiver.url)
    page.goto("/notification-rules/new")
    page.get_by_label("Name", exact=True).fill("of-team-a")
    page.get_by_text("Jobs with a tag").click()
    page.get_by_label("Tag", exact=True).fill("team-a")
    page.get_by_role("combobox", name="Channels").click()
    page.get_by_role("option", name="ops").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Create the rule").click()
    row = page.get_by_role("row").filter(has_text="of-team-a")
    expect(row).to_contain_text("jobs tagged team-a")
    expect(row).to_contain_text("failed, recovered")
    page.goto("/notifications")
    job = client.create_job(
        name="nightly copy", task="fail", payload={"message": "disk full"}, tags=["team-a"]
    )
    link = page.get_by_role("link", name="nightly copy")
    expect(link.first).to_be_visible(timeout=40_000)
    expect(page.get_by_role("row").filter(has_text="nightly copy")).to_contain_text("Sent", timeout=40_000)
    link.first.click()
    expect(page.get_by_role("region", name="What happened")).to_contain_text("disk full")
    expect(page.get_by_role("list", name="Attempts")).to_contain_text("Delivered")
    expect(page.get_by_role("group", name="The message")).to_contain_text("nightly copy")
    told_first = receiver.next()
    page.get_by_role("button", name="Resend").click()
    expect(page.get_by_text("It is sent to ops again")).to_be_visible()
    assert receiver.next() == told_first
    page.get_by_role("link", name="nightly copy").first.click()
    expect(page).to_have_url(re.compile(rf"/jobs/{job.id}$"))
    told = page.get_by_role("region", name="Who is told, and why")
    expect(told).to_contain_text("the rule of-team-a is for the tag team-a")
    told.get_by_role("link", name="of-team-a").first.click()
    page.get_by_label("late", exact=True).check()
    page.get_by_role("button", name="Save the changes").click()
    expect(row).to_contain_text("late")
    page.goto("/notifications?status=failed&channel=ops")
    expect(page.get_by_text("No notification matches")).to_be_visible()
    client.delete_notification_rule("of-team-a")


def test_a_job_says_in_its_form_who_is_told(page: Page, client: Client) -> None:
    client.set_channel("team", kind="webhook", url="http://127.0.0.1:9/hook")
    job = client.create_job(name="told of", task="work", schedule="0 3 1 1 *")
    page.goto(f"/jobs/{job.id}?tab=edit")
    page.get_by_role("button", name="Tell somebody").click()
    page.get_by_role("combobox", name="To", exact=True).click()
    page.get_by_role("option", name="team").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Save the changes").click()
    told = page.get_by_role("region", name="Who is told, and why")
    expect(told).to_contain_text("the job's own notify says so")
    assert client.get_job(job.id).notify[0].to == ["team"]
    client.cancel_job(job.id)


def test_a_channel_that_fails_is_seen_in_the_list_and_needs_attention(
    page: Page, client: Client, receiver: Receiver
) -> None:
    receiver.status = 503
    client.set_channel("down", kind="webhook", url=receiver.url)
    notify = [{"on": ["failed"], "to": ["down"]}]
    client.create_job(name="tells in vain", task="fail", notify=notify, wait=60)
    page.goto("/channels")
    row = page.get_by_role("row").filter(has_text="down")
    expect(row).to_contain_text("Failing", timeout=40_000)
    page.goto("/")
    attention = page.get_by_role("region", name="Needs attention")
    expect(attention.get_by_role("link", name="Channel down")).to_be_visible()
    attention.get_by_role("link", name="Channel down").click()
    expect(page.get_by_label("the error", exact=True)).to_contain_text("503")
    client.delete_channel("down")


def test_a_key_that_may_only_read_is_offered_nothing_that_changes(
    signed_in: SignedIn, client: Client
) -> None:
    client.set_channel("only-read", kind="webhook", url="http://127.0.0.1:9/hook")
    client.set_notification_rule("only-read", on=["failed"], to=["only-read"], tag="nobody")
    page = signed_in(client.create_key("channels reader", scopes=["read"]).secret)
    page.goto("/channels")
    expect(page.get_by_role("link", name="only-read")).to_be_visible()
    expect(page.get_by_role("link", name="New channel")).to_have_count(0)
    page.goto("/channels/only-read?tab=edit")
    expect(page.get_by_role("heading", name="only-read")).to_be_visible()
    expect(page.get_by_role("group", name="The message")).to_be_visible()
    for name in ("Send a test", "Pause", "Delete", "Save"):
        expect(page.get_by_role("main").get_by_role("button", name=name)).to_have_count(0)
    page.goto("/notification-rules/only-read")
    expect(page.get_by_role("main")).to_contain_text("jobs tagged nobody")
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
