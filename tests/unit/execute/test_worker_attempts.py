"""The attempts that a worker has, and which of them it returns."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tickwork.execute.attempt_ending import Ending, unchanged
from tickwork.execute.attempt_state import Attempt, Handler
from tickwork.execute.clock import DatabaseClock
from tickwork.execute.lease_expiry import Lease
from tickwork.execute.worker_attempts import WorkerAttempts
from tickwork.model.execution import AttemptOutcome
from tickwork.model.worker_protocol import Outcomes, Run

SLOTS = 2
_DONE = Ending(AttemptOutcome.COMPLETED)


async def never_ends(_: Attempt) -> None:
    await asyncio.Event().wait()


async def ends_at_once(_: Attempt) -> None:
    pass


@pytest.fixture
async def attempts() -> AsyncIterator[WorkerAttempts]:
    elapsed = asyncio.get_running_loop().time
    clock, lease = DatabaseClock(elapsed), Lease()
    clock.learn(sent=elapsed(), database=1_000_000)
    lease.grant("token", sent=elapsed(), seconds=1_000)
    handlers = {
        "slow": Handler(never_ends, unchanged),
        "quick": Handler(ends_at_once, lambda _: _DONE),
    }
    nothing = lambda: None  # noqa: E731 (not used here)
    attempts = WorkerAttempts(
        SLOTS, handlers, clock, lease, report_ready=nothing, lease_expired=nothing, needs_restart=nothing
    )
    yield attempts
    await attempts.close()


def runs(task: str, count: int, first: int = 0) -> list[Run]:
    return [Run(1, 1_000, job, 1, task, b"{}", 60.0, 1_000) for job in range(first, first + count)]


async def until_started() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_attempts_that_wait_from_beat_to_beat_are_returned(attempts: WorkerAttempts) -> None:
    attempts.take(runs("slow", 100))
    await until_started()
    attempts.return_surplus()
    assert _returned(attempts) == []
    attempts.return_surplus()
    returned = _returned(attempts)
    assert returned == list(range(99, 2 * SLOTS - 1, -1))  # the last ones, not those that run or start next
    assert attempts.credit() == SLOTS


async def test_nothing_waits_for_long_where_nothing_starts(attempts: WorkerAttempts) -> None:
    attempts.take(runs("slow", 2 * SLOTS))
    await until_started()
    for _ in range(6):
        assert _returned(attempts) == []
        attempts.return_surplus()
    assert sorted(_returned(attempts)) == list(range(SLOTS, 2 * SLOTS))


async def test_attempts_that_start_soon_are_kept(attempts: WorkerAttempts) -> None:
    for batch in range(3):
        attempts.take(runs("quick", 100, first=100 * batch))
        attempts.return_surplus()
        await until_started()
        _returned(attempts)
    attempts.return_surplus()
    assert _returned(attempts) == []


def _returned(attempts: WorkerAttempts) -> list[int]:
    batches = [message for message in attempts.next_messages() if isinstance(message, Outcomes)]
    outcomes = [outcome for batch in batches for outcome in batch.items]
    return [outcome.job for outcome in outcomes if outcome.kind is AttemptOutcome.RETURNED]
