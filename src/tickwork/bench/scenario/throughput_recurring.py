"""Sustained executions a second of recurring Python tasks, among many more schedules."""

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.bench_cluster import HELD_EQUAL, BenchCluster, running_cluster
from tickwork.bench.measure_rate_cost_losses import LostAndDoubled, Window, count_lost_and_doubled, measure
from tickwork.bench.recurring_jobs import (
    PERIOD,
    add_idle_jobs,
    end_load,
    spread_over_lanes,
    start_steady_load,
    wait_until_due,
)
from tickwork.bench.scenario_types import Many, ProgressLine, ScenarioResult
from tickwork.model.job import PRIORITIES, JobRequest
from tickwork.model.notification_rule import NotifyEntry
from tickwork.model.requires_limits_fair_share import Limit

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
    notify: Annotated[bool, Meta(description="Have a channel told when a job fails or recovers.")] = False


QUICK = Plan(rate=200, schedules=5_000, warm_up=1, seconds=3)


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    async with running_cluster() as cluster:
        await cluster.start(servers=plan.servers, workers=plan.workers, slots=plan.slots)
        active = plan.rate * PERIOD
        await add_idle_jobs(
            cluster, plan.schedules - active, progress.counter("idle schedules", plan.schedules - active)
        )
        load = await start_steady_load(
            cluster,
            plan.rate,
            progress.counter("schedules", active),
            after=_time_to_vary(plan),
            task="bench.count",
            notify=await _channel(cluster) if plan.notify else [],
        )
        if variants := _variants(plan):
            await spread_over_lanes(cluster, load, variants)
        await cluster.database.execute("ANALYZE tickwork.job")
        await wait_until_due(load)
        await measure(cluster, progress, plan.warm_up, "warm-up")
        behind = load.due_by(datetime.now(UTC)) - cluster.ledgers.total()
        window = await measure(cluster, progress, plan.seconds)
        backlog = (behind, load.due_by(datetime.now(UTC)) - cluster.ledgers.total())
        await end_load(cluster, load)
        balance = await count_lost_and_doubled(
            cluster, await load.due_times(cluster), progress, "bench.count"
        )
    return _result(plan, window, backlog, balance)


async def _channel(cluster: BenchCluster) -> list[NotifyEntry]:
    """Nobody listens there: nothing fails."""
    async with cluster.client() as client:
        await client.set_channel("ops", kind="webhook", url="http://127.0.0.1:9")
    return [NotifyEntry(on=["failed", "recovered"], to=["ops"])]


def _variants(plan: Plan) -> list[JobRequest]:
    """One job for each queue, priority and key."""
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


def _result(plan: Plan, window: Window, backlog: tuple[int, int], balance: LostAndDoubled) -> ScenarioResult:
    flat = backlog[1] - backlog[0] <= plan.rate  # what was due in the last second may still be under way
    return ScenarioResult(
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
            "notify": plan.notify,
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
