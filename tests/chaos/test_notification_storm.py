"""A storm of failures is a handful of messages."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from time import monotonic

import asyncpg
import pytest

from support.node_steps import run_due
from support.told_channel import MINUTE, ONCE, TENANT, ToldChannels, make_channel
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest
from tickwork.model.notification_message import NotificationMessage
from tickwork.model.notification_rule import NotificationRuleRequest
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker, _outcome

CAUSES = (
    Failure("ValueError", "row 17 of 99 is broken", "Traceback …"),
    Failure("KeyError", "no such customer", "Traceback …"),
    Failure("TimeoutError", "the mail server does not answer", "Traceback …"),
)
_STEPS = 20  # of three seconds


async def test_a_storm_of_failures_of_three_causes_within_a_minute_is_a_handful_of_messages(
    still_node: Node,
    clock: SettableClock,
    connection: asyncpg.Connection,
    long: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    failures = 100_000 if long else 3_000
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=failures)
    told = await ToldChannels.of(still_node, clock, worker)
    await make_channel(connection)
    rule = NotificationRuleRequest(on=["failed"], to=["ops"])
    await still_node.notifications.rules.set(TENANT, "all", rule)
    began, gathered, messages = monotonic(), 0.0, []
    failed: Counter[str] = Counter()
    for _ in range(_STEPS):
        await still_node.jobs.create(TENANT, [JobRequest(task="work", retry=ONCE)] * (failures // _STEPS))
        await run_due(still_node)
        failed += await _fail_all(worker, await worker.runs())
        before = monotonic()
        messages += await told.messages(after=timedelta(seconds=3))
        gathered += monotonic() - before
    for _ in range(30):  # half an hour later
        messages += await told.messages(after=MINUTE)
    assert failed.total() == failures
    assert _counts(messages) == failed
    assert len(messages) <= 4
    if long:
        with capsys.disabled():
            _report(print, failures, messages, monotonic() - began, gathered)


async def _fail_all(worker: ScriptedWorker, runs: list[Run]) -> Counter[str]:
    failures = [CAUSES[number % len(CAUSES)] for number in range(len(runs))]
    outcomes = [
        _outcome(run, AttemptOutcome.FAILED, failure=failure)
        for run, failure in zip(runs, failures, strict=True)
    ]
    for begin in range(0, len(outcomes), 1000):
        await worker._report(outcomes[begin : begin + 1000])
    return Counter(failure.type for failure in failures)


def _counts(messages: list[NotificationMessage]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for message in messages:
        for item in message.items:
            counts[item.execution.error_type] += item.count
    return counts


def _report(
    say: Callable[[str], None],
    failures: int,
    messages: list[NotificationMessage],
    took: float,
    notified: float,
) -> None:
    items = [[item.count for item in message.items] for message in messages]
    say(
        f"{failures} failures of {len(CAUSES)} causes: {len(messages)} messages with {items} facts; "
        f"numbering, gathering and sending took {notified:.1f} of {took:.1f} s"
    )
