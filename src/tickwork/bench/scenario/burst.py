"""Very many due in the same second, while urgent jobs go on being due."""

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from tickwork.bench import scenario_options as base
from tickwork.bench.bench_cluster import HELD_EQUAL, Stage, stage
from tickwork.bench.lost_and_doubled import settle_accounts
from tickwork.bench.progress import Show
from tickwork.bench.recurring_jobs import PERIOD, end_pulse, start_burst, start_pulse, wait_for
from tickwork.bench.result import Curve, Figure
from tickwork.bench.scenario_options import Many

_GOAL = 3  # seconds
_URGENT_GOAL = 250  # ms, 99 of 100
_LOOK = 0.1
_URGENT_BEFORE = 5.0  # seconds of urgent jobs alone
_WITHIN = 600.0


class Plan(base.Plan, frozen=True, kw_only=True):
    jobs: Annotated[Many, Meta(description="How many are due in the same second.")] = 100_000
    big: Annotated[bool, Meta(description="Do it with a million, too.")] = False
    urgent: Annotated[Many, Meta(description="Urgent jobs due in each second.")] = 50
    slots: Annotated[Many, Meta(description="Slots of the worker.")] = 1000


QUICK = Plan(jobs=500, urgent=10)
_MILLION = 1_000_000


async def run(show: Show, plan: Plan) -> Figure:
    found = [await _measure(show, plan, jobs) for jobs in (plan.jobs, *([_MILLION] if plan.big else []))]
    lost, doubled = (sum(each[name] for each in found) for name in ("lost", "doubled"))
    started = {f"{each['jobs']:,} started": each.pop("started") for each in found}
    value = found[0]["last_start_s"]
    punctual = all(each["urgent"]["p99_ms"] <= _URGENT_GOAL for each in found)
    return Figure(
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


async def _measure(show: Show, plan: Plan, jobs: int) -> dict[str, Any]:
    async with stage() as on:
        await on.start(slots=plan.slots)
        burst = await start_burst(
            on, jobs, show.counter("schedules", jobs), task="bench.stamp", after=_URGENT_BEFORE + PERIOD
        )
        urgent = await start_pulse(
            on,
            plan.urgent,
            show.counter("urgent schedules", plan.urgent * PERIOD),
            task="bench.urgent",
            queue="urgent",
            priority="critical",
        )
        await on.database.execute("ANALYZE tickwork.job")
        await wait_for(burst)
        before = on.urgent.lateness()
        started = await _until_begun(on, burst.jobs, show)
        meanwhile = on.urgent.lateness().since(before)
        await end_pulse(on, burst, urgent)
        balance = await settle_accounts(on, await burst.due_times(on), show, "bench.stamp")
        late = on.ledgers.lateness()
        urgent_due, urgent_ran = sum(await urgent.due_times(on)), on.urgent.total()
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


async def _until_begun(on: Stage, jobs: int, show: Show) -> Curve:
    """How many had begun, moment by moment."""
    clock = asyncio.get_running_loop().time
    begun, seen = clock(), 0
    started = []
    async with asyncio.timeout(_WITHIN):
        while seen < jobs:
            await asyncio.sleep(_LOOK)
            seen = on.ledgers.total()
            started.append((round(clock() - begun, 2), float(seen)))
            show.update(f"{seen:,} of {jobs:,} have started")
    return started
