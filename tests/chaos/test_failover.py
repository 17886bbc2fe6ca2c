"""The database fails over under load: etcd, three Patroni nodes, HAProxy, four servers, two workers.

`make failover` runs the long form: TICKWORK_FAILOVER_SYNC and TICKWORK_FAILOVER_ASYNC are the numbers of faults. What
is found is in build/failover.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from random import Random

import asyncpg
import pytest

from support import failover_check, failover_report
from support.change_log import install_change_log
from support.chaos_check import ChaosCheck
from support.client_traffic import Traffic
from support.execution_history import unfinished
from support.failover_cluster import FailoverCluster
from support.failover_faults import ASYNCHRONOUS, SYNCHRONOUS, Strike
from support.failover_packages import why_not
from support.failover_probes import Pause, Probes, pause_around
from support.job_load import Standing
from support.waiting import eventually

ASKED_FOR = os.environ.get("TICKWORK_FAILOVER")  # "short" or "long"
LONG = ASKED_FOR == "long"
_SEED = 20261118
_LEAD = timedelta(seconds=2)
_STANDING = 30  # recurring jobs
_BETWEEN = 3.0  # seconds of ordinary work between two faults
_RESUMES_WITHIN = 60.0  # a bound for a busy machine, not a promise
_QUIET_WITHIN = 240.0
_SHORT = {"synchronous": ("switchover", "postgres killed"), "asynchronous": ("killed ahead of standbys",)}

pytestmark = [
    pytest.mark.skipif(
        ASKED_FOR is None, reason="failovers are tried by `make failover`, or TICKWORK_FAILOVER=short"
    ),
    pytest.mark.skipif(why_not() is not None, reason=f"no failover: {why_not()}"),
    pytest.mark.timeout(4 * 3600 if LONG else 600),
]


@pytest.fixture(params=["synchronous", "asynchronous"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def cluster(tmp_path: Path, mode: str) -> AsyncIterator[FailoverCluster]:
    cluster = FailoverCluster(tmp_path, synchronous=mode == "synchronous")
    try:
        await cluster.start()
        yield cluster
    finally:
        await cluster.stop()


@pytest.fixture
def write(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def say(words: str) -> None:
        with capsys.disabled() if LONG else nullcontext():
            print(f"{datetime.now(UTC):%H:%M:%S}  {words}", flush=True)  # noqa: T201

    return say


async def test_failovers_lose_nothing_that_was_promised_and_work_resumes(
    cluster: FailoverCluster, mode: str, write: Callable[[str], None]
) -> None:
    synchronous = mode == "synchronous"
    await _install_change_log(cluster)
    traffic = Traffic(cluster.cluster.urls, cluster.target_url, _SEED)
    begin = datetime.now(UTC).replace(microsecond=0) + _LEAD
    await traffic.begin(Standing(begin, _STANDING, cluster.target_url).requests, [])
    probes = Probes(cluster)
    probes.start()
    await asyncio.sleep(_BETWEEN)

    pauses = [
        await _strike(cluster, probes, name, strike, number, write)
        for number, (name, strike) in enumerate(_planned(mode), 1)
    ]

    await probes.stop()
    await traffic.end()
    connection = await _connect(cluster)
    await eventually(lambda: _all_ended(connection), within=_QUIET_WITHIN, what="the end of everything")
    after = await failover_check.look(connection, probes.accepted)
    check = await ChaosCheck.prepare(cluster, traffic, connection)
    await connection.close()
    runs = cluster.cluster.ledger.runs()
    findings = [
        *after.findings(synchronous=synchronous),
        *failover_check.begun_twice(runs),
        # Without synchronous replication, what workers did and what the tables say may differ.
        *(check.findings() if synchronous else []),
        *(f"{death.program} ended with {death.exit_code}" for death in cluster.surprises),
    ]
    figures = {
        "faults": len(pauses),
        "accepted_by_probes": len(probes.accepted),
        "vanished": len(after.vanished),
        "told_vanished": len(after.told),
        "failovers_noticed": after.noticed,
        "findings": findings,
        **check.figures(),
    }
    write("\n" + failover_report.publish(mode, pauses, figures))
    assert findings == []


def _planned(mode: str) -> Sequence[tuple[str, Strike]]:
    faults = SYNCHRONOUS if mode == "synchronous" else ASYNCHRONOUS
    if not LONG:
        return [(name, faults[name]) for name in _SHORT[mode]]
    variable, usual = ("SYNC", 100) if mode == "synchronous" else ("ASYNC", 50)
    count = int(os.environ.get(f"TICKWORK_FAILOVER_{variable}") or usual)
    return [*islice(cycle(faults.items()), count)]


async def _strike(
    cluster: FailoverCluster,
    probes: Probes,
    name: str,
    strike: Strike,
    number: int,
    write: Callable[[str], None],
) -> Pause:
    primary = await eventually(cluster.database.primary, within=_RESUMES_WITHIN, what="a primary")
    begun = time.time()
    await strike(cluster.database, primary, Random(_SEED + number))  # noqa: S311 (to be repeated)
    await cluster.database.all_follow()
    await asyncio.sleep(_BETWEEN)
    await eventually(
        lambda: all(times and times[-1] > time.time() - _BETWEEN for times in probes.jobs),
        within=_RESUMES_WITHIN,
        what="jobs taken by all servers",
    )
    cluster.measure()
    attempts = [run.begun_at / 1e6 for run in cluster.cluster.ledger.runs()]
    pause = pause_around(name, begun, time.time(), probes, cluster.kinds, attempts)
    slowest = max(pause.servers.values())
    write(f"fault {number}: {name}; no writes for {pause.database:.1f} s, servers {slowest:.1f} s later")
    return pause


async def _install_change_log(cluster: FailoverCluster) -> None:
    connection = await _connect(cluster)
    await install_change_log(connection)
    await connection.close()


async def _connect(cluster: FailoverCluster) -> asyncpg.Connection:
    primary = await eventually(cluster.database.primary, within=_RESUMES_WITHIN, what="a primary")
    return await asyncpg.connect(cluster.database.url_of(primary))


async def _all_ended(connection: asyncpg.Connection) -> bool:
    return await unfinished(connection) == 0
