"""HTTP jobs per second against a target on this machine."""

from typing import Annotated

from msgspec import Meta

from tickwork.bench import scenario_options as base
from tickwork.bench.bench_cluster import ANSWERS, HELD_EQUAL, said, stage
from tickwork.bench.lost_and_doubled import settle_accounts
from tickwork.bench.measured_window import watch
from tickwork.bench.progress import Show
from tickwork.bench.recurring_jobs import PERIOD, end_pulse, start_pulse, wait_for
from tickwork.bench.result import Figure
from tickwork.bench.scenario_options import Many
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import HTTP_TASK

_GOAL = 3000


class Plan(base.Plan, frozen=True, kw_only=True):
    rate: Annotated[Many, Meta(description="How many are due in each second.")] = 4000
    servers: Annotated[Many, Meta(description="Server processes, which make the calls.")] = 1


QUICK = Plan(rate=50, warm_up=1, seconds=3)


async def run(show: Show, plan: Plan) -> Figure:
    async with stage() as on:
        await on.start(servers=plan.servers, workers=0)
        target = await on.start_program("tickwork.bench.http_target")
        url = await said(target, ANSWERS)
        on.meter.watch("target", target.pid)
        pulse = await start_pulse(
            on, plan.rate, show.counter("schedules", plan.rate * PERIOD), http=HttpTarget(url)
        )
        await wait_for(pulse)
        await watch(on, show, plan.warm_up, "warm-up")
        window = await watch(on, show, plan.seconds)
        await end_pulse(on, pulse)
        balance = await settle_accounts(on, await pulse.due_times(on), show, HTTP_TASK)
    return Figure(
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
