"""Recurring jobs in bulk, due in every second or all in the same one, and how late they start.

One job of each kind is created through the API. The rest are copies made inside the database.
"""

import asyncio
from array import array
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, NamedTuple

from tickwork.bench.bench_cluster import BenchCluster
from tickwork.bench.measure_rate_cost_losses import LostAndDoubled, Window, count_lost_and_doubled, measure
from tickwork.bench.scenario_types import Plan, ProgressLine
from tickwork.bench.tasks import SPREAD
from tickwork.model.catch_up_policy import CatchUp
from tickwork.model.errors import TickworkError
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_job_id

_COPY = """
INSERT INTO tickwork.job
    (rule_id, active_from, created_at, updated_at, tenant_id, lane_id, timeout, overlap, priority,
     task, payload, target, definition)
SELECT rule_id, active_from, created_at, updated_at, tenant_id, lane_id, timeout, overlap, priority,
    task, convert_to(format(form, $2 + step), 'UTF8'), target, definition
FROM (SELECT *, replace(convert_from(payload, 'UTF8'), format('"n":%s', $2::int), '"n":%s') AS form
      FROM tickwork.job WHERE id = $1) AS original,
    generate_series($3::int, $4::int) AS step
"""
_COPIES_PER_STATEMENT = 50_000


async def copy_job(
    cluster: BenchCluster, job: str, number: int, jobs: int, copied: Callable[[int], None]
) -> None:
    """Copy a job until there are `jobs` of it. Their payloads are numbered from `number` on."""
    original = parse_job_id(job)
    copied(1)
    for begin in range(1, jobs, _COPIES_PER_STATEMENT):
        end = min(begin + _COPIES_PER_STATEMENT, jobs)
        await cluster.database.execute(_COPY, original, number, begin, end - 1, timeout=600)
        copied(end - begin)


PERIOD = 10  # seconds
_HOUR = 3600
_MANY_JOBS = (
    1000  # with this many jobs, several rules share a due time, so that several nodes can fire at once
)
_RULES_AT_ONCE = 4
_IDLE_RULES = 200
_LOADED_PER_SECOND = 20_000
_LOAD_MARGIN = 4  # seconds
_POLL_INTERVAL = 0.05


class RecurringLoad(NamedTuple):
    """Recurring jobs that are active, numbered from `number` on, `each` of them in every rule."""

    number: int
    each: int
    rules: list[int]
    first: list[datetime]  # when each rule is due for the first time
    period: timedelta

    @property
    def jobs(self) -> int:
        return self.each * len(self.rules)

    def due_by(self, now: datetime) -> int:
        """How many executions were due so far, computed without the database."""
        return self.each * sum(self._times(first, now) for first in self.first)

    async def due_times(self, cluster: BenchCluster) -> "array[int]":
        """How often each job was due until its rule was ended."""
        rows = await cluster.database.fetch(
            "SELECT id, last_at FROM tickwork.rule WHERE id = ANY($1)", self.rules
        )
        last = {row["id"]: row["last_at"] for row in rows}
        due = array("I")
        for rule, first in zip(self.rules, self.first, strict=True):
            due.extend([self._times(first, last[rule])] * self.each)
        return due

    def _times(self, first: datetime, until: datetime | None) -> int:
        return (until - first) // self.period + 1 if until and until >= first else 0


