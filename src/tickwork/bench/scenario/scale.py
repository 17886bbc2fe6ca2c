"""From ten thousand schedules to ten million: start of a node, its memory, lateness."""

import asyncio
from itertools import takewhile
from typing import Annotated, Any

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.bench_cluster import HELD_EQUAL, BenchCluster, running_cluster
from tickwork.bench.recurring_jobs import PERIOD, add_idle_jobs, measure_spread_load
from tickwork.bench.resource_meter import resident
from tickwork.bench.scenario_types import Many, ProgressLine, ScenarioResult

_GOAL = 3  # seconds
_MEMORY_GOAL = 300  # MB
_SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
_WORSE = 2.0  # times the lateness of the smallest size, or ...
_UNNOTICED = 5.0  # ... milliseconds more: within what the machine itself varies


class Plan(base.Plan, frozen=True, kw_only=True):
    seconds: Annotated[float, Meta(description="How long to measure, at each size.", gt=0)] = 30.0
    up_to: Annotated[Many, Meta(description="The largest number of schedules.")] = 10_000_000
    rate: Annotated[Many, Meta(description="How many are due in each second.")] = 1000


QUICK = Plan(up_to=10_000, rate=50, warm_up=1, seconds=2)


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    sizes = list(takewhile(lambda size: size <= plan.up_to, _SIZES)) or [plan.up_to]
    found = {f"at_{size}": await _measure(progress, plan, size) for size in sizes}
    smallest, largest = found[f"at_{sizes[0]}"], found[f"at_{sizes[-1]}"]
    lost, doubled = (sum(each[name] for each in found.values()) for name in ("lost", "doubled"))
    flat = largest["p99_ms"] <= max(_WORSE * smallest["p99_ms"], smallest["p99_ms"] + _UNNOTICED)
    return ScenarioResult(
        scenario="scale",
        value=largest["ready_s"],
        unit=f"s until a node is ready among {sizes[-1]:,} schedules",
        goal=_GOAL,
        met=largest["ready_s"] <= _GOAL
        and largest["server_mb"] <= _MEMORY_GOAL
        and flat
        and not lost
        and not doubled,
        lost=lost,
        doubled=doubled,
        details={**found, "server_mb_goal": _MEMORY_GOAL, "lateness_flat": flat},
        held_equal=f"{HELD_EQUAL}; schedules copied inside the database, all of them active",
        series={
            name: [(float(size), float(found[f"at_{size}"][field])) for size in sizes]
            for name, field in (("s until ready", "ready_s"), ("MB", "server_mb"), ("p99 in ms", "p99_ms"))
        },
    )


async def _measure(progress: ProgressLine, plan: Plan, size: int) -> dict[str, Any]:
    progress.say(f"{size:,} schedules")
    clock = asyncio.get_running_loop().time
    async with running_cluster() as cluster:
        first = await cluster.start_server()
        await cluster.stop(await cluster.start_worker())
        begun = clock()
        active = min(plan.rate * PERIOD, size)
        await add_idle_jobs(cluster, size - active, progress.counter("schedules", size))
        await cluster.database.execute("ANALYZE tickwork.job")
        loaded = clock() - begun
        await cluster.stop(first)
        begun = clock()
        server = await cluster.start_server()
        ready = clock() - begun
        at_start = resident(server.pid)
        late = await _lateness(cluster, progress, plan)
        return {
            "load_s": round(loaded, 1),
            "loaded_per_second": round((size - active) / loaded),
            "ready_s": round(ready, 2),
            "server_mb_at_start": round(at_start / 1e6, 1),
            "server_mb": round(resident(server.pid) / 1e6, 1),
            **late,
        }


async def _lateness(cluster: BenchCluster, progress: ProgressLine, plan: Plan) -> dict[str, Any]:
    await cluster.start_worker()
    window, balance = await measure_spread_load(cluster, progress, plan, plan.rate)
    return {**window.lateness.summary(), "lost": balance.lost, "doubled": balance.doubled}
