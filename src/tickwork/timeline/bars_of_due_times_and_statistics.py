"""Bars of a row that do not come from executions: what is due, and what statistics say about a busy task."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby, islice

from tickwork.model.statistics import StatisticsPoint
from tickwork.model.timeline import BarState, TimelineBar
from tickwork.store.port.trigger import TimedJob
from tickwork.trigger.upcoming import due_times_of_job

_MOST_DUE_TIMES = 2000  # of a row
_STATES: tuple[BarState, ...] = ("failed", "completed", "cancelled", "skipped")  # the worst first


def first_due_times(job: TimedJob, begin: datetime, end: datetime) -> list[datetime]:
    return list(islice(due_times_of_job(job, begin, end), _MOST_DUE_TIMES))


def known_until(times: Sequence[datetime]) -> datetime | None:
    """None: these are all."""
    return times[-1] if len(times) == _MOST_DUE_TIMES else None


def due_bars(
    times: Iterable[datetime], now: datetime, step: timedelta, run_time: float
) -> Iterator[TimelineBar]:
    """Due times of the same step are one bar."""
    for _, together in groupby(sorted(times), lambda at: (at - now) // step):
        group = list(together)
        until = group[-1] + timedelta(seconds=run_time)
        yield TimelineBar(state="due", begin=group[0], until=until, counts={"due": len(group)})


def counted_bars(counts: Iterable[tuple[datetime, float]], step: timedelta) -> Iterator[TimelineBar]:
    """For what is counted and not listed."""
    for at, count in counts:
        yield TimelineBar(state="due", begin=at, until=at + step, counts={"due": max(round(count), 1)})


def statistics_bars(
    points: Iterable[StatisticsPoint], step: timedelta, now: datetime
) -> Iterator[TimelineBar]:
    """A step of statistics as one bar: its state is the worst that happened in it."""
    for point in points:
        counts = {state: count for state in _STATES if (count := getattr(point, state))}
        if counts:
            until = max(point.at, min(point.at + step, now))
            yield TimelineBar(state=next(iter(counts)), begin=point.at, until=until, counts=counts)
