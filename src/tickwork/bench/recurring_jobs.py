"""Recurring jobs in bulk, due in every second or all in the same one, and how late they start.

One job of each kind is created through the API. The rest are copies made inside the database.
"""

import asyncio
from array import array
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, NamedTuple

from tickwork.bench.bench_cluster import Stage
from tickwork.bench.lost_and_doubled import Balance, settle_accounts
from tickwork.bench.measured_window import Window, watch
from tickwork.bench.progress import Show
from tickwork.bench.scenario_options import Plan
from tickwork.bench.tasks import SPREAD
from tickwork.model.errors import TickworkError
from tickwork.model.ids import parse_job_id
from tickwork.model.job import CatchUp, JobRequest

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
_AT_ONCE = 50_000


async def copy_job(on: Stage, job: str, number: int, jobs: int, copied: Callable[[int], None]) -> None:
    """So many of this job, itself included, numbered from its own number on in their payloads."""
    original = parse_job_id(job)
    copied(1)
    for begin in range(1, jobs, _AT_ONCE):
        end = min(begin + _AT_ONCE, jobs)
        await on.database.execute(_COPY, original, number, begin, end - 1, timeout=600)
        copied(end - begin)


PERIOD = 10  # seconds
_HOUR = 3600
_MANY = 1000  # from so many on, several rules share a due time: several nodes can fire at once
_RULES_AT_ONCE = 4
_IDLE_RULES = 200
_LOADED_PER_SECOND = 20_000
_NOTICE = 4  # seconds
_LOOK = 0.05


class Pulse(NamedTuple):
    """Recurring jobs under way, numbered from `number` on, as many in each rule."""

    number: int
    each: int
    rules: list[int]
    first: list[datetime]  # when each rule is due for the first time
    period: timedelta

    @property
    def jobs(self) -> int:
        return self.each * len(self.rules)

    def due_by(self, now: datetime) -> int:
        """How many executions were due so far, by plain arithmetic."""
        return self.each * sum(self._times(first, now) for first in self.first)

    async def due_times(self, on: Stage) -> "array[int]":
        """How often each job was due until its rule was ended."""
        rows = await on.database.fetch("SELECT id, last_at FROM tickwork.rule WHERE id = ANY($1)", self.rules)
        last = {row["id"]: row["last_at"] for row in rows}
        due = array("I")
        for rule, first in zip(self.rules, self.first, strict=True):
            due.extend([self._times(first, last[rule])] * self.each)
        return due

    def _times(self, first: datetime, until: datetime | None) -> int:
        return (until - first) // self.period + 1 if until and until >= first else 0


