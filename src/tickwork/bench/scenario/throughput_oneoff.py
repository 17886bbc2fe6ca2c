"""One-off Python tasks: created in bulk through the API, then drained."""

import asyncio
from array import array
from typing import Annotated

from msgspec import Meta

from tickwork.bench import scenario_options as base
from tickwork.bench.api_load import Answers, ask, post
from tickwork.bench.bench_cluster import HELD_EQUAL, Stage, stage
from tickwork.bench.lost_and_doubled import Balance, settle_accounts
from tickwork.bench.progress import Show
from tickwork.bench.result import Curve, Figure
from tickwork.bench.scenario_options import Many
from tickwork.model.errors import TickworkError

_GOAL = 30_000
_CREATE_GOAL = 60_000
_BATCH = 10_000
_IN_FLIGHT = 2
_LOOK = 0.01
_WITHIN = 600.0


class Plan(base.Plan, frozen=True, kw_only=True):
    jobs: Annotated[Many, Meta(description="How many are created and drained.")] = 500_000
    slots: Annotated[Many, Meta(description="Slots of the worker.")] = 1000


QUICK = Plan(jobs=2000)


async def run(show: Show, plan: Plan) -> Figure:
    async with stage() as on:
        await on.start_server()
        await on.stop(await on.start_worker())  # has offered its tasks, and waits for the jobs to be there
        show.say(f"creating {plan.jobs:,} jobs")
        created = await ask(on, post("/v1/jobs/batch", _batches(plan.jobs)), in_flight=_IN_FLIGHT)
        if created.refused:
            raise TickworkError(f"{created.refused} batches were refused")
        await on.start_worker(plan.slots)
        drained = await _drain(on, plan.jobs, show)
        balance = await settle_accounts(on, array("I", [1]) * plan.jobs, show, "bench.count")
    return _figure(plan, created, drained, balance)


def _batches(jobs: int) -> list[list[dict[str, object]]]:
    return [
        [
            {"task": "bench.count", "payload": {"n": number}}
            for number in range(begin, min(begin + _BATCH, jobs))
        ]
        for begin in range(0, jobs, _BATCH)
    ]


async def _drain(on: Stage, jobs: int, show: Show) -> Curve:
    """How many had run, moment by moment, from the first one on."""
    clock = asyncio.get_running_loop().time
    seen: Curve = []
    async with asyncio.timeout(_WITHIN):
        while (ran := on.ledgers.total()) < jobs:
            if ran:
                seen.append((clock(), float(ran)))
            show.update(f"{ran:,} of {jobs:,} drained")
            await asyncio.sleep(_LOOK)
    seen.append((clock(), float(jobs)))
    return [(round(at - seen[0][0], 3), ran) for at, ran in seen]


def _figure(plan: Plan, created: Answers, drained: Curve, balance: Balance) -> Figure:
    (_, first), (seconds, last) = drained[0], drained[-1]
    drain = (last - first) / seconds if seconds else 0.0
    create = plan.jobs / created.seconds
    return Figure(
        scenario="throughput-oneoff",
        value=round(drain),
        unit="executions/s drained",
        goal=_GOAL,
        met=drain >= _GOAL and create >= _CREATE_GOAL and not balance.lost and not balance.doubled,
        lost=balance.lost,
        doubled=balance.doubled,
        details={
            "jobs": plan.jobs,
            "created_per_second": round(create),
            "created_per_second_goal": _CREATE_GOAL,
            "batch": _BATCH,
            "batch_p99_ms": created.summary()["p99_ms"],
            "drain_seconds": round(seconds, 2),
            **balance.details(),
        },
        held_equal=HELD_EQUAL,
        series={"drained": drained},
    )
