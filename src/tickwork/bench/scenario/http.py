"""HTTP jobs per second against a target on this machine."""

from typing import Annotated

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.bench_cluster import ADDRESS_PHRASE, HELD_EQUAL, read_address, running_cluster
from tickwork.bench.measure_rate_cost_losses import count_lost_and_doubled, measure
from tickwork.bench.recurring_jobs import PERIOD, end_load, start_steady_load, wait_until_due
from tickwork.bench.scenario_types import Many, ProgressLine, ScenarioResult
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import HTTP_TASK

_GOAL = 3000


class Plan(base.Plan, frozen=True, kw_only=True):
    rate: Annotated[Many, Meta(description="How many are due in each second.")] = 4000
    servers: Annotated[Many, Meta(description="Server processes, which make the calls.")] = 1


QUICK = Plan(rate=50, warm_up=1, seconds=3)


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    async with running_cluster() as cluster:
        await cluster.start(servers=plan.servers, workers=0)
        target = await cluster.start_program("tickwork.bench.http_target")
        url = await read_address(target, ADDRESS_PHRASE)
        cluster.meter.watch("target", target.pid)
        load = await start_steady_load(
            cluster, plan.rate, progress.counter("schedules", plan.rate * PERIOD), http=HttpTarget(url)
        )
        await wait_until_due(load)
        await measure(cluster, progress, plan.warm_up, "warm-up")
        window = await measure(cluster, progress, plan.seconds)
        await end_load(cluster, load)
        balance = await count_lost_and_doubled(cluster, await load.due_times(cluster), progress, HTTP_TASK)
    return ScenarioResult(
        scenario="http",
        value=round(window.rate),
        unit="HTTP jobs/s",
        goal=_GOAL,
        met=window.rate >= _GOAL and not balance.lost and not balance.doubled,
        lost=balance.lost,
        doubled=balance.doubled,
        details={
            "offered_per_second": plan.rate,
            "servers": plan.servers,
            "cost": window.cost(),
            **balance.details(),
        },
        held_equal=f"{HELD_EQUAL}; every call signed, its address checked, the circuit breaker on",
        series={"executions a second": window.rates},
    )
