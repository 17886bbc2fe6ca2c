"""What the answers of a status URL mean."""

import msgspec
import pytest

from tickwork.model.execution import AttemptOutcome
from tickwork.model.judge_polled_status import judge_answer, judge_failure, value_at
from tickwork.model.status_poll import PollUntil, StatusPoll, poll_errors
from tickwork.model.worker_protocol import Failure

UNTIL = PollUntil("body.state", done=["done", 1, None], failed=["failed", False])


def answer(body: object, status: int = 200) -> bytes:
    return msgspec.json.encode({"status": status, "body": body})


@pytest.mark.parametrize(
    ("path", "body", "value"),
    [
        ("body", "text", "text"),
        ("body.state", {"state": "done"}, "done"),
        ("body.links.1.href", {"links": [{}, {"href": "/x"}]}, "/x"),
        ("body.links.9.href", {"links": []}, None),
        ("body.state", "not an object", None),
        ("body.state.more", {"state": None}, None),
    ],
)
def test_finds_the_value_at_a_path(path, body, value):
    assert value_at(path, answer(body)) == value


@pytest.mark.parametrize(
    ("status", "kind"), [(202, None), (200, AttemptOutcome.COMPLETED), (204, AttemptOutcome.COMPLETED)]
)
def test_without_a_condition_202_means_that_it_still_works(status, kind):
    assert judge_answer(None, status, answer(None, status), 7.0).kind is kind


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("done", AttemptOutcome.COMPLETED),
        (1, AttemptOutcome.COMPLETED),
        (True, None),  # is not 1
        ("failed", AttemptOutcome.FAILED),
        (False, AttemptOutcome.FAILED),
        (0, None),
        ("running", None),
        ({"nested": True}, None),
    ],
)
def test_a_condition_decides_by_the_value_and_not_by_the_status(state, kind):
    assert judge_answer(UNTIL, 200, answer({"state": state}), 0.0).kind is kind
    assert judge_answer(UNTIL, 202, answer({"state": state}, 202), 0.0).kind is kind


def test_a_failure_names_what_the_target_said():
    polled = judge_answer(UNTIL, 200, answer({"state": "failed"}), 0.0)
    assert polled.failure == Failure("TargetFailed", 'body.state is "failed"')


@pytest.mark.parametrize("kind", ["Http404", "Http401", "Http410"])
def test_a_status_that_does_not_exist_is_a_failure(kind):
    assert judge_failure(Failure(kind, "")).kind is AttemptOutcome.FAILED


@pytest.mark.parametrize(
    "kind", ["Http500", "Http503", "Http429", "Http408", "Http302", "ConnectError", "Timeout"]
)
def test_anything_else_may_pass(kind):
    assert judge_failure(Failure(kind, "", retry_after=9.0)) == (None, None, None, 9.0)


def test_a_denied_address_does_not_pass():
    assert judge_failure(Failure("AddressDenied", "", retry=False)).kind is AttemptOutcome.FAILED


@pytest.mark.parametrize(
    ("poll", "path"),
    [
        (StatusPoll(url_from="header"), "http.poll.url_from"),
        (StatusPoll(url_from="body.a b"), "http.poll.url_from"),
        (StatusPoll(every="0.1s"), "http.poll.every"),
        (StatusPoll(every="2d"), "http.poll.every"),
        (StatusPoll(every="often"), "http.poll.every"),
        (StatusPoll(until=PollUntil("state", done=["done"])), "http.poll.until.path"),
    ],
)
def test_names_what_is_wrong(poll, path):
    assert [error.path for error in poll_errors(poll)] == [path]


def test_accepts_what_is_right():
    poll = StatusPoll("body.links.0.status", "5s", PollUntil("body.state", done=["done"]))
    assert list(poll_errors(poll)) == []