async def start_steady_load(
    cluster: BenchCluster,
    rate: int,
    copied: Callable[[int], None],
    *,
    number: int = 0,
    after: float = 0,
    **fields: Any,
) -> RecurringLoad:
    """Jobs of which `rate` are due in every second, the first ones after at least `after` seconds."""
    rules = _rules_per_due_time(rate)
    begun = _first_due(rate * PERIOD, after)
    first = [begun + timedelta(seconds=second) for second, _ in product(range(PERIOD), range(rules))]
    return await _start(cluster, first, max(rate // rules, 1), PERIOD, number, copied, fields)


async def start_burst(
    cluster: BenchCluster,
    jobs: int,
    copied: Callable[[int], None],
    *,
    number: int = 0,
    after: float = 0,
    **fields: Any,
) -> RecurringLoad:
    """Jobs that are all due in the same second, and not again for an hour."""
    rules = _rules_per_due_time(jobs)
    first = [_first_due(jobs, after)] * rules
    return await _start(cluster, first, max(jobs // rules, 1), _HOUR, number, copied, fields)


async def add_idle_jobs(cluster: BenchCluster, jobs: int, copied: Callable[[int], None]) -> None:
    """Active jobs that are not due while the scenario lasts."""
    day = datetime.now(UTC) + timedelta(days=3)
    rules = min(_IDLE_RULES, max(jobs, 0) // _MANY_JOBS + 1) if jobs > 0 else 0
    requests = [
        JobRequest(
            task="bench.count", payload={"n": 0}, schedule=f"{rule % 60} {rule // 60} {day.day} {day.month} *"
        )
        for rule in range(rules)
    ]
    for job in await _create(cluster, requests):
        await copy_job(cluster, job, 0, jobs // rules, copied)


async def spread_over_lanes(
    cluster: BenchCluster, load: RecurringLoad, variants: Sequence[JobRequest]
) -> None:
    """Give the jobs of a load the lanes and priorities of these variants, in turn."""
    jobs = [parse_job_id(job) for job in await _create(cluster, variants)]
    await cluster.database.execute(
        """
        UPDATE tickwork.job j SET lane_id = v.lane_id, priority = v.priority
        FROM unnest($2::bigint[]) WITH ORDINALITY AS variant (job_id, number)
        JOIN tickwork.job v ON v.id = variant.job_id
        WHERE j.rule_id = ANY($1) AND j.id % cardinality($2) = variant.number - 1
        """,
        load.rules,
        jobs,
    )
    if datetime.now(UTC) > load.first[0]:
        raise TickworkError("changing the jobs took longer than expected: the first ones were already due")


async def wait_until_due(load: RecurringLoad) -> None:
    """Wait until the first jobs are due."""
    await asyncio.sleep(max((load.first[0] - datetime.now(UTC)).total_seconds(), 0))


async def end_load(cluster: BenchCluster, *loads: RecurringLoad) -> None:
    """Remove all further due times. A round that has begun is completed."""
    rules = [rule for load in loads for rule in load.rules]
    end = "UPDATE tickwork.rule SET next_at = NULL WHERE id = ANY($1) AND cursor_job IS NULL AND next_at IS NOT NULL"
    going = "SELECT EXISTS (SELECT FROM tickwork.rule WHERE id = ANY($1) AND next_at IS NOT NULL)"
    await cluster.database.execute(end, rules)
    while await cluster.database.fetchval(going, rules):
        await asyncio.sleep(_POLL_INTERVAL)
        await cluster.database.execute(end, rules)


async def _start(
    cluster: BenchCluster,
    first: Sequence[datetime],
    each: int,
    period: int,
    number: int,
    copied: Callable[[int], None],
    fields: dict[str, Any],
) -> RecurringLoad:
    requests = [
        _request(number + place * each, begun, period, place, fields) for place, begun in enumerate(first)
    ]
    jobs = await _create(cluster, requests)
    for place, job in enumerate(jobs):
        await copy_job(cluster, job, number + place * each, each, copied)
    if datetime.now(UTC) > first[0]:
        raise TickworkError("loading the jobs took longer than expected: the first ones were already due")
    return RecurringLoad(number, each, await _rules_of(cluster, jobs), list(first), timedelta(seconds=period))


def _request(number: int, begun: datetime, period: int, place: int, fields: dict[str, Any]) -> JobRequest:
    rest = dict(fields)
    schedule = {"every": period, "start": begun.isoformat()} | rest.pop("timing", {})
    payload = rest.pop("payload", {}) | {"n": number}
    # Jobs with another catch-up policy belong to another rule.
    return JobRequest(schedule=schedule, payload=payload, catch_up=CatchUp(within=3600 + place), **rest)


async def _create(cluster: BenchCluster, requests: Sequence[JobRequest]) -> list[str]:
    async with cluster.client() as client:
        return [job.id for job in await client.create_jobs(requests)]


async def _rules_of(cluster: BenchCluster, jobs: Sequence[str]) -> list[int]:
    rows = await cluster.database.fetch(
        "SELECT id, rule_id FROM tickwork.job WHERE id = ANY($1)", [parse_job_id(job) for job in jobs]
    )
    rules = {row["id"]: row["rule_id"] for row in rows}
    return [rules[parse_job_id(job)] for job in jobs]


def _first_due(jobs: int, after: float) -> datetime:
    """Late enough that all jobs are loaded by then."""
    notice = timedelta(seconds=max(after, _LOAD_MARGIN) + jobs / _LOADED_PER_SECOND)
    return (datetime.now(UTC) + notice).replace(microsecond=0)


def _rules_per_due_time(jobs: int) -> int:
    return _RULES_AT_ONCE if jobs >= _MANY_JOBS else 1


_TASK = "bench.spread"


async def measure_spread_load(
    cluster: BenchCluster, progress: ProgressLine, plan: Plan, rate: int
) -> tuple[Window, LostAndDoubled]:
    load = await start_steady_load(
        cluster,
        rate,
        progress.counter("active schedules", rate * PERIOD),
        task=_TASK,
        timing={"jitter": SPREAD},
    )
    await wait_until_due(load)
    await measure(cluster, progress, plan.warm_up, "warm-up")
    window = await measure(cluster, progress, plan.seconds)
    await end_load(cluster, load)
    return window, await count_lost_and_doubled(cluster, await load.due_times(cluster), progress, _TASK)
