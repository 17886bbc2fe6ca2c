"""Very many due in the same second, while urgent jobs go on being due."""

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.bench_cluster import HELD_EQUAL, BenchCluster, running_cluster
from tickwork.bench.measure_rate_cost_losses import count_lost_and_doubled
from tickwork.bench.recurring_jobs import PERIOD, end_load, start_burst, start_steady_load, wait_until_due
from tickwork.bench.scenario_types import Curve, Many, ProgressLine, ScenarioResult

_GOAL = 3  # seconds
_URGENT_GOAL = 250  # ms, 99 of 100
_POLL_INTERVAL = 0.1
_URGENT_BEFORE = 5.0  # seconds of urgent jobs alone
_TIMEOUT = 600.0


class Plan(base.Plan, frozen=True, kw_only=True):
    jobs: Annotated[Many, Meta(description="How many are due in the same second.")] = 100_000
    big: Annotated[bool, Meta(description="Do it with a million, too.")] = False
    urgent: Annotated[Many, Meta(description="Urgent jobs due in each second.")] = 50
    slots: Annotated[Many, Meta(description="Slots of the worker.")] = 1000


QUICK = Plan(jobs=500, urgent=10)
_MILLION = 1_000_000


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    found = [await _measure(progress, plan, jobs) for jobs in (plan.jobs, *([_MILLION] if plan.big else []))]
    lost, doubled = (sum(each[name] for each in found) for name in ("lost", "doubled"))
    started = {f"{each['jobs']:,} started": each.pop("started") for each in found}
    value = found[0]["last_start_s"]
    punctual = all(each["urgent"]["p99_ms"] <= _URGENT_GOAL for each in found)
    return ScenarioResult(
        scenario="burst",
        value=value,
        unit=f"s until the last of {plan.jobs:,} had started",
        goal=_GOAL,
        met=value <= _GOAL and punctual and not lost and not doubled,
        lost=lost,
        doubled=doubled,
        details={f"of_{each.pop('jobs')}": each for each in found} | {"urgent_p99_ms_goal": _URGENT_GOAL},
        held_equal=f"{HELD_EQUAL}; one worker for the burst and the urgent jobs",
        series=started,
    )


async def _measure(progress: ProgressLine, plan: Plan, jobs: int) -> dict[str, Any]:
    async with running_cluster() as cluster:
        await cluster.start(slots=plan.slots)
        burst = await start_burst(
            cluster,
            jobs,
            progress.counter("schedules", jobs),
            task="bench.stamp",
            after=_URGENT_BEFORE + PERIOD,
        )
        urgent = await start_steady_load(
            cluster,
            plan.urgent,
            progress.counter("urgent schedules", plan.urgent * PERIOD),
            task="bench.urgent",
            queue="urgent",
            priority="critical",
        )
        await cluster.database.execute("ANALYZE tickwork.job")
        await wait_until_due(burst)
        before = cluster.urgent.lateness()
        started = await _until_begun(cluster, burst.jobs, progress)
        meanwhile = cluster.urgent.lateness().since(before)
        await end_load(cluster, burst, urgent)
        balance = await count_lost_and_doubled(
            cluster, await burst.due_times(cluster), progress, "bench.stamp"
        )
        late = cluster.ledgers.lateness()
        urgent_due, urgent_ran = sum(await urgent.due_times(cluster)), cluster.urgent.total()
    last = late.milliseconds(1.0) / 1000
    return {
        "jobs": jobs,
        "last_start_s": round(last, 3),
        "starts_per_second": round(balance.ran / last) if last else 0,
        "lateness": late.summary(),
        "urgent": meanwhile.summary() | {"due": urgent_due, "ran": urgent_ran},
        "lost": balance.lost + max(urgent_due - urgent_ran, 0),
        "doubled": balance.doubled + max(urgent_ran - urgent_due, 0),
        "skipped": balance.skipped,
        "started": started,
    }


async def _until_begun(cluster: BenchCluster, jobs: int, progress: ProgressLine) -> Curve:
    """How many had begun, over time."""
    clock = asyncio.get_running_loop().time
    begun, seen = clock(), 0
    started = []
    async with asyncio.timeout(_TIMEOUT):
        while seen < jobs:
            await asyncio.sleep(_POLL_INTERVAL)
            seen = cluster.ledgers.total()
            started.append((round(clock() - begun, 2), float(seen)))
            progress.update(f"{seen:,} of {jobs:,} have started")
    return started
