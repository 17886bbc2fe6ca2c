"""Sustained executions a second of recurring Python tasks, among many more schedules."""

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta

from tickwork.bench import plan as base
from tickwork.bench.account import Balance, settle_accounts
from tickwork.bench.figure import Figure
from tickwork.bench.plan import Many
from tickwork.bench.recurring import PERIOD, add_idle, end_pulse, start_pulse, wait_for
from tickwork.bench.show import Show
from tickwork.bench.stage import HELD_EQUAL, stage
from tickwork.bench.window import Window, watch

_GOAL = 50_000


class Plan(base.Plan, frozen=True, kw_only=True):
    rate: Annotated[Many, Meta(description="How many are due in each second.")] = 55_000
    schedules: Annotated[Many, Meta(description="How many active schedules there are in all.")] = 10_000_000
    servers: Annotated[Many, Meta(description="Server processes.")] = 1
    workers: Annotated[Many, Meta(description="Worker processes.")] = 1
    slots: Annotated[Many, Meta(description="Slots of each worker.")] = 1000


QUICK = Plan(rate=200, schedules=5_000, warm_up=1, seconds=3)


async def run(show: Show, plan: Plan) -> Figure:
    async with stage() as on:
        await on.start(servers=plan.servers, workers=plan.workers, slots=plan.slots)
        active = plan.rate * PERIOD
        await add_idle(on, plan.schedules - active, show.counter("idle schedules", plan.schedules - active))
        pulse = await start_pulse(on, plan.rate, show.counter("schedules", active), task="bench.count")
        await on.database.execute("ANALYZE tickwork.job")
        await wait_for(pulse)
        await watch(on, show, plan.warm_up, "warm-up")
        behind = pulse.due_by(datetime.now(UTC)) - on.ledgers.total()
        window = await watch(on, show, plan.seconds)
        backlog = (behind, pulse.due_by(datetime.now(UTC)) - on.ledgers.total())
        await end_pulse(on, pulse)
        balance = await settle_accounts(on, await pulse.due_times(on), show, "bench.count")
    return _figure(plan, window, backlog, balance)


def _figure(plan: Plan, window: Window, backlog: tuple[int, int], balance: Balance) -> Figure:
    flat = backlog[1] - backlog[0] <= plan.rate  # what was due in the last second may still be under way
    return Figure(
        scenario="throughput-recurring",
        value=round(window.rate),
        unit="executions/s",
        goal=_GOAL,
        met=window.rate >= _GOAL and flat and not balance.lost and not balance.doubled,
        lost=balance.lost,
        doubled=balance.doubled,
        details={
            "offered_per_second": plan.rate,
            "schedules": plan.schedules,
            "servers": plan.servers,
            "workers": plan.workers,
            "seconds": round(window.seconds, 1),
            "backlog_before": backlog[0],
            "backlog_after": backlog[1],
            "backlog_flat": flat,
            "cost": window.cost(),
            **balance.details(),
        },
        held_equal=HELD_EQUAL,
        series={"executions a second": window.rates},
    )
