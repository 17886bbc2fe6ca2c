"""One-off Python tasks: created in bulk through the API, then drained."""

import asyncio
from array import array
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.api_load import Answers, post, send_from_process
from tickwork.bench.bench_cluster import HELD_EQUAL, BenchCluster, running_cluster
from tickwork.bench.measure_rate_cost_losses import LostAndDoubled, count_lost_and_doubled, micros_each
from tickwork.bench.scenario_types import Curve, Many, ProgressLine, ScenarioResult
from tickwork.model.errors import TickworkError

_GOAL = 30_000
_CREATE_GOAL = 60_000
_BATCH = 10_000
_IN_FLIGHT = 2
_POLL_INTERVAL = 0.01
_TIMEOUT = 600.0


class Plan(base.Plan, frozen=True, kw_only=True):
    jobs: Annotated[Many, Meta(description="How many are created and drained.")] = 500_000
    slots: Annotated[Many, Meta(description="Slots of the worker.")] = 1000


QUICK = Plan(jobs=2000)


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    async with running_cluster() as cluster:
        await cluster.start_server()
        await cluster.stop(
            await cluster.start_worker()
        )  # has offered its tasks, and waits for the jobs to be there
        progress.say(f"creating {plan.jobs:,} jobs")
        created = await send_from_process(
            cluster, post("/v1/jobs/batch", _batches(plan.jobs)), in_flight=_IN_FLIGHT
        )
        if created.refused:
            raise TickworkError(f"{created.refused} batches were refused")
        creating = cluster.meter.seconds()
        await cluster.start_worker(plan.slots)
        drained = await _drain(cluster, plan.jobs, progress)
        used = {part: now - creating.get(part, 0.0) for part, now in cluster.meter.seconds().items()}
        balance = await count_lost_and_doubled(cluster, array("I", [1]) * plan.jobs, progress, "bench.count")
    return _result(plan, created, drained, used, balance)


def _batches(jobs: int) -> list[list[dict[str, object]]]:
    return [
        [
            {"task": "bench.count", "payload": {"n": number}}
            for number in range(begin, min(begin + _BATCH, jobs))
        ]
        for begin in range(0, jobs, _BATCH)
    ]


async def _drain(cluster: BenchCluster, jobs: int, progress: ProgressLine) -> Curve:
    """How many had run, over time, from the first one on."""
    clock = asyncio.get_running_loop().time
    seen: Curve = []
    async with asyncio.timeout(_TIMEOUT):
        while (ran := cluster.ledgers.total()) < jobs:
            if ran:
                seen.append((clock(), float(ran)))
            progress.update(f"{ran:,} of {jobs:,} drained")
            await asyncio.sleep(_POLL_INTERVAL)
    seen.append((clock(), float(jobs)))
    return [(round(at - seen[0][0], 3), ran) for at, ran in seen]


def _result(
    plan: Plan, created: Answers, drained: Curve, used: Mapping[str, float], balance: LostAndDoubled
) -> ScenarioResult:
    """`used`: seconds of processor time for draining, by part."""
    (_, first), (seconds, last) = drained[0], drained[-1]
    drain = (last - first) / seconds if seconds else 0.0
    create = plan.jobs / created.seconds
    return ScenarioResult(
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
            "drain_cost": micros_each(used, plan.jobs),
            **balance.details(),
        },
        held_equal=HELD_EQUAL,
        series={"drained": drained},
    )
