"""Compiles a canonical schedule, so that it can compute due times."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import msgspec

from tickwork.schedule.cron.read_expression import read_cron
from tickwork.schedule.due.calendar_bit_masks import END, Days, from_seconds, to_seconds
from tickwork.schedule.due.next_due_time import (
    Bounded,
    DayFiltered,
    Dst,
    Interval,
    Source,
    Union,
    WallClock,
    iterate_due_times,
)
from tickwork.schedule.due.time_zone import Zone, zone_named
from tickwork.schedule.english.describe import describe
from tickwork.schedule.excluded_days import Workdays, WorkdaysOf, workdays_of
from tickwork.schedule.rrule.read_rule import local_anchor, read_rule

_KEPT = 131_072  # a node goes through all of its rules in turn: a smaller cache would miss every time
_DESCRIBED = 10_000


class CompiledTiming:
    """Small, because a node may have a hundred thousand. What users see is built from the text when asked for."""

    __slots__ = ("_jitter", "_source", "max_runs", "text")

    def __init__(self, text: str) -> None:
        canonical = msgspec.json.decode(text)
        self.text = text
        self.max_runs: int | None = canonical.get("max_runs")
        self._jitter: float = canonical.get("jitter", 0)
        self._source = compile_source(canonical)

    @property
    def canonical(self) -> dict[str, Any]:
        canonical: dict[str, Any] = msgspec.json.decode(self.text)
        return canonical

    @property
    def words(self) -> str:
        return _words(self.text)

    @property
    def jitter(self) -> timedelta:
        return timedelta(seconds=self._jitter)

    @property
    def interval(self) -> timedelta | None:
        """The time between due times, if it is always the same."""
        return timedelta(seconds=self._source.every) if isinstance(self._source, Interval) else None

    def next_after(self, after: datetime) -> datetime | None:
        due = self._source.next_after(to_seconds(after))
        return None if due is None else from_seconds(due)

    def due_times(self, after: datetime) -> Iterator[datetime]:
        return map(from_seconds, iterate_due_times(self._source, to_seconds(after)))


@lru_cache(maxsize=_KEPT)
def timing_from_text(text: str) -> CompiledTiming:
    return CompiledTiming(text)


@lru_cache(maxsize=_DESCRIBED)  # thousands of jobs share a schedule, and describing one takes long
def _words(text: str) -> str:
    return describe(msgspec.json.decode(text))


def compile_source(canonical: Mapping[str, Any]) -> Source:
    if "any" in canonical:
        return Union(tuple(compile_source(part) for part in canonical["any"]))
    zone = zone_named(canonical.get("timezone", "UTC"))
    start = _seconds(canonical["start"]) if "start" in canonical else None
    end = _seconds(canonical["end"]) if "end" in canonical else END
    workdays = workdays_of(canonical["exclude"]) if "exclude" in canonical else None
    source = _compile_kind(canonical, zone, start, workdays)
    if start is not None or end < END:
        source = Bounded(source, start or 0, end)
    if workdays:
        dates = canonical["exclude"].get("dates", ())
        source = DayFiltered(source, zone, workdays, frozenset(_seconds(day) for day in dates if "T" in day))
    return source


def _compile_kind(
    canonical: Mapping[str, Any], zone: Zone, start: int | None, workdays: Workdays | None
) -> Source:
    """`workdays`: the days that are not excluded. Other days need not be searched."""
    if "every" in canonical:
        return Interval(canonical["every"], start or 0)
    if "cron" in canonical:
        cron = read_cron(canonical["cron"])
        return WallClock(zone, _without_excluded(cron.days, workdays), cron.times, _dst(canonical, cron.dst))
    rule, _ = read_rule(canonical["rrule"], local_anchor(start, zone))
    if rule.times is None:
        return DayFiltered(Interval(rule.step, start or 0), zone, _without_excluded(rule.days, workdays))
    return WallClock(zone, _without_excluded(rule.days, workdays), rule.times, _dst(canonical, rule.dst))


def _without_excluded(days: Days, workdays: Workdays | None) -> Days:
    return WorkdaysOf(days, workdays) if workdays else days


def _dst(canonical: Mapping[str, Any], usual: Dst) -> Dst:
    return Dst(**canonical["dst"]) if "dst" in canonical else usual


def _seconds(instant: str) -> int:
    return to_seconds(datetime.fromisoformat(instant))
