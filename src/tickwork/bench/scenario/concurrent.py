"""Very many executions at once: tasks that sleep, on four workers."""

import asyncio
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.bench_cluster import HELD_EQUAL, BenchCluster, running_cluster
from tickwork.bench.measure_rate_cost_losses import count_lost_and_doubled, transactions
from tickwork.bench.recurring_jobs import end_load, start_burst, wait_until_due
from tickwork.bench.scenario_types import Curve, Many, ProgressLine, ScenarioResult, Seconds

_GOAL = 10  # seconds
_MEMORY_GOAL = 3e9
_POLL_INTERVAL = 0.1
_STILL = 5.0  # seconds in which only heartbeats happen
_TIMEOUT = 300.0


class Plan(base.Plan, frozen=True, kw_only=True):
    jobs: Annotated[Many, Meta(description="How many execute at once.")] = 100_000
    workers: Annotated[Many, Meta(description="Worker processes, which share them.")] = 4
    sleep: Annotated[Seconds, Meta(description="How long each sleeps, in seconds.")] = 40.0


QUICK = Plan(jobs=200, workers=2, sleep=8)


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    async with running_cluster() as cluster:
        await cluster.start(workers=plan.workers, slots=-(-plan.jobs // plan.workers))
        load = await start_burst(
            cluster,
            plan.jobs,
            progress.counter("schedules", plan.jobs),
            task="bench.linger",
            payload={"seconds": plan.sleep},
        )
        await wait_until_due(load)
        started = await _until(progress, load.jobs, cluster.ledgers.total, "started")
        running = cluster.ledgers.total() - cluster.ledgers.ended()
        heartbeats = await _transactions_while_still(cluster)
        memory = cluster.meter.memory()
        await _until(progress, load.jobs, cluster.ledgers.ended, "ended")
        await end_load(cluster, load)
        balance = await count_lost_and_doubled(
            cluster, await load.due_times(cluster), progress, "bench.linger"
        )
        last = cluster.ledgers.lateness().milliseconds(1.0) / 1000
    in_all = sum(memory.values())
    return ScenarioResult(
        scenario="concurrent",
        value=round(last, 2),
        unit=f"s until all {plan.jobs:,} had started",
        goal=_GOAL,
        met=last <= _GOAL
        and in_all <= _MEMORY_GOAL
        and running == load.jobs
        and not balance.lost
        and not balance.doubled,
        lost=balance.lost,
        doubled=balance.doubled,
        details={
            "executing_at_once": running,
            "workers": plan.workers,
            "memory_mb": {part: round(used / 1e6) for part, used in memory.items()},
            "memory_mb_in_all": round(in_all / 1e6),
            "memory_mb_goal": _MEMORY_GOAL / 1e6,
            "transactions_per_second_while_all_sleep": heartbeats,
            **balance.details(),
        },
        held_equal=HELD_EQUAL,
        series={"started": started},
    )


async def _until(progress: ProgressLine, jobs: int, count: Callable[[], int], what: str) -> Curve:
    """The count over time, until it reaches `jobs`."""
    clock = asyncio.get_running_loop().time
    begun = clock()
    seen: Curve = []
    async with asyncio.timeout(_TIMEOUT):
        while (now := count()) < jobs:
            seen.append((round(clock() - begun, 2), float(now)))
            progress.update(f"{now:,} of {jobs:,} have {what}")
            await asyncio.sleep(_POLL_INTERVAL)
    return [*seen, (round(clock() - begun, 2), float(jobs))]


async def _transactions_while_still(cluster: BenchCluster) -> float:
    """Transactions of the heartbeats, and of a server that has nothing else to do."""
    await asyncio.sleep(1)  # by then, all starts are written
    before = await transactions(cluster)
    await asyncio.sleep(_STILL)
    return round((await transactions(cluster) - before) / _STILL, 1)
