"""Sustained executions a second of recurring Python tasks, among many more schedules."""

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta

from tickwork.bench import scenario_options as base
from tickwork.bench.bench_cluster import HELD_EQUAL, stage
from tickwork.bench.lost_and_doubled import Balance, settle_accounts
from tickwork.bench.measured_window import Window, watch
from tickwork.bench.progress import Show
from tickwork.bench.recurring_jobs import PERIOD, add_idle, end_pulse, start_pulse, vary, wait_for
from tickwork.bench.result import Figure
from tickwork.bench.scenario_options import Many
from tickwork.model.job import PRIORITIES, JobRequest
from tickwork.model.placement import Limit

_GOAL = 50_000
_VARIED_PER_SECOND = 30_000
_UNBINDING = 1_000_000
_NEVER = "0 0 29 2 *"


class Plan(base.Plan, frozen=True, kw_only=True):
    rate: Annotated[Many, Meta(description="How many are due in each second.")] = 52_000
    schedules: Annotated[Many, Meta(description="How many active schedules there are in all.")] = 10_000_000
    servers: Annotated[Many, Meta(description="Server processes.")] = 1
    workers: Annotated[Many, Meta(description="Worker processes.")] = 1
    slots: Annotated[Many, Meta(description="Slots of each worker.")] = 1000
    queues: Annotated[Many, Meta(description="Queues that the jobs are spread over.")] = 1
    priorities: Annotated[int, Meta(ge=1, le=4, description="Priorities that they have.")] = 1
    keys: Annotated[int, Meta(ge=0, description="Keys that limit them, to more than there are.")] = 0


QUICK = Plan(rate=200, schedules=5_000, warm_up=1, seconds=3)


async def run(show: Show, plan: Plan) -> Figure:
    async with stage() as on:
        await on.start(servers=plan.servers, workers=plan.workers, slots=plan.slots)
        active = plan.rate * PERIOD
        await add_idle(on, plan.schedules - active, show.counter("idle schedules", plan.schedules - active))
        pulse = await start_pulse(
            on, plan.rate, show.counter("schedules", active), after=_time_to_vary(plan), task="bench.count"
        )
        if variants := _variants(plan):
            await vary(on, pulse, variants)
        await on.database.execute("ANALYZE tickwork.job")
        await wait_for(pulse)
        await watch(on, show, plan.warm_up, "warm-up")
        behind = pulse.due_by(datetime.now(UTC)) - on.ledgers.total()
        window = await watch(on, show, plan.seconds)
        backlog = (behind, pulse.due_by(datetime.now(UTC)) - on.ledgers.total())
        await end_pulse(on, pulse)
        balance = await settle_accounts(on, await pulse.due_times(on), show, "bench.count")
    return _figure(plan, window, backlog, balance)


def _variants(plan: Plan) -> list[JobRequest]:
    """Jobs of every queue, priority and key there is to be."""
    count = max(plan.queues, plan.priorities, plan.keys)
    if count == 1 and not plan.keys:
        return []
    return [
        JobRequest(
            task="bench.count",
            payload={"n": 0},
            schedule=_NEVER,
            queue=f"queue-{number % plan.queues}",
            priority=PRIORITIES[number % plan.priorities] if plan.priorities > 1 else "normal",
            limits=[Limit(f"key-{number % plan.keys}", max_running=_UNBINDING)] if plan.keys else [],
        )
        for number in range(count)
    ]


def _time_to_vary(plan: Plan) -> float:
    return 5 + plan.rate * PERIOD / _VARIED_PER_SECOND if _variants(plan) else 0


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
            "queues": plan.queues,
            "priorities": plan.priorities,
            "keys": plan.keys,
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
