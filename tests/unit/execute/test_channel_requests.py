"""What each kind of channel sends: what users name means nothing special to the receiver, and nothing is too long."""

from typing import Any

import msgspec
import pytest

from support.sample_notification import channel, item, message, storm
from tickwork.execute.runners.notify.channel_sender import service_request
from tickwork.execute.runners.notify.email_message import email_message
from tickwork.execute.runners.notify.render_message import render
from tickwork.execute.runners.notify.webhook_request import webhook_body
from tickwork.model.channel import EmailChannel, MessageTemplate, StoredChannel, WebhookChannel
from tickwork.model.notification_message import Incident, NotificationMessage, Severity

URL = "https://tickwork.example"
CHANNELS = {
    "slack": channel("slack", url="https://hooks.slack.example/services/1"),
    "teams": channel("teams", url="https://logic.example/invoke?sig=1"),
    "pagerduty": channel("pagerduty", routing_key="key"),
    "opsgenie": channel("opsgenie", api_key="key"),
}
LARGEST = {"slack": 20_000, "teams": 28 * 1024, "pagerduty": 512 * 1024, "opsgenie": 100_000}


def sent(stored: StoredChannel, told: NotificationMessage) -> Any:
    said = render(told, stored.name, stored.channel.template, URL)
    return msgspec.json.decode(service_request(stored, told, said).body)


@pytest.mark.parametrize("kind", CHANNELS)
@pytest.mark.parametrize("letter", ["x", "\N{GRINNING FACE}", '"', "\\"])
def test_the_largest_message_is_within_the_limits_of_the_receiver(kind, letter):
    largest = item(
        title=letter * 5_000, detail={f"{letter * 50}{number}": letter * 5_000 for number in range(30)}
    )
    body = msgspec.json.encode(sent(CHANNELS[kind], message(*[largest] * 100)))
    assert len(body) <= LARGEST[kind]


@pytest.mark.parametrize("kind", CHANNELS)
def test_a_template_fills_the_message(kind):
    fields = {
        name: value for name, value in msgspec.to_builtins(CHANNELS[kind].channel).items() if name != "kind"
    }
    template = {"title": "Oh no: {job.name}", "body": "because of {execution.error_type}"}
    body = sent(channel(kind, **fields, template=template), message())
    text = msgspec.json.encode(body).decode()
    assert "Oh no: weekly report" in text
    assert "because of ValueError" in text
    assert "reports.weekly" not in text.replace('"component":"reports.weekly"', "")


def test_slack_is_told_nobody_to_mention_and_no_link_but_ours():
    evil = item(title="<!channel> & <https://evil.example|click>")
    body = sent(CHANNELS["slack"], message(evil, evil))
    assert body["text"].startswith("&lt;!channel&gt; &amp; &lt;https://evil.example|click&gt;")
    section = body["blocks"][1]["text"]["text"]
    assert section.startswith(
        f"*<{URL}/executions/e5-1|&lt;!channel&gt; &amp; &lt;https://evil.example|click&gt;>*"
    )


def test_teams_is_told_text_and_no_markdown():
    body = sent(CHANNELS["teams"], message(item(title="[click](https://evil.example) **now** a_b_c")))
    card = body["attachments"][0]["content"]
    assert card["body"][0]["text"] == r"\[click\](https://evil.example) \*\*now\*\* a\_b\_c"
    assert card["body"][0]["color"] == "attention"
    assert card["actions"] == [
        {"type": "Action.OpenUrl", "title": "Open in Tickwork", "url": f"{URL}/executions/e5-1"}
    ]


def test_pagerduty_gets_an_event_with_its_source_and_details():
    body = sent(CHANNELS["pagerduty"], message())
    assert body["event_action"] == "trigger"
    assert body["dedup_key"] == "msg_1"
    assert body["payload"] == {
        "summary": "weekly report failed",
        "source": "weekly report",
        "severity": "error",
        "timestamp": "2026-11-15T12:00:00Z",
        "class": "execution.failed",
        "component": "reports.weekly",
        "group": "mail",
        "custom_details": {
            "When": "2026-11-15 12:00:00 UTC",
            "Job": "weekly report (j5)",
            "Task": "reports.weekly",
            "Queue": "mail",
            "Tags": "billing, eu",
            "Execution": "e5-1, attempt 4, due 2026-11-15 12:00:00 UTC",
            "Error": "ValueError: no such customer",
        },
    }
    assert body["links"] == [{"href": f"{URL}/executions/e5-1", "text": "open in Tickwork"}]


