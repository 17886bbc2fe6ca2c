"""What every overlap policy makes of every state of the execution before."""

from datetime import UTC, datetime
from typing import get_args

import pytest

from tickwork.model.overlap import QUEUE_LIMIT, Blocker, Decision, Overlap, Queue, Replace, Run, Skip, decide

AT = datetime(2026, 1, 1, tzinfo=UTC)
BLOCKERS = {
    "none": None,
    "running": Blocker(AT, 0),
    "one place left": Blocker(AT, QUEUE_LIMIT - 1),
    "full": Blocker(AT, QUEUE_LIMIT),
    "more than full": Blocker(AT, QUEUE_LIMIT + 1),
}
EXPECTED: dict[Overlap, list[Decision]] = {
    "allow": [Run(), Run(), Run(), Run(), Run()],
    "skip": [Run(), Skip(AT), Skip(AT), Skip(AT), Skip(AT)],
    "queue": [Run(), Queue(AT), Queue(AT), Skip(AT, queue_is_full=True), Skip(AT, queue_is_full=True)],
    "replace": [Run(), Replace(AT), Replace(AT), Replace(AT), Replace(AT)],
}


@pytest.mark.parametrize(
    ("policy", "blocker", "expected"),
    [
        pytest.param(policy, blocker, expected, id=f"{policy}-{name}")
        for policy, decisions in EXPECTED.items()
        for (name, blocker), expected in zip(BLOCKERS.items(), decisions, strict=True)
    ],
)
def test_decision(policy: Overlap, blocker: Blocker | None, expected: Decision) -> None:
    decision = decide(policy, blocker)
    assert (type(decision), decision) == (type(expected), expected)


def test_every_policy_is_decided() -> None:
    assert set(EXPECTED) == set(get_args(Overlap))


def test_a_skipped_execution_says_why() -> None:
    assert Skip(AT).reason == "overlap"
    assert Skip(AT, queue_is_full=True).reason == f"overlap: {QUEUE_LIMIT} wait already"
