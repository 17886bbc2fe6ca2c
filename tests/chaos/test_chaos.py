"""Everything at once: three servers, three workers, an HTTP target and PostgreSQL, broken again and again under load.

The seed decides what is broken and in which order: TICKWORK_CHAOS_SEED, TICKWORK_CHAOS_FAULTS.
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from support import observer
from support.arena import Arena
from support.fault import FAULTS
from support.history import unfinished
from support.invariant.limit import most_at_once
from support.load import LIMIT, Standing
from support.nemesis import Nemesis, plan
from support.score import Score
from support.traffic import Traffic
from support.trial import Trial
from support.waiting import eventually

_FIXED_SEED = 20261115
_SHORT = (
    "server killed", "worker killed", "target killed", "worker told to stop", "postgres restarted at once",
    "sessions ended", "commit answers lost", "database cut off", "worker cut off", "server out of reach",
    "database read only", "api answers lost",
)  # fmt: skip
_LEAD = timedelta(seconds=2)
_WORKS_AGAIN_WITHIN = 120.0  # seconds; a bound for a busy machine, not a promise
_QUIET_WITHIN = 240.0


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    arena = Arena(tmp_path)
    await arena.start()
    yield arena
    await arena.stop()


@pytest.fixture
def write(capsys: pytest.CaptureFixture[str], long: bool) -> Callable[[str], None]:
    """To whoever waits for the long form."""

    def say(words: str) -> None:
        with capsys.disabled() if long else nullcontext():
            print(words, flush=True)  # noqa: T201

    return say


async def test_nothing_is_lost_doubled_or_stuck_whatever_breaks(
    arena: Arena, long: bool, write: Callable[[str], None]
) -> None:
    seed = int(os.environ.get("TICKWORK_CHAOS_SEED") or _FIXED_SEED)
    faults = int(os.environ.get("TICKWORK_CHAOS_FAULTS") or (300 if long else len(_SHORT)))
    kinds = [fault for kind, fault in FAULTS.items() if (long or kind in _SHORT) and _possible(arena, kind)]
    score = Score(arena.cluster.ledger, seed, write)
    async with arena.admin() as connection:
        await observer.install(connection)
    begin = datetime.now(UTC).replace(microsecond=0) + _LEAD
    jobs = Standing(begin, 120 if long else 60, arena.target_url).requests
    pausable = [{**job, "key": f"pausable-{job['key']}"} for job in jobs[:6]]
    traffic = Traffic(
        [f"http://127.0.0.1:{wire.port}" for wire in arena.client_wires], arena.target_url, seed
    )
    await traffic.begin(jobs, pausable)

    nemesis = Nemesis(arena, score.say)
    pauses, longest = ((1.0, 3.0), 60.0) if long else ((0.5, 1.0), 2.0)
    planned = plan(seed, faults, kinds, pauses=pauses, longest=longest)

    async def rest() -> None:
        """Everything is healed: without any help it must work again."""
        await arena.all_work()
        before = arena.cluster.ledger.completed()
        await eventually(
            lambda: arena.cluster.ledger.completed() > before, within=_WORKS_AGAIN_WITHIN, what="work again"
        )
        if long:
            await traffic.poison()

    await nemesis.strike(planned, rest)
    async with arena.admin() as connection:
        healed = await connection.fetchval("SELECT max(number) FROM tickwork.observed")
    await traffic.fill_limit()
    await traffic.end()
    async with arena.admin() as connection:
        await eventually(lambda: _all_ended(connection), within=_QUIET_WITHIN, what="the end of everything")
        trial = await Trial.prepare(arena, traffic, connection)
    findings = trial.findings()
    score.publish(nemesis.injected, trial, findings)
    assert findings == []
    assert most_at_once(trial.evidence, LIMIT["key"], after=healed) == LIMIT["max_running"]


def _possible(arena: Arena, kind: str) -> bool:
    return arena.clocks_can_be_set or not kind.startswith("clock of")


async def _all_ended(connection: asyncpg.Connection) -> bool:
    return await unfinished(connection) == 0
