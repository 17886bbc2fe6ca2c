"""Everything at once: three servers, three workers, an HTTP target and PostgreSQL, broken again and again under load;
all of one release, or of this and the previous one.

The seed decides what is broken and in which order: TICKWORK_CHAOS_SEED.
TICKWORK_CHAOS_FAULTS is how many faults there are, and of which kinds: "40", "20, disk full, postgres
frozen"; with the word "alone", one at a time.
TICKWORK_PREVIOUS is the previous release: a folder with its code, or a commit.
"""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from support.change_log import install_change_log
from support.chaos_check import ChaosCheck
from support.chaos_cluster import ChaosCluster
from support.chaos_report import ChaosReport
from support.client_traffic import Traffic
from support.execution_history import unfinished
from support.fault_injector import FaultInjector, plan
from support.fault_registry import FAULTS
from support.fault_selection import selected_faults
from support.invariant.limit import most_at_once
from support.job_load import LIMIT, Standing
from support.release_tree import previous_release
from support.waiting import eventually

_FIXED_SEED = 20261115
_SHORT = (
    "server killed", "worker killed", "target killed", "worker told to stop", "postgres restarted at once",
    "sessions ended", "commit answers lost", "database cut off", "worker cut off", "server out of reach",
    "database read only", "api answers lost",
)  # fmt: skip
_CHANGES = ("server changes its release", "worker changes its release")
_SHORT_MIXED = (
    *_CHANGES,
    "server killed",
    "worker killed",
    "database cut off",
    *_CHANGES,
    "postgres restarted at once",
)
_LEAD = timedelta(seconds=2)
_WORKS_AGAIN_WITHIN = 300.0  # seconds; a bound for a busy machine, not a promise
_QUIET_WITHIN = 600.0


@pytest.fixture
async def chaos(tmp_path: Path) -> AsyncIterator[ChaosCluster]:
    chaos = ChaosCluster(tmp_path)
    try:
        await chaos.start()
        yield chaos
    finally:  # disks and networks outlive this process
        await chaos.stop()


@pytest.fixture
async def mixed(tmp_path: Path) -> AsyncIterator[ChaosCluster]:
    """Servers and workers of this and the previous release."""
    chaos = ChaosCluster(tmp_path, previous_release(tmp_path / "previous"))
    try:
        await chaos.start()
        yield chaos
    finally:
        await chaos.stop()


@pytest.fixture
def write(capsys: pytest.CaptureFixture[str], long: bool) -> Callable[[str], None]:
    """To whoever waits for the long form."""

    def say(words: str) -> None:
        with capsys.disabled() if long else nullcontext():
            print(words, flush=True)  # noqa: T201

    return say


async def test_nothing_is_lost_doubled_or_stuck_whatever_breaks(
    chaos: ChaosCluster, long: bool, write: Callable[[str], None]
) -> None:
    await _break_and_check(chaos, _SHORT, long, write)


async def test_two_releases_work_together_and_take_over_from_each_other(
    mixed: ChaosCluster, long: bool, write: Callable[[str], None]
) -> None:
    """Rolled forward and back, and killed meanwhile."""
    await _break_and_check(mixed, _SHORT_MIXED, long, write)


async def _break_and_check(
    chaos: ChaosCluster, short: Sequence[str], long: bool, write: Callable[[str], None]
) -> None:
    seed = int(os.environ.get("TICKWORK_CHAOS_SEED") or _FIXED_SEED)
    report = ChaosReport(chaos.cluster.ledger, seed, write)
    faults, kinds, alone = selected_faults(chaos, os.environ.get("TICKWORK_CHAOS_FAULTS", ""), report.say)
    if not long:
        faults, kinds = len(short), [FAULTS[kind] for kind in short]
    async with chaos.admin() as connection:
        await install_change_log(connection)
    begin = datetime.now(UTC).replace(microsecond=0) + _LEAD
    jobs = Standing(begin, 120 if long else 60, chaos.target_url).requests
    pausable = [{**job, "key": f"pausable-{job['key']}"} for job in jobs[:6]]
    traffic = Traffic(
        [f"http://127.0.0.1:{wire.port}" for wire in chaos.client_wires],
        chaos.target_url,
        seed,
        chaos.own_jobs,
    )
    await traffic.begin(jobs, pausable)

    injector = FaultInjector(chaos, report.say, alone=alone)
    pauses, longest = ((1.0, 3.0), 60.0) if long else ((0.5, 1.0), 2.0)
    planned = plan(seed, faults, kinds, pauses=pauses, longest=longest)

    async def rest() -> None:
        """Everything is healed: without any help it must work again."""
        await chaos.all_work()
        before = chaos.cluster.ledger.completed()
        await eventually(
            lambda: chaos.cluster.ledger.completed() > before, within=_WORKS_AGAIN_WITHIN, what="work again"
        )
        if long:
            await traffic.poison()

    await injector.strike(planned, rest)
    async with chaos.admin() as connection:
        healed = await connection.fetchval("SELECT max(number) FROM tickwork.observed")
    await traffic.fill_limit()
    await traffic.end()
    async with chaos.admin() as connection:
        await eventually(lambda: _all_ended(connection), within=_QUIET_WITHIN, what="the end of everything")
        check = await ChaosCheck.prepare(chaos, traffic, connection)
    findings = check.findings()
    report.publish(injector.injected, check, findings)
    assert findings == []
    assert most_at_once(check.observed, LIMIT["key"], after=healed) == LIMIT["max_running"]


async def _all_ended(connection: asyncpg.Connection) -> bool:
    return await unfinished(connection) == 0
