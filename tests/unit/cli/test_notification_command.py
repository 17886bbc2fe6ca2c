"""`tickwork notification`, and --notify of jobs."""

from support.sample_answers import JOB, NOON, changed, page
from tickwork.cli.exit_codes import USAGE
from tickwork.model.channel import ChannelError, ChannelPreview
from tickwork.model.execution import AttemptOutcome
from tickwork.model.notification_message import NotificationItem, NotifiedExecution, Severity
from tickwork.model.notification_rule import AppliedNotification, NotificationRuleView
from tickwork.model.notification_view import (
    DeliveryAttempt,
    MessageView,
    NotificationStatus,
    NotificationView,
)

SENT = NotificationView(
    id="n5",
    channel="ops",
    kind="execution.failed",
    severity=Severity.ERROR,
    status=NotificationStatus.FAILED,
    count=3,
    item=NotificationItem(
        kind="execution.failed",
        severity=Severity.ERROR,
        title="report failed: ValueError",
        at=NOON,
        count=3,
        execution=NotifiedExecution(id="e5-1"),
    ),
    created_at=NOON,
    due_at=NOON,
    message_id="msg_1",
    attempts=2,
    error="Http503: away",
)
RULE = NotificationRuleView(
    name="billing",
    on=["failed", "recovered"],
    to=["ops"],
    tag="billing",
    queue=None,
    dead_letters_above=None,
    stuck_after=None,
    created_at=NOON,
    changed_at=NOON,
)


def test_lists_what_was_told_and_what_became_of_it(ask, server):
    server.will_answer(page(SENT))
    shown = ask("notification", "list", "--channel", "ops", "--status", "failed").stdout
    assert all(
        word in shown for word in ("n5", "ops", "failed", "report failed: ValueError", "Http503: away")
    )
    assert server.asked[0].query["channel"] == ["ops"]
    assert server.asked[0].query["status"] == ["failed"]


def test_shows_one_in_full(ask, server):
    server.will_answer(SENT)
    shown = ask("notification", "get", "n5").stdout
    assert "msg_1" in shown
    assert "e5-1" in shown


def test_shows_the_message_with_its_attempts(ask, server):
    error = ChannelError("Http503", "away")
    attempt = DeliveryAttempt(
        attempt=1, outcome=AttemptOutcome.FAILED, started_at=NOON, finished_at=NOON, error=error
    )
    told = MessageView(
        id="msg_1",
        channel="ops",
        status=NotificationStatus.SENT,
        created_at=NOON,
        ended_at=NOON,
        items=[SENT.item],
        attempts=[attempt, changed(attempt, attempt=2, outcome=AttemptOutcome.COMPLETED, error=None)],
        answer={"status": 204},
        content=ChannelPreview(title="report failed", body="Task: work", sent={}),
    )
    server.will_answer(told)
    shown = ask("notification", "message", "n5").stdout
    assert all(word in shown for word in ("report failed", "1 failed Http503: away", "2 completed", "204"))
    assert server.asked[0].path == "/v1/notifications/n5/message"


def test_sends_one_again(ask, server):
    server.will_answer(changed(SENT, status=NotificationStatus.SENDING))
    assert "sending" in ask("notification", "resend", "n5").stdout
    assert (server.asked[0].method, server.asked[0].path) == ("POST", "/v1/notifications/n5/resend")


def test_lists_sets_and_deletes_rules(ask, server):
    server.will_answer(page(RULE))
    server.will_answer(RULE)
    assert "tag billing" in ask("notification", "rules").stdout
    done = ask(
        "notification", "set-rule", "billing", "--tag", "billing", "--on", "failed", "--on", "recovered", "--to", "ops"
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    put = server.asked[-1]
    assert (put.method, put.path) == ("PUT", "/v1/notification-rules/billing")
    assert {name: value for name, value in put.json.items() if value is not None} == {
        "on": ["failed", "recovered"],
        "to": ["ops"],
        "tag": "billing",
    }
    assert ask("notification", "delete-rule", "billing").exit_code == 0
    assert server.asked[-1].method == "DELETE"


def test_shows_what_applies_to_a_job_and_why(ask, server):
    applied = AppliedNotification(
        on="failed", channel="ops", told=True, by="rule", rule="all", why="the rule all is for all jobs"
    )
    server.will_answer(page(applied))
    assert "the rule all is for all jobs" in ask("notification", "of", "key:weekly").stdout


def test_a_job_is_created_with_who_is_told_of_it(ask, server):
    server.will_answer(JOB)
    server.will_answer({"canonical": {}, "words": "", "times": []})
    done = ask(
        "job", "create", "--task", "work", "--notify", "failed,recovered=ops,team", "--notify", "skipped="
    )
    assert done.exit_code == 0, done.output
    assert server.asked[0].json["notify"] == [
        {"on": ["failed", "recovered"], "to": ["ops", "team"]},
        {"on": ["skipped"], "to": []},
    ]


def test_says_what_is_wrong_with_notify(ask, server):
    for text, words in (("failed", "names no channel"), ("exploded=ops", "'exploded' is no kind of news")):
        done = ask("job", "create", "--task", "work", "--notify", text)
        assert done.exit_code == USAGE
        assert words in done.stderr