def test_what_opens_an_incident_and_what_closes_it_have_one_key():
    failed = message(incident=Incident(key="j5", action="open"))
    recovered = message(item(severity=Severity.INFO), incident=Incident(key="j5", action="close"))
    opened, closed = (sent(CHANNELS["pagerduty"], each) for each in (failed, recovered))
    assert (opened["event_action"], opened["dedup_key"]) == ("trigger", "j5")
    assert closed == {"routing_key": "key", "event_action": "resolve", "dedup_key": "j5"}
    stored = CHANNELS["opsgenie"]
    opening, closing = (
        service_request(stored, each, render(each, "ops", None, None)) for each in (failed, recovered)
    )
    assert (opening.url, msgspec.json.decode(opening.body)["alias"]) == (
        "https://api.opsgenie.com/v2/alerts",
        "j5",
    )
    assert closing.url == "https://api.opsgenie.com/v2/alerts/j5/close?identifierType=alias"
    assert opening.headers["authorization"] == closing.headers["authorization"] == "GenieKey key"


@pytest.mark.parametrize("kind", ["pagerduty", "opsgenie"])
def test_keys_that_are_too_long_stay_apart(kind):
    long = [message(incident=Incident(key="x" * 600 + end, action="open")) for end in "ab"]
    names = {"pagerduty": "dedup_key", "opsgenie": "alias"}
    first, second = (sent(CHANNELS[kind], each)[names[kind]] for each in long)
    assert first != second
    assert len(first) <= 255


def test_an_alias_is_quoted_in_the_path():
    closing = message(incident=Incident(key="a/b?c d", action="close"))
    request = service_request(CHANNELS["opsgenie"], closing, render(closing, "ops", None, None))
    assert request.url.endswith("/v2/alerts/a%2Fb%3Fc%20d/close?identifierType=alias")


def test_a_webhook_gets_the_facts_as_they_are():
    body = webhook_body(
        WebhookChannel(url="https://a.example/"), message(), render(message(), "ops", None, URL)
    )
    assert msgspec.to_builtins(body) == {
        "kind": "execution.failed",
        "severity": "error",
        "title": "weekly report failed",
        "at": "2026-11-15T12:00:00Z",
        "count": 1,
        "job": {
            "id": "j5",
            "name": "weekly report",
            "key": "weekly",
            "task": "reports.weekly",
            "queue": "mail",
            "tags": ["billing", "eu"],
        },
        "execution": {
            "id": "e5-1",
            "scheduled_for": "2026-11-15T12:00:00Z",
            "attempt": 4,
            "error_type": "ValueError",
            "error_message": "no such customer",
        },
        "url": f"{URL}/executions/e5-1",
    }


def test_a_webhook_gets_several_items_as_a_summary():
    template = MessageTemplate(body="{job.name}")
    hook = WebhookChannel(url="https://a.example/", template=template)
    told = message(storm(3), item())
    body = webhook_body(hook, told, render(told, "ops", template, URL))
    assert (body["kind"], body["count"], body["severity"]) == ("notification.summary", 4, "error")
    assert [each["count"] for each in body["items"]] == [3, 1]
    assert [each["text"] for each in body["items"]] == ["weekly report", "weekly report"]


def mail_of(told: NotificationMessage, *, public_url: str | None = URL):
    team = EmailChannel(to=["ops@example.com", "ann@example.com"])
    said = render(told, "ops", None, public_url)
    return email_message(team, "ops", told, said, "Tickwork <tickwork@example.com>", public_url)


def test_a_mail_has_text_and_html_and_links():
    mail = mail_of(message())
    assert (mail["Subject"], mail["To"]) == ("weekly report failed", "ops@example.com, ann@example.com")
    assert mail["Message-ID"] == "<msg_1@example.com>"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["List-Unsubscribe"] == (
        "<https://tickwork.example/channels/ops>, "
        "<mailto:tickwork@example.com?subject=unsubscribe%20from%20ops>"
    )
    text, html = (mail.get_body([kind]).get_content() for kind in ("plain", "html"))
    assert "Error: ValueError: no such customer\nhttps://tickwork.example/executions/e5-1" in text
    assert '<a href="https://tickwork.example/executions/e5-1">Open in Tickwork</a>' in html
    assert "no such customer" in html


def test_a_mail_without_a_public_url_names_whom_to_ask():
    mail = mail_of(message(), public_url=None)
    assert mail["List-Unsubscribe"] == "<mailto:tickwork@example.com?subject=unsubscribe%20from%20ops>"


def test_a_name_is_no_header_and_no_html():
    mail = mail_of(message(item(title="<script>\r\nBcc: evil@example.com")))
    assert mail["Bcc"] is None
    assert mail["Subject"] == "<script> Bcc: evil@example.com"
    assert "<script>" not in mail.get_body(["html"]).get_content()


def test_the_message_id_is_the_same_at_every_attempt_and_safe():
    odd = msgspec.structs.replace(message(), id="a b@<c>\r\nd")
    assert mail_of(odd)["Message-ID"] == "<a-b--c---d@example.com>"
