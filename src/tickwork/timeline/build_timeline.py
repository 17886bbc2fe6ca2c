"""Puts the time line together: chooses the rows, and reads what ran, what is due and the slots that it takes.

A row of a job is made of its executions, in steps. A row of a task is made of the executions of the range if they are
few, and of statistics if they are many. However many jobs there are, a limited number of executions is read.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from time import monotonic
from typing import NamedTuple

from tickwork.model.errors import Invalid
from tickwork.model.field_types import to_utc
from tickwork.model.overview import FailingJob
from tickwork.model.public_ids import parse_job_id
from tickwork.model.statistics import MINUTES_KEPT, STEPS, Step
from tickwork.model.timeline import RowKind, SlotsInUse, TimelineBar, TimelineRow, TimelineView
from tickwork.model.upcoming import DueTime
from tickwork.overview import Overview
from tickwork.record.read_statistics_series import Statistics
from tickwork.store.port.trigger import TimedJob
from tickwork.store.timeline_store import Part, PastBars, PostgresTimelineStore, RecentRuns, RunningNow
from tickwork.timeline import bars_of_due_times_and_statistics as bars
from tickwork.timeline import slots_over_time
from tickwork.timeline.choose_rows import (
    Candidate,
    choose_rows,
    due_candidates,
    failing_candidates,
    recent_candidates,
    running_candidates,
    usual_rows,
)
from tickwork.trigger.count_upcoming import UpcomingCounts
from tickwork.trigger.upcoming import Upcoming

_PAST = timedelta(hours=6)  # by default; the future gets three parts for every seven of the past
_FUTURE_SHARE = 3 / 7
_LONGEST = timedelta(days=40)
_STEPS = 400  # of a range: what is closer together is one bar
_COUNTED_STEPS = 50
_SHORTEST_STEP = timedelta(seconds=1)
_MOST_RECENT = 2000  # executions by which rows are chosen
_MOST_FAILED = 500
_MOST_RUNNING = 1000
_MOST_DUE = 2000
_MOST_OF_JOB = 12_000  # executions of one row: a week of one that runs every minute
_MOST_OF_TASKS = 20_000  # executions of all rows
_READ_WITHIN = 2.0  # seconds, for the rows of all jobs
_LOOK_BACK = 4  # run times: what was due before the range may reach into it
_FARTHEST_BACK = timedelta(days=1)
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTES_FOR = timedelta(hours=4)  # the longest range in steps of a minute
_FIVE_MINUTES_FOR = timedelta(hours=30)


class Window(NamedTuple):
    begin: datetime
    end: datetime
    now: datetime

    @property
    def step(self) -> timedelta:
        return max((self.end - self.begin) / _STEPS, _SHORTEST_STEP)

    @property
    def past_end(self) -> datetime:
        """What is due now is past."""
        return min(self.end, self.now + _MICROSECOND)

    @property
    def has_past(self) -> bool:
        return self.begin < self.now

    @property
    def future(self) -> tuple[datetime, datetime]:
        return max(self.begin, self.now), max(self.end, self.now)

    @property
    def statistics_step(self) -> Step:
        """Neither too few nor too many columns, of what is still kept."""
        length = self.end - self.begin
        are_kept = self.begin > self.now - MINUTES_KEPT + STEPS["1h"]
        if are_kept and length <= _MINUTES_FOR:
            return "1m"
        return "5m" if are_kept and length <= _FIVE_MINUTES_FOR else "1h"


class _Found(NamedTuple):
    """What is known before the rows are chosen."""

    recent: Sequence[RecentRuns]
    running: Sequence[RunningNow]
    due: Sequence[DueTime]
    due_known_until: datetime | None  # None: all are known
    failing: Sequence[FailingJob]
    run_times: Mapping[str, float]  # of tasks, in seconds


class Timeline:
    def __init__(
        self,
        store: PostgresTimelineStore,
        overview: Overview,
        statistics: Statistics,
        upcoming: Upcoming,
        upcoming_counts: UpcomingCounts,
    ) -> None:
        self._store = store
        self._overview = overview
        self._statistics = statistics
        self._upcoming = upcoming
        self._upcoming_counts = upcoming_counts

    async def view(
        self, tenant_id: int, begin: datetime | None, end: datetime | None, by: RowKind | None, rows: int
    ) -> TimelineView:
        window = _window(begin, end, await self._store.now())
        found = await self._find(tenant_id, window)
        by = by or usual_rows(found.recent)
        chosen, more = choose_rows(_candidates(by, found), rows)
        counts = await self._count_beyond(tenant_id, window, found.due_known_until)
        read = self._rows_of_jobs if by == "job" else self._rows_of_tasks
        slots = (await self._overview.capacity(tenant_id)).slots
        demands = slots_over_time.demands_of(found.running, found.due, found.run_times, window.now)
        known = found.due_known_until or window.future[1]
        return TimelineView(
            at=window.now,
            begin=window.begin,
            until=window.end,
            by=by,
            rows=await read(tenant_id, window, chosen, found, counts),
            more=more,
            slots=slots,
            busy=await self._busy(tenant_id, window, found.running),
            wanted=[
                *slots_over_time.wanted_slots(demands, window.future[0], known, window.step),
                *slots_over_time.average_demand(counts, found.run_times, _counted_step(window), window.end),
            ],
            shortages=slots_over_time.shortages(demands, slots, window.now),
            due_known_until=found.due_known_until,
        )

    async def _find(self, tenant_id: int, window: Window) -> _Found:
        recent: list[RecentRuns] = []
        if window.has_past:
            span = window.begin, window.past_end
            recent += await self._store.recent(tenant_id, *span, _MOST_RECENT)
            recent += await self._store.failed(tenant_id, *span, _MOST_FAILED)
        running = await self._store.running(tenant_id, _MOST_RUNNING)
        due, known_until = await self._due(tenant_id, window)
        failing = await self._overview.failing_jobs(tenant_id)
        run_times = await self._statistics.usual_run_times(tenant_id, window.now - _DAY, window.now)
        return _Found(recent, running, due, known_until, failing, run_times)

    async def _due(self, tenant_id: int, window: Window) -> tuple[Sequence[DueTime], datetime | None]:
        begin, end = window.future
        if begin >= end:
            return [], None
        page = await self._upcoming.page(tenant_id, begin, end, _MOST_DUE, None)
        if page.next_cursor is None and page.searched_until is None:
            return page.items, None
        return page.items, page.searched_until or page.items[-1].at

    async def _count_beyond(
        self, tenant_id: int, window: Window, known_until: datetime | None
    ) -> dict[str, list[tuple[datetime, float]]]:
        """How often each task is due where due times are too many to be listed."""
        if known_until is None:
            return {}
        end = window.future[1]
        return await self._upcoming_counts.count_tasks(tenant_id, known_until, end, _counted_step(window))

    async def _rows_of_jobs(
        self,
        tenant_id: int,
        window: Window,
        chosen: Sequence[Candidate],
        found: _Found,
        _counts: Mapping[str, Sequence[tuple[datetime, float]]],
    ) -> list[TimelineRow]:
        jobs = await self._upcoming.timings(tenant_id, [parse_job_id(each.id) for each in chosen])
        known = [(each, job) for each in chosen if (job := jobs.get(parse_job_id(each.id)))]
        read_until = monotonic() + _READ_WITHIN
        pasts = [await self._past_of_job(tenant_id, window, job, found, read_until) for _, job in known]
        return await asyncio.to_thread(
            lambda: [
                _row_of_job(window, each, job, past, found.run_times.get(job.task))
                for (each, job), past in zip(known, pasts, strict=True)
            ]
        )

    async def _past_of_job(
        self, tenant_id: int, window: Window, job: TimedJob, found: _Found, read_until: float
    ) -> PastBars:
        if not window.has_past:
            return PastBars([], [])
        if monotonic() > read_until:
            return PastBars([], [], window.past_end)
        running = [each.scheduled_for for each in found.running if each.job == job.id]
        begin = _look_back(window, found.run_times.get(job.task, 0.0), running)
        part = Part(begin, window.past_end, window.step)
        return await self._store.bars_of_job(tenant_id, job.id, part, _MOST_OF_JOB)

    async def _rows_of_tasks(
        self,
        tenant_id: int,
        window: Window,
        chosen: Sequence[Candidate],
        found: _Found,
        counts: Mapping[str, Sequence[tuple[datetime, float]]],
    ) -> list[TimelineRow]:
        tasks = [each.id for each in chosen]
        pasts = await self._pasts_of_tasks(tenant_id, window, tasks, found) if window.has_past else {}
        return [
            _row_of_task(window, each, pasts.get(each.id, PastBars([], [])), found, counts.get(each.id, ()))
            for each in chosen
        ]

    async def _pasts_of_tasks(
        self, tenant_id: int, window: Window, tasks: Sequence[str], found: _Found
    ) -> dict[str, PastBars]:
        longest = max((found.run_times.get(task, 0.0) for task in tasks), default=0.0)
        begin = _look_back(window, longest, [each.scheduled_for for each in found.running])
        part = Part(begin, window.past_end, window.step)
        pasts = await self._store.bars_of_tasks(tenant_id, tasks, part, _MOST_OF_TASKS)
        if pasts is not None:
            return pasts
        return {task: await self._counted_past(tenant_id, window, task, found.running) for task in tasks}

    async def _counted_past(
        self, tenant_id: int, window: Window, task: str, running: Sequence[RunningNow]
    ) -> PastBars:
        step = window.statistics_step
        span = window.begin, window.past_end
        series = await self._statistics.series(tenant_id, *span, step, task=task)
        found = [*bars.statistics_bars(series.items, STEPS[step], window.now)]
        starts = [each.started_at for each in running if each.task == task]
        if starts:
            found.append(TimelineBar(state="running", begin=min(starts), counts={"running": len(starts)}))
        return PastBars(found, [])

    async def _busy(self, tenant_id: int, window: Window, running: Sequence[RunningNow]) -> list[SlotsInUse]:
        if not window.has_past:
            return []
        step = window.statistics_step
        begin = window.begin - (window.begin - _EPOCH) % STEPS[step]
        # What ended after the range may have begun within it.
        ended_until = min(window.now, window.past_end + _FARTHEST_BACK)
        ended = await self._statistics.run_times_in_slots(tenant_id, begin, ended_until, step)
        uses = chain(
            slots_over_time.ended_uses(ended, STEPS[step]), slots_over_time.running_uses(running, window.now)
        )
        return slots_over_time.slots_in_use(uses, begin, window.past_end, STEPS[step])


def _window(begin: datetime | None, end: datetime | None, now: datetime) -> Window:
    begin = now - _PAST if begin is None else to_utc(begin)
    end = now + (now - begin) * _FUTURE_SHARE if end is None else to_utc(end)
    if end <= begin:
        raise Invalid.field("until", "is not after the beginning of the range", "a later time")
    if end - begin > _LONGEST:
        raise Invalid.field("until", "is too far away", f"at most {_LONGEST.days} days later")
    return Window(begin, end, now)


def _counted_step(window: Window) -> timedelta:
    return max((window.end - window.begin) / _COUNTED_STEPS, _SHORTEST_STEP)


def _look_back(window: Window, run_time: float, running: Sequence[datetime]) -> datetime:
    """From when on executions were due that may reach into the range."""
    usual = window.begin - timedelta(seconds=_LOOK_BACK * run_time)
    return max(min([usual, *running]), window.begin - _FARTHEST_BACK)


def _candidates(by: RowKind, found: _Found) -> Iterator[Candidate]:
    yield from failing_candidates(by, found.failing)
    yield from recent_candidates(by, found.recent)
    yield from running_candidates(by, found.running)
    yield from due_candidates(by, found.due)


def _row_of_job(
    window: Window, chosen: Candidate, job: TimedJob, past: PastBars, usual: float | None
) -> TimelineRow:
    run_time = _average(past.run_times) or usual
    times = bars.first_due_times(job, *window.future)
    due = bars.due_bars(times, window.now, window.step, run_time or slots_over_time.UNKNOWN_RUN_TIME)
    return TimelineRow(
        id=chosen.id,
        name=job.name,
        key=job.key,
        task=job.task,
        failing=chosen.failing,
        run_time=run_time,
        next_at=times[0] if times else None,
        complete_since=past.complete_since,
        complete_until=bars.known_until(times),
        bars=_in_range(window, [*past.bars, *due]),
    )


def _row_of_task(
    window: Window,
    chosen: Candidate,
    past: PastBars,
    found: _Found,
    counts: Sequence[tuple[datetime, float]],
) -> TimelineRow:
    run_time = _average(past.run_times) or found.run_times.get(chosen.id)
    times = [each.at for each in found.due if each.task == chosen.id]
    due = bars.due_bars(times, window.now, window.step, run_time or slots_over_time.UNKNOWN_RUN_TIME)
    counted = bars.counted_bars(counts, _counted_step(window))
    return TimelineRow(
        id=chosen.id,
        name=None,
        key=None,
        task=chosen.id,
        failing=chosen.failing,
        run_time=run_time,
        next_at=times[0] if times else None,
        complete_since=None,
        complete_until=None,
        bars=_in_range(window, [*past.bars, *due, *counted]),
    )


def _average(run_times: Sequence[tuple[float, int]]) -> float | None:
    """Of the medians of several bars, by how many executions each has."""
    executions = sum(count for _, count in run_times)
    return sum(median * count for median, count in run_times) / executions if executions else None


def _in_range(window: Window, found: Sequence[TimelineBar]) -> list[TimelineBar]:
    shown = [each for each in found if each.until is None or each.until >= window.begin]
    return sorted(shown, key=lambda each: each.begin)
