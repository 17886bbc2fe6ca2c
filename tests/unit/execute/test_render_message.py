"""What a message says: its title, and the facts or the template's text of each item."""

from datetime import timedelta, timezone

import msgspec
import pytest

from support.sample_notification import NOON, item, message, storm
from tickwork.execute.runners.notify.render_message import MOST_ITEMS, render
from tickwork.model.channel import MessageTemplate
from tickwork.model.notification_message import NotificationMessage, Severity

URL = "https://tickwork.example"


def rendered(sent: NotificationMessage, public_url: str | None = URL, **template: str):
    return render(sent, "ops", MessageTemplate(**template) if template else None, public_url)


def test_tells_what_happened_to_what_and_why_with_a_link():
    said = rendered(message())
    assert said.title == "weekly report failed"
    assert said.text == (
        "When: 2026-11-15 12:00:00 UTC\n"
        "Job: weekly report (j5)\n"
        "Task: reports.weekly\n"
        "Queue: mail\n"
        "Tags: billing, eu\n"
        "Execution: e5-1, attempt 4, due 2026-11-15 12:00:00 UTC\n"
        "Error: ValueError: no such customer\n"
        "https://tickwork.example/executions/e5-1"
    )


def test_without_a_public_url_there_are_no_links():
    said = rendered(message(), public_url=None)
    assert said.url is None
    assert "http" not in said.text


def test_many_facts_of_one_cause_are_told_with_their_number_and_the_first_and_the_last():
    said = rendered(message(storm(100_000)))
    assert said.title == "weekly report failed (100000 times)"
    assert "100000 times from 2026-11-15 12:00:00 UTC to 2026-11-15 12:05:00 UTC" in said.text
    assert "Error: ValueError: no such customer" in said.text
    assert (
        "Last: nightly (j9); e9-9, attempt 4, due 2026-11-15 12:00:00 UTC; ValueError: no such order"
        in said.text
    )


def test_several_items_are_told_together_the_most_severe_first():
    late = item(severity=Severity.WARNING, title="nightly is late", kind="execution.late")
    said = rendered(message(late, item(), item(severity=Severity.INFO, title="export recovered")))
    assert said.title == "weekly report failed, and 2 more"
    assert [each.title for each in said.items] == [
        "weekly report failed",
        "nightly is late",
        "export recovered",
    ]
    assert said.severity is Severity.ERROR
    assert said.url == f"{URL}/notifications"


def test_says_how_many_more_there_are():
    said = rendered(message(*[item(title=f"job {number} failed") for number in range(50)]))
    assert len(said.items) == MOST_ITEMS
    assert said.text.endswith(f"and {50 - MOST_ITEMS} more")
    assert said.shortened(5).left_off == 45


def test_details_of_an_event_are_shown():
    said = rendered(
        message(item(job=None, execution=None, detail={"destination": "https://a.example", "n": 3}))
    )
    assert "destination: https://a.example\nn: 3" in said.text


def test_a_template_replaces_title_and_text():
    said = rendered(
        message(storm(3)),
        title="[{severity}] {job.name}: {count}x",
        body="{execution.error_type} in {job.task} of {job.tags}, last {last_job.id}, {detail.x}|{url}|{channel}",
    )
    assert said.title == "[error] weekly report: 3x"
    assert said.items[0].text == (
        "ValueError in reports.weekly of billing, eu, last j9, |https://tickwork.example/executions/e5-1|ops"
    )


def test_a_title_counts_all_items_and_a_body_its_own():
    said = rendered(message(storm(3), storm(4)), title="{count} in {items}", body="{count}")
    assert said.title == "7 in 2"
    assert [each.text for each in said.items] == ["3", "4"]


def test_a_title_is_one_line():
    assert rendered(message(item(title="a\r\nBcc: b\x00c"))).title == "a Bcc: b\\x00c"
    assert "\n" not in rendered(message(), title="{title}\n{title}").title


def test_long_errors_are_cut():
    execution = msgspec.structs.replace(item().execution, error_message="x" * 100_000)
    assert len(rendered(message(item(execution=execution))).text) < 3_000


@pytest.mark.parametrize("field", ["job.name", "execution.id", "last_at", "last_execution.error_type"])
def test_a_field_without_a_value_is_empty(field):
    bare = item(job=None, execution=None)
    assert rendered(message(bare), title=f"<{{{field}}}>").title == "<>"


def test_times_are_in_utc():
    there = NOON.astimezone(timezone(timedelta(hours=9)))
    assert rendered(message(item(at=there)), title="{at}").title == "2026-11-15 12:00:00 UTC"
