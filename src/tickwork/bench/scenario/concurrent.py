"""Very many executions at once: tasks that sleep, on four workers."""

import asyncio
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from tickwork.bench import scenario_options as base
from tickwork.bench.bench_cluster import HELD_EQUAL, Stage, stage
from tickwork.bench.lost_and_doubled import settle_accounts
from tickwork.bench.measured_window import transactions
from tickwork.bench.progress import Show
from tickwork.bench.recurring_jobs import end_pulse, start_burst, wait_for
from tickwork.bench.result import Curve, Figure
from tickwork.bench.scenario_options import Many, Seconds

_GOAL = 10  # seconds
_MEMORY_GOAL = 3e9
_LOOK = 0.1
_STILL = 5.0  # seconds in which only heartbeats happen
_WITHIN = 300.0


class Plan(base.Plan, frozen=True, kw_only=True):
    jobs: Annotated[Many, Meta(description="How many execute at once.")] = 100_000
    workers: Annotated[Many, Meta(description="Worker processes, which share them.")] = 4
    sleep: Annotated[Seconds, Meta(description="How long each sleeps, in seconds.")] = 40.0


QUICK = Plan(jobs=200, workers=2, sleep=8)


async def run(show: Show, plan: Plan) -> Figure:
    async with stage() as on:
        await on.start(workers=plan.workers, slots=-(-plan.jobs // plan.workers))
        pulse = await start_burst(
            on,
            plan.jobs,
            show.counter("schedules", plan.jobs),
            task="bench.linger",
            payload={"seconds": plan.sleep},
        )
        await wait_for(pulse)
        started = await _until(show, pulse.jobs, on.ledgers.total, "started")
        running = on.ledgers.total() - on.ledgers.ended()
        heartbeats = await _transactions_while_still(on)
        memory = on.meter.memory()
        await _until(show, pulse.jobs, on.ledgers.ended, "ended")
        await end_pulse(on, pulse)
        balance = await settle_accounts(on, await pulse.due_times(on), show, "bench.linger")
        last = on.ledgers.lateness().milliseconds(1.0) / 1000
    in_all = sum(memory.values())
    return Figure(
        scenario="concurrent",
        value=round(last, 2),
        unit=f"s until all {plan.jobs:,} had started",
        goal=_GOAL,
        met=last <= _GOAL
        and in_all <= _MEMORY_GOAL
        and running == pulse.jobs
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


async def _until(show: Show, jobs: int, count: Callable[[], int], what: str) -> Curve:
    """How many had come so far, moment by moment, until all have."""
    clock = asyncio.get_running_loop().time
    begun = clock()
    seen: Curve = []
    async with asyncio.timeout(_WITHIN):
        while (now := count()) < jobs:
            seen.append((round(clock() - begun, 2), float(now)))
            show.update(f"{now:,} of {jobs:,} have {what}")
            await asyncio.sleep(_LOOK)
    return [*seen, (round(clock() - begun, 2), float(jobs))]


async def _transactions_while_still(on: Stage) -> float:
    """What renewing all leases takes, and whatever else a server does when there is nothing to do."""
    await asyncio.sleep(1)  # outcomes of starting are written by then
    before = await transactions(on)
    await asyncio.sleep(_STILL)
    return round((await transactions(on) - before) / _STILL, 1)
