"""How long after their due times executions begin, at three rates."""

from typing import Annotated, Any

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.bench_cluster import HELD_EQUAL, running_cluster
from tickwork.bench.recurring_jobs import measure_spread_load
from tickwork.bench.run_ledger import Lateness
from tickwork.bench.scenario_types import Many, ProgressLine, ScenarioResult, Series, curve

_GOAL = 50  # ms, 99 of 100
_MEDIAN_GOAL = 5  # ms


class Plan(base.Plan, frozen=True, kw_only=True):
    low: Annotated[Many, Meta(description="The first rate, in executions per second.")] = 100
    high: Annotated[Many, Meta(description="The second rate, which the goal is for.")] = 10_000
    maximum: Annotated[
        Many,
        Meta(description="The highest throughput of spread due times; the third rate is 80 % of it."),
    ] = 30_000
    slots: Annotated[Many, Meta(description="Slots of the worker.")] = 1000


QUICK = Plan(low=20, high=100, maximum=250, warm_up=1, seconds=2)


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    found: dict[str, dict[str, Any]] = {}
    series: Series = {}
    for rate in (plan.low, plan.high, plan.maximum * 8 // 10):
        progress.say(f"{rate:,} a second")
        found[f"at_{rate}"], late = await _measure(progress, plan, rate)
        series[f"{rate:,} a second: % begun within so many ms"] = curve(late.milliseconds)
    judged = [found[f"at_{rate}"] for rate in (plan.low, plan.high)]
    return ScenarioResult(
        scenario="lateness",
        value=judged[1]["p99_ms"],
        unit=f"ms late at most for 99 of 100, at {plan.high:,} a second",
        goal=_GOAL,
        met=all(lateness["p50_ms"] <= _MEDIAN_GOAL and lateness["p99_ms"] <= _GOAL for lateness in judged)
        and not any(
            lateness["early"] or lateness["lost"] or lateness["doubled"] for lateness in found.values()
        ),
        lost=sum(lateness["lost"] for lateness in found.values()),
        doubled=sum(lateness["doubled"] for lateness in found.values()),
        details={**found, "p50_ms_goal": _MEDIAN_GOAL, "p99_ms_goal": _GOAL},
        held_equal=f"{HELD_EQUAL}; due times spread over the second by jitter; the wall clock of the one machine",
        series=series,
    )


async def _measure(progress: ProgressLine, plan: Plan, rate: int) -> tuple[dict[str, Any], Lateness]:
    async with running_cluster() as cluster:
        await cluster.start(slots=plan.slots)
        window, balance = await measure_spread_load(cluster, progress, plan, rate)
        early = cluster.ledgers.lateness().early
    found = {
        **window.lateness.summary(),
        "early": early,
        "executions_per_second": round(window.rate),
        "lost": balance.lost,
        "doubled": balance.doubled,
        **balance.details(),
    }
    return found, window.lateness