async def start_pulse(
    on: Stage, rate: int, copied: Callable[[int], None], *, number: int = 0, after: float = 0, **fields: Any
) -> Pulse:
    """Jobs of which `rate` are due in every second; the first ones not before so many seconds."""
    together = _together(rate)
    begun = _begin(rate * PERIOD, after)
    first = [begun + timedelta(seconds=second) for second, _ in product(range(PERIOD), range(together))]
    return await _start(on, first, max(rate // together, 1), PERIOD, number, copied, fields)


async def start_burst(
    on: Stage, jobs: int, copied: Callable[[int], None], *, number: int = 0, after: float = 0, **fields: Any
) -> Pulse:
    """Jobs that are all due in the same second, and then not for an hour."""
    together = _together(jobs)
    first = [_begin(jobs, after)] * together
    return await _start(on, first, max(jobs // together, 1), _HOUR, number, copied, fields)


async def add_idle(on: Stage, jobs: int, copied: Callable[[int], None]) -> None:
    """Active jobs that are not due while the scenario lasts."""
    day = datetime.now(UTC) + timedelta(days=3)
    rules = min(_IDLE_RULES, max(jobs, 0) // _MANY + 1) if jobs > 0 else 0
    requests = [
        JobRequest(
            task="bench.count", payload={"n": 0}, schedule=f"{rule % 60} {rule // 60} {day.day} {day.month} *"
        )
        for rule in range(rules)
    ]
    for job in await _create(on, requests):
        await copy_job(on, job, 0, jobs // rules, copied)


async def vary(on: Stage, pulse: Pulse, variants: Sequence[JobRequest]) -> None:
    """Give each job of a pulse the lane and the urgency of one of these, in turn."""
    jobs = [parse_job_id(job) for job in await _create(on, variants)]
    await on.database.execute(
        """
        UPDATE tickwork.job j SET lane_id = v.lane_id, priority = v.priority
        FROM unnest($2::bigint[]) WITH ORDINALITY AS variant (job_id, number)
        JOIN tickwork.job v ON v.id = variant.job_id
        WHERE j.rule_id = ANY($1) AND j.id % cardinality($2) = variant.number - 1
        """,
        pulse.rules,
        jobs,
    )
    if datetime.now(UTC) > pulse.first[0]:
        raise TickworkError("varying the jobs took longer than expected: the first were due meanwhile")


async def wait_for(pulse: Pulse) -> None:
    """Until its first jobs are due."""
    await asyncio.sleep(max((pulse.first[0] - datetime.now(UTC)).total_seconds(), 0))


async def end_pulse(on: Stage, *pulses: Pulse) -> None:
    """No further due times; a round that has begun is seen through."""
    rules = [rule for pulse in pulses for rule in pulse.rules]
    end = "UPDATE tickwork.rule SET next_at = NULL WHERE id = ANY($1) AND cursor_job IS NULL AND next_at IS NOT NULL"
    going = "SELECT EXISTS (SELECT FROM tickwork.rule WHERE id = ANY($1) AND next_at IS NOT NULL)"
    await on.database.execute(end, rules)
    while await on.database.fetchval(going, rules):
        await asyncio.sleep(_LOOK)
        await on.database.execute(end, rules)


async def _start(
    on: Stage,
    first: Sequence[datetime],
    each: int,
    period: int,
    number: int,
    copied: Callable[[int], None],
    fields: dict[str, Any],
) -> Pulse:
    requests = [
        _request(number + place * each, begun, period, place, fields) for place, begun in enumerate(first)
    ]
    jobs = await _create(on, requests)
    for place, job in enumerate(jobs):
        await copy_job(on, job, number + place * each, each, copied)
    if datetime.now(UTC) > first[0]:
        raise TickworkError("loading the jobs took longer than expected: the first were due meanwhile")
    return Pulse(number, each, await _rules_of(on, jobs), list(first), timedelta(seconds=period))


def _request(number: int, begun: datetime, period: int, place: int, fields: dict[str, Any]) -> JobRequest:
    rest = dict(fields)
    schedule = {"every": period, "start": begun.isoformat()} | rest.pop("timing", {})
    payload = rest.pop("payload", {}) | {"n": number}
    # Jobs with another catch-up policy belong to another rule.
    return JobRequest(schedule=schedule, payload=payload, catch_up=CatchUp(within=3600 + place), **rest)


async def _create(on: Stage, requests: Sequence[JobRequest]) -> list[str]:
    async with on.client() as client:
        return [job.id for job in await client.create_jobs(requests)]


async def _rules_of(on: Stage, jobs: Sequence[str]) -> list[int]:
    rows = await on.database.fetch(
        "SELECT id, rule_id FROM tickwork.job WHERE id = ANY($1)", [parse_job_id(job) for job in jobs]
    )
    rules = {row["id"]: row["rule_id"] for row in rows}
    return [rules[parse_job_id(job)] for job in jobs]


def _begin(jobs: int, after: float) -> datetime:
    """Late enough for all of them to be there."""
    notice = timedelta(seconds=max(after, _NOTICE) + jobs / _LOADED_PER_SECOND)
    return (datetime.now(UTC) + notice).replace(microsecond=0)


def _together(jobs: int) -> int:
    return _RULES_AT_ONCE if jobs >= _MANY else 1


_TASK = "bench.spread"


async def watch_spread(on: Stage, show: Show, plan: Plan, rate: int) -> tuple[Window, Balance]:
    pulse = await start_pulse(
        on, rate, show.counter("active schedules", rate * PERIOD), task=_TASK, timing={"jitter": SPREAD}
    )
    await wait_for(pulse)
    await watch(on, show, plan.warm_up, "warm-up")
    window = await watch(on, show, plan.seconds)
    await end_pulse(on, pulse)
    return window, await settle_accounts(on, await pulse.due_times(on), show, _TASK)
