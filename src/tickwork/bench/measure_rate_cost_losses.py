"""Measures a scenario: what ran in a stretch of time and what it cost, and what was lost or ran twice."""

import asyncio
from array import array
from collections.abc import Mapping
from typing import NamedTuple

from tickwork.bench.bench_cluster import BenchCluster
from tickwork.bench.run_ledger import Lateness
from tickwork.bench.scenario_types import Curve, ProgressLine

_SAMPLE_INTERVAL = 1.0  # seconds
_COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
_WAL = "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint"


class Window(NamedTuple):
    seconds: float
    executions: int
    processor: dict[str, float]  # seconds of each part
    wal_bytes: int
    transactions: int
    lateness: Lateness
    rates: Curve

    @property
    def rate(self) -> float:
        return self.executions / self.seconds

    def cost(self) -> dict[str, float]:
        """Per execution."""
        executions = self.executions or 1
        return {
            **micros_each(self.processor, executions),
            "wal_bytes": round(self.wal_bytes / executions, 1),
            "transactions": round(self.transactions / executions, 5),
        }


def micros_each(processor: Mapping[str, float], executions: int) -> dict[str, float]:
    """Microseconds of processor time of each part for one execution, and of all."""
    micros = {f"{part}_us": round(used / executions * 1e6, 2) for part, used in processor.items()}
    return {**micros, "all_us": round(sum(micros.values()), 2)}


async def transactions(cluster: BenchCluster) -> int:
    """The number of transactions committed so far."""
    committed: int = await cluster.database.fetchval(_COMMITS)
    return committed


async def measure(
    cluster: BenchCluster, progress: ProgressLine, seconds: float, what: str = "measuring"
) -> Window:
    clock = asyncio.get_running_loop().time
    wal, committed = await cluster.database.fetchval(_WAL), await transactions(cluster)
    late, used = cluster.ledgers.lateness(), cluster.meter.seconds()
    begun, ran = clock(), cluster.ledgers.total()
    rates, before = [], ran
    while clock() - begun < seconds:
        await asyncio.sleep(min(_SAMPLE_INTERVAL, max(begun + seconds - clock(), 0)))
        now = cluster.ledgers.total()
        rates.append((round(clock() - begun, 2), float(now - before)))
        progress.update(f"{what}: {now - before:,} executions in the last second")
        before = now
    lasted = clock() - begun
    return Window(
        lasted,
        before - ran,
        {part: now - used.get(part, 0.0) for part, now in cluster.meter.seconds().items()},
        await cluster.database.fetchval(_WAL) - wal,
        await transactions(cluster) - committed,
        cluster.ledgers.lateness().since(late),
        rates,
    )


_POLL_INTERVAL = 0.2
_ENDED_WITHIN = 300.0
_HAS_UNFINISHED = """
SELECT EXISTS (SELECT FROM tickwork.lease) OR EXISTS (SELECT FROM tickwork.execution WHERE ready_at IS NOT NULL)
"""
_HISTORY = """
SELECT (convert_from(j.payload, 'UTF8')::jsonb ->> 'n')::int AS n, e.completed, e.skipped
FROM (SELECT job_id, count(*) FILTER (WHERE status = 'completed') AS completed,
          count(*) FILTER (WHERE status = 'skipped') AS skipped
      FROM tickwork.execution GROUP BY job_id) AS e
JOIN tickwork.job j ON j.id = e.job_id AND j.task = ANY($1)
"""
_MISSED = "SELECT coalesce(sum(missed), 0)::bigint FROM tickwork.round"


class LostAndDoubled(NamedTuple):
    due: int
    ran: int
    lost: int  # due and not run, or run and not recorded as completed
    doubled: int  # run more often than due
    skipped: int  # the previous execution had not ended
    missed: int  # due times that the catch-up policy passed over

    def details(self) -> dict[str, int]:
        return {"due": self.due, "ran": self.ran, "skipped": self.skipped, "missed_due_times": self.missed}


async def count_lost_and_doubled(
    cluster: BenchCluster, due: "array[int]", progress: ProgressLine, *tasks: str
) -> LostAndDoubled:
    """Waits until everything has ended. `due` is how often each job was due, by its number."""
    await wait_until_ended(cluster, progress)
    progress.say("comparing what was due with what ran and what is recorded")
    ran = cluster.ledgers.counts(len(due))
    completed, skipped = array("I", bytes(4 * len(due))), array("I", bytes(4 * len(due)))
    for number, done, passed in await cluster.database.fetch(_HISTORY, list(tasks), timeout=600):
        completed[number], skipped[number] = done, passed
    return compare_counts(due, ran, completed, skipped)._replace(
        missed=await cluster.database.fetchval(_MISSED)
    )


def compare_counts(
    due: "array[int]", ran: "array[int]", completed: "array[int]", skipped: "array[int]"
) -> LostAndDoubled:
    lost = doubled = 0
    for times, runs, records, passed in zip(due, ran, completed, skipped, strict=True):
        lost += max(times - passed - runs, runs - records, 0)
        doubled += max(runs - (times - passed), 0)
    return LostAndDoubled(sum(due), sum(ran), lost, doubled, sum(skipped), 0)


async def wait_until_ended(cluster: BenchCluster, progress: ProgressLine) -> None:
    async with asyncio.timeout(_ENDED_WITHIN):
        while await cluster.database.fetchval(_HAS_UNFINISHED):
            progress.update(f"waiting for the rest: {cluster.ledgers.total():,} executions so far")
            await asyncio.sleep(_POLL_INTERVAL)
