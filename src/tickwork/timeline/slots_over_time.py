"""How many slots of workers were in use, and how many will be wanted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from tickwork.model.forecast_slot_shortage import Demand, peaks, waits
from tickwork.model.job import HTTP_TASK
from tickwork.model.statistics import Histogram, middle_of
from tickwork.model.timeline import Shortage, SlotsInUse
from tickwork.model.upcoming import DueTime
from tickwork.store.timeline_store import RunningNow

UNKNOWN_RUN_TIME = 1.0  # seconds, of a task that never ran


class Use(NamedTuple):
    """Some slots that were in use until a time."""

    until: datetime
    seconds: float
    slots: int


def slots_in_use(uses: Iterable[Use], begin: datetime, end: datetime, step: timedelta) -> list[SlotsInUse]:
    """The average of each step. An attempt counts for all of its time, not only for the step in which it ended."""
    steps = -((begin - end) // step)
    changes, partly = [0.0] * (steps + 1), [0.0] * steps
    for use in uses:
        last = (use.until - begin) / step
        first = max(last - use.seconds / step.total_seconds(), 0.0)
        _add(changes, partly, first, min(last, float(steps)), use.slots)
    averages: list[SlotsInUse] = []
    level = 0.0
    for place in range(steps):
        level += changes[place]
        if level + partly[place] > 0:
            at = begin + place * step
            averages.append(SlotsInUse(begin=at, until=min(at + step, end), slots=level + partly[place]))
    return averages


def _add(changes: list[float], partly: list[float], first: float, last: float, slots: int) -> None:
    """Whole steps by a change where they begin and one where they end; parts of steps one by one."""
    if last <= first:
        return
    begin, end = int(first), int(last)
    if begin == end:
        partly[begin] += slots * (last - first)
        return
    partly[begin] += slots * (begin + 1 - first)
    changes[begin + 1] += slots
    changes[end] -= slots
    if end < len(partly):
        partly[end] += slots * (last - end)


def ended_uses(ended: Iterable[tuple[datetime, Histogram]], step: timedelta) -> Iterator[Use]:
    """Those of attempts that ended in steps of statistics."""
    for at, histogram in ended:
        for bucket, attempts in histogram.items():
            yield Use(at + step, middle_of(bucket), attempts)


def running_uses(running: Iterable[RunningNow], now: datetime) -> Iterator[Use]:
    for each in running:
        if each.task != HTTP_TASK:
            yield Use(now, (now - each.started_at).total_seconds(), 1)


def demands_of(
    running: Iterable[RunningNow], due: Iterable[DueTime], run_times: Mapping[str, float], now: datetime
) -> list[Demand]:
    """What runs goes on for as long as it usually takes; what is due begins then."""
    demands = [
        Demand(now.timestamp(), run_times.get(each.task, 0.0) - (now - each.started_at).total_seconds())
        for each in running
        if each.task != HTTP_TASK
    ]
    demands = [each for each in demands if each.length > 0]
    demands += (
        Demand(each.at.timestamp(), run_times.get(each.task, UNKNOWN_RUN_TIME))
        for each in due
        if each.task != HTTP_TASK
    )
    return demands


def wanted_slots(
    demands: Sequence[Demand], begin: datetime, end: datetime, step: timedelta
) -> list[SlotsInUse]:
    """The most at once in each step."""
    steps = -((begin - end) // step)
    most = peaks(demands, begin.timestamp(), step.total_seconds(), steps)
    return [
        SlotsInUse(begin=begin + place * step, until=min(begin + (place + 1) * step, end), slots=wanted)
        for place, wanted in enumerate(most)
        if wanted
    ]


def average_demand(
    counts: Mapping[str, Sequence[tuple[datetime, float]]],
    run_times: Mapping[str, float],
    step: timedelta,
    end: datetime,
) -> list[SlotsInUse]:
    """For what is counted and not listed."""
    seconds: dict[datetime, float] = {}
    for task, steps in counts.items():
        if task != HTTP_TASK:
            for at, count in steps:
                seconds[at] = seconds.get(at, 0.0) + count * run_times.get(task, UNKNOWN_RUN_TIME)
    return [
        SlotsInUse(begin=at, until=min(at + step, end), slots=seconds[at] / step.total_seconds())
        for at in sorted(seconds)
    ]


def shortages(demands: Sequence[Demand], slots: int, begin: datetime) -> list[Shortage]:
    """Where there are not enough of them."""

    def at(seconds: float) -> datetime:
        return begin + timedelta(seconds=seconds - begin.timestamp())

    return [
        Shortage(
            begin=at(each.begin), until=at(each.until), wanted=each.wanted, slots=slots, delay=each.delay
        )
        for each in waits(demands, slots)
    ]
