"""Processor time, WAL and transactions of an execution, and whether tables stay bounded."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.bench_cluster import HELD_EQUAL, BenchCluster, running_cluster
from tickwork.bench.measure_rate_cost_losses import Window, count_lost_and_doubled, measure
from tickwork.bench.recurring_jobs import PERIOD, end_load, start_steady_load, wait_until_due
from tickwork.bench.scenario_types import Many, ProgressLine, ScenarioResult, Series

_GOAL = 30  # µs
_WAL_GOAL = 600  # bytes
_BETWEEN_SAMPLES = 5.0
_SIZES = """
SELECT sum(pg_total_relation_size(relid)) FILTER (WHERE relname ~ '^execution_')::bigint AS history_bytes,
    sum(pg_total_relation_size(relid)) FILTER (WHERE relname !~ '^(execution|attempt|log)_')::bigint AS other_bytes,
    sum(n_dead_tup)::bigint AS dead_rows,
    sum(n_tup_upd)::bigint AS updates, sum(n_tup_hot_upd)::bigint AS hot_updates
FROM pg_stat_user_tables WHERE schemaname = 'tickwork'
"""


class Plan(base.Plan, frozen=True, kw_only=True):
    rate: Annotated[Many, Meta(description="How many are due in each second.")] = 50_000
    servers: Annotated[Many, Meta(description="Server processes.")] = 1
    workers: Annotated[Many, Meta(description="Worker processes.")] = 1


QUICK = Plan(rate=200, warm_up=1, seconds=3)
Sizes = dict[str, Any]
Samples = list[tuple[float, Sizes]]


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    async with running_cluster() as cluster:
        await cluster.start(servers=plan.servers, workers=plan.workers)
        load = await start_steady_load(
            cluster, plan.rate, progress.counter("schedules", plan.rate * PERIOD), task="bench.count"
        )
        await wait_until_due(load)
        await measure(cluster, progress, plan.warm_up, "warm-up")
        async with _sampling(cluster) as samples:
            window = await measure(cluster, progress, plan.seconds)
        await end_load(cluster, load)
        balance = await count_lost_and_doubled(
            cluster, await load.due_times(cluster), progress, "bench.count"
        )
    cost = window.cost()
    within = cost["all_us"] <= _GOAL and cost["wal_bytes"] <= _WAL_GOAL
    return ScenarioResult(
        scenario="cost",
        value=cost["all_us"],
        unit="µs of processor time per execution",
        goal=_GOAL,
        met=within and not balance.lost and not balance.doubled,
        lost=balance.lost,
        doubled=balance.doubled,
        details={
            "offered_per_second": plan.rate,
            "executions_per_second": round(window.rate),
            **cost,
            "wal_bytes_goal": _WAL_GOAL,
            "tables": _growth(window, samples),
            **balance.details(),
        },
        held_equal=HELD_EQUAL,
        series=_series(window, samples),
    )


@asynccontextmanager
async def _sampling(cluster: BenchCluster) -> AsyncIterator[Samples]:
    """Samples the sizes at the beginning, at intervals, and at the end."""
    samples: Samples = []
    clock = asyncio.get_running_loop().time
    begun = clock()
    database = await cluster.connect()

    async def sample() -> None:
        samples.append((round(clock() - begun, 1), dict(await database.fetchrow(_SIZES) or {})))

    async def go_on() -> None:
        while True:
            await asyncio.sleep(_BETWEEN_SAMPLES)
            await sample()

    await sample()
    going = asyncio.create_task(go_on())
    try:
        yield samples
    finally:
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)
    await sample()


def _growth(window: Window, samples: Samples) -> dict[str, float]:
    first, last = samples[0][1], samples[-1][1]
    updates = last["updates"] - first["updates"]
    return {
        "history_bytes_per_execution": round(
            (last["history_bytes"] - first["history_bytes"]) / (window.executions or 1), 1
        ),
        "other_bytes_grown": last["other_bytes"] - first["other_bytes"],
        "dead_rows_most": max(sizes["dead_rows"] for _, sizes in samples),
        "dead_rows_at_end": last["dead_rows"],
        "hot_updates_share": round((last["hot_updates"] - first["hot_updates"]) / (updates or 1), 4),
    }


def _series(window: Window, samples: Samples) -> Series:
    return {
        "executions a second": window.rates,
        "dead rows": [(at, float(sizes["dead_rows"])) for at, sizes in samples],
        "history in MB": [(at, sizes["history_bytes"] / 1e6) for at, sizes in samples],
        "all other tables in MB": [(at, sizes["other_bytes"] / 1e6) for at, sizes in samples],
    }
