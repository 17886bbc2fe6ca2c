"""What a key of the scope read sees, and what it cannot do even by hand."""

import re

import pytest
from playwright.sync_api import Page

from browser.conftest import SignedIn
from browser.every_page import LISTS, open_page
from support.waiting import eventually_without_loop
from tickwork import Client

EFFECTS = re.compile(
    r"^(Run now|Pause|Resume|Cancel|Retry|Delete|Redrive|Discard|Drain|Reset|Edit|New job|New key|New ping|New channel"
    r"|New rule|Revoke|Create|Save|Make another URL|Send a test|Resend|Change its texts|Texts)\b"
)
PAUSES_ONLY_THE_VIEW = ("/events", "Pause")


@pytest.fixture
def reader(signed_in: SignedIn, client: Client) -> Page:
    return signed_in(client.create_key("reader", scopes=["read"]).secret)


@pytest.fixture(scope="module")
def failed(client: Client) -> str:
    return client.create_job(name="fails for readers", task="fail", wait=60).id


def test_a_reader_is_offered_no_effect_on_any_page(reader: Page, client: Client, failed: str) -> None:
    execution = client.list_executions(job=failed).items[0].id
    client.set_ping("seen-by-readers", schedule="every 1h")
    client.set_channel("seen-by-readers", kind="webhook", url="http://127.0.0.1:9/hook")
    client.set_notification_rule("seen-by-readers", on=["failed"], to=["seen-by-readers"])
    client.create_job(name="told to readers", task="fail", wait=60)
    (notification, *_) = eventually_without_loop(
        lambda: client.list_notifications(channel="seen-by-readers").items
    )
    details = (
        f"/jobs/{failed}",
        f"/jobs/{failed}?tab=edit",
        f"/executions/{execution}",
        f"/workflows/{failed}",
        "/pings/seen-by-readers",
        "/pings/seen-by-readers?tab=edit",
        "/channels/seen-by-readers",
        "/channels/seen-by-readers?tab=edit",
        "/channels/seen-by-readers?tab=template",
        "/notification-rules/seen-by-readers",
        f"/notifications/{notification.id}",
    )
    for path in (*(path for path in LISTS if not path.endswith("/new")), *details):
        open_page(reader, path)
        for role in ("button", "link"):
            offered = reader.get_by_role("main").get_by_role(role, name=EFFECTS).all_inner_texts()
            assert [word for word in offered if (path, word) != PAUSES_ONLY_THE_VIEW] == [], path


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/jobs", {"task": "work"}),
        ("PATCH", "/v1/jobs/{job}", {"name": "changed"}),
        ("POST", "/v1/jobs/{job}/run", {}),
        ("POST", "/v1/jobs/{job}/pause", {}),
        ("DELETE", "/v1/jobs/{job}", {}),
        ("POST", "/v1/jobs/bulk", {"action": "pause", "ids": ["{job}"]}),
        ("POST", "/v1/queues/default/pause", {}),
        ("PUT", "/v1/pings/mine", {"schedule": "every 1h"}),
        ("PUT", "/v1/channels/mine", {"kind": "webhook", "url": "http://127.0.0.1:9/"}),
        ("PUT", "/v1/notification-rules/mine", {"on": ["failed"], "to": ["seen-by-readers"]}),
        ("POST", "/v1/keys", {"name": "mine", "scopes": ["admin"]}),
    ],
)
def test_a_reader_gets_no_effect_by_hand(
    reader: Page, client: Client, method: str, path: str, body: object, errors: list[str]
) -> None:
    job = client.create_job(name="untouched", task="work", schedule="0 3 1 1 *").id
    before = client.get_job(job)
    reader.goto("/jobs")
    status = reader.evaluate(
        """async ([method, path, body]) => (await fetch(path, { method, body: JSON.stringify(body),
            headers: { "content-type": "application/json", "tickwork-csrf": "1" } })).status""",
        [method, path.format(job=job), body],
    )
    assert status == 403
    assert client.get_job(job) == before
    errors[:] = [error for error in errors if "403" not in error]
