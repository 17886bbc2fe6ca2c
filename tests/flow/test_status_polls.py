"""Targets whose status is asked, step by step: when, by whom, and what follows."""

from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from support.callback_node import CallbackNode
from support.node_steps import later
from tickwork.config import Settings
from tickwork.model.execution import AttemptOutcome, ExecutionStatus
from tickwork.model.http_target import HttpTarget
from tickwork.model.judge_polled_status import Polled
from tickwork.model.status_poll import StatusPoll
from tickwork.model.worker_protocol import Failure, Run
from tickwork.testing.clock import SettableClock

URL = "https://print.example.com/jobs/7"
TARGET = HttpTarget(url="https://print.example.com/jobs", poll=StatusPoll())
SECOND = timedelta(seconds=1)
DONE = Polled(AttemptOutcome.COMPLETED, b'{"status":200,"body":null}')


class Status:
    """What is at the status URL."""

    def __init__(self) -> None:
        self.answer = Polled()
        self.asked: list[tuple[Run, str]] = []

    async def __call__(self, run: Run, url: str) -> Polled:
        self.asked.append((run, url))
        return self.answer


@pytest.fixture
async def target(clock: SettableClock, settings: Settings) -> AsyncIterator[CallbackNode]:
    opened = await CallbackNode.open(settings)
    yield opened
    await opened.node.stop()


@pytest.fixture
def status(target: CallbackNode) -> Status:
    status = Status()
    target.node.status_polls.ask_by(status)
    return status


async def accepted(target: CallbackNode) -> Run:
    await target.create()
    (run,) = await target.take()
    await target.accept_with_status(run, TARGET, URL)
    return run


async def look(target: CallbackNode) -> None:
    await target.node.step("poll targets")
    await target.settle_polls()


async def test_asks_at_the_given_interval_until_the_target_is_done(
    target: CallbackNode, clock: SettableClock, status: Status
) -> None:
    run = await accepted(target)
    await look(target)
    assert status.asked == []
    for times in (1, 2, 3):
        await later(clock, target.worker, 31 * SECOND)
        await look(target)
        await look(target)
        assert len(status.asked) == times
    asked, url = status.asked[0]
    assert ((asked.tenant, asked.at, asked.job, asked.attempt), url) == ((1, run.at, run.job, 1), URL)
    assert (await target.execution(run)).status is ExecutionStatus.RUNNING
    status.answer = DONE
    await later(clock, target.worker, 31 * SECOND)
    await look(target)
    execution = await target.execution(run)
    assert (execution.status, bytes(execution.result)) == (ExecutionStatus.COMPLETED, DONE.result)


async def test_waits_as_long_as_the_target_asks_for(
    target: CallbackNode, clock: SettableClock, status: Status
) -> None:
    await accepted(target)
    status.answer = Polled(wait=600.0)
    await later(clock, target.worker, 31 * SECOND)
    await look(target)
    await later(clock, target.worker, 590 * SECOND)
    await look(target)
    assert len(status.asked) == 1
    await later(clock, target.worker, 20 * SECOND)
    await look(target)
    assert len(status.asked) == 2


async def test_a_failure_goes_by_the_retry_policy(
    target: CallbackNode, clock: SettableClock, status: Status, connection: asyncpg.Connection
) -> None:
    run = await accepted(target)
    status.answer = Polled(AttemptOutcome.FAILED, failure=Failure("TargetFailed", "body.state is failed"))
    await later(clock, target.worker, 31 * SECOND)
    await look(target)
    (attempt,) = await target.attempts(run)
    assert (attempt.outcome, attempt.error.type) == (AttemptOutcome.FAILED, "TargetFailed")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.callback_wait") == 0
    await later(clock, target.worker, 31 * SECOND)
    (second,) = await target.take()
    assert second.attempt == 2


async def test_a_target_that_is_never_done_times_out(
    target: CallbackNode, clock: SettableClock, status: Status
) -> None:
    run = await accepted(target)
    await later(clock, target.worker, 3601 * SECOND)
    await look(target)
    assert status.asked == []
    await target.enforce()
    (attempt,) = await target.attempts(run)
    assert (attempt.outcome, attempt.error.type) == (AttemptOutcome.FAILED, "Timeout")


async def test_only_one_of_two_nodes_asks(
    target: CallbackNode, clock: SettableClock, status: Status, settings: Settings
) -> None:
    await accepted(target)
    other = await CallbackNode.open(settings)
    other.node.status_polls.ask_by(status)
    try:
        await later(clock, target.worker, 31 * SECOND)
        await look(target)
        await look(other)
        assert len(status.asked) == 1
    finally:
        await other.node.stop()


async def test_another_node_asks_after_the_one_that_asked_has_died(
    target: CallbackNode, clock: SettableClock, settings: Settings, connection: asyncpg.Connection
) -> None:
    async def die(run: Run, url: str) -> Polled:
        raise ConnectionResetError

    run = await accepted(target)
    target.node.status_polls.ask_by(die)
    await later(clock, target.worker, 31 * SECOND)
    await look(target)
    other = await CallbackNode.open(settings)
    status = Status()
    status.answer = DONE
    other.node.status_polls.ask_by(status)
    try:
        await look(other)
        assert status.asked == []
        await later(clock, other.worker, 121 * SECOND)
        await look(other)
        assert (await other.execution(run)).status is ExecutionStatus.COMPLETED
    finally:
        await other.node.stop()


async def test_nobody_asks_about_a_cancelled_execution(
    target: CallbackNode, clock: SettableClock, status: Status
) -> None:
    run = await accepted(target)
    await target.cancel(run)
    await target.node.step("end callbacks")
    await later(clock, target.worker, 31 * SECOND)
    await look(target)
    assert status.asked == []


async def test_an_answer_after_a_cancellation_changes_nothing(
    target: CallbackNode, clock: SettableClock, status: Status
) -> None:
    run = await accepted(target)
    await target.cancel(run)
    status.answer = DONE
    await later(clock, target.worker, 31 * SECOND)
    await look(target)
    assert (await target.execution(run)).status is ExecutionStatus.CANCELLED
