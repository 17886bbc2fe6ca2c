"""What a worker holds, and what it hands back."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tickwork.execute.attempt import Attempt, Handler
from tickwork.execute.attempt_ending import Ending, unchanged
from tickwork.execute.clock import DatabaseClock
from tickwork.execute.held_attempts import HeldAttempts
from tickwork.execute.lease import Lease
from tickwork.model.execution import AttemptOutcome
from tickwork.model.worker_protocol import Outcomes, Run

SLOTS = 2
_DONE = Ending(AttemptOutcome.COMPLETED)


async def never_ends(_: Attempt) -> None:
    await asyncio.Event().wait()


async def ends_at_once(_: Attempt) -> None:
    pass


@pytest.fixture
async def held() -> AsyncIterator[HeldAttempts]:
    elapsed = asyncio.get_running_loop().time
    clock, lease = DatabaseClock(elapsed), Lease()
    clock.learn(sent=elapsed(), database=1_000_000)
    lease.grant("token", sent=elapsed(), seconds=1_000)
    handlers = {
        "slow": Handler(never_ends, unchanged),
        "quick": Handler(ends_at_once, lambda _: _DONE),
    }
    nothing = lambda: None  # noqa: E731 (nobody listens)
    held = HeldAttempts(
        SLOTS, handlers, clock, lease, outcome_ready=nothing, lease_expired=nothing, needs_restart=nothing
    )
    yield held
    await held.close()


def runs(task: str, count: int, first: int = 0) -> list[Run]:
    return [Run(1, 1_000, job, 1, task, b"{}", 60.0, 1_000) for job in range(first, first + count)]


async def until_begun() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_attempts_that_wait_from_beat_to_beat_are_returned(held: HeldAttempts) -> None:
    held.take(runs("slow", 100))
    await until_begun()
    held.return_surplus()
    assert _returned(held) == []
    held.return_surplus()
    returned = _returned(held)
    assert returned == list(
        range(99, 2 * SLOTS - 1, -1)
    )  # those that came last, and not those that run or are next
    assert held.credit() == SLOTS


async def test_attempts_that_start_soon_are_kept(held: HeldAttempts) -> None:
    for turn in range(3):
        held.take(runs("quick", 100, first=100 * turn))
        held.return_surplus()
        await until_begun()
        _returned(held)
    held.return_surplus()
    assert _returned(held) == []


def _returned(held: HeldAttempts) -> list[int]:
    outcomes = [
        item for message in held.next_messages() if isinstance(message, Outcomes) for item in message.items
    ]
    return [outcome.job for outcome in outcomes if outcome.kind is AttemptOutcome.RETURNED]
