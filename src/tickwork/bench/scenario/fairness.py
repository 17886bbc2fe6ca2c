"""How late the jobs of one key begin while another key floods the same workers."""

import asyncio
from typing import Annotated

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.bench_cluster import HELD_EQUAL, BenchCluster, running_cluster
from tickwork.bench.measure_rate_cost_losses import count_lost_and_doubled
from tickwork.bench.recurring_jobs import PERIOD, end_load, start_burst, start_steady_load, wait_until_due
from tickwork.bench.run_ledger import Lateness
from tickwork.bench.scenario_types import Many, ProgressLine, ScenarioResult, curve
from tickwork.model.requires_limits_fair_share import FairShare

_GOAL = 2  # times as late as without the flood, 99 of 100
_TAKES = 0.05  # seconds


class Plan(base.Plan, frozen=True, kw_only=True):
    warm_up: Annotated[base.Seconds, Meta(description="How long to run before, in seconds.")] = 5.0
    seconds: Annotated[base.Seconds, Meta(description="How long to measure, each time.")] = 20.0
    quiet: Annotated[Many, Meta(description="Jobs of the quiet key due in each second.")] = 100
    flood: Annotated[Many, Meta(description="Jobs of the other key, due all at once.")] = 20_000
    slots: Annotated[Many, Meta(description="Slots of the worker.")] = 20


QUICK = Plan(quiet=5, flood=200, warm_up=1, seconds=2)


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    async with running_cluster() as cluster:
        await cluster.start(slots=plan.slots)
        wait = plan.warm_up + plan.seconds + PERIOD
        flood = await start_burst(
            cluster, plan.flood, progress.counter("flood", plan.flood), task="bench.linger",
            payload={"seconds": _TAKES}, fair_share=FairShare("flood"), after=wait,
        )  # fmt: skip
        quiet = await start_steady_load(
            cluster, plan.quiet, progress.counter("quiet", plan.quiet * PERIOD), task="bench.urgent",
            payload={"seconds": _TAKES}, fair_share=FairShare("quiet"),
        )  # fmt: skip
        await wait_until_due(quiet)
        await _pass(progress, plan.warm_up, "warm-up")
        alone = await _lateness(cluster, progress, plan.seconds, "without the flood")
        await wait_until_due(flood)
        beside = await _lateness(cluster, progress, plan.seconds, "during the flood")
        await end_load(cluster, flood, quiet)
        balance = await count_lost_and_doubled(
            cluster, await flood.due_times(cluster), progress, "bench.linger"
        )
        quiet_due, quiet_ran = sum(await quiet.due_times(cluster)), cluster.urgent.total()
    ratio = beside.milliseconds(0.99) / max(alone.milliseconds(0.99), 1.0)
    lost, doubled = max(quiet_due - quiet_ran, 0), max(quiet_ran - quiet_due, 0)
    return ScenarioResult(
        scenario="fairness",
        value=round(ratio, 2),
        unit="times as late as without the flood, for 99 of 100",
        goal=_GOAL,
        met=ratio <= _GOAL,
        lost=balance.lost + lost,
        doubled=balance.doubled + doubled,
        details={
            "without_the_flood": alone.summary(),
            "during_the_flood": beside.summary(),
            "flood": plan.flood,
            "quiet_per_second": plan.quiet,
            "each_takes_s": _TAKES,
            "slots": plan.slots,
        },
        held_equal=f"{HELD_EQUAL}; one worker for both keys, each job takes {_TAKES} s",
        series={
            f"{name}: % of the quiet key begun within so many ms": curve(lateness.milliseconds)
            for name, lateness in (("without the flood", alone), ("during the flood", beside))
        },
    )


async def _lateness(cluster: BenchCluster, progress: ProgressLine, seconds: float, what: str) -> Lateness:
    before = cluster.urgent.lateness()
    await _pass(progress, seconds, what)
    return cluster.urgent.lateness().since(before)


async def _pass(progress: ProgressLine, seconds: float, what: str) -> None:
    progress.say(f"{what}: {seconds:g} s")
    await asyncio.sleep(seconds)
