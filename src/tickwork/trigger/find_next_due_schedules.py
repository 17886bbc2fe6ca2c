"""Which rules are due first after a place, also among a million.

A rule whose next round comes after the place is due then. Of any other rule, the database says when it can be due at
the earliest, by its period or by its hour and minute. Only those that can be due soonest are computed: whatever is due
before the next of them can be is known then.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from tickwork.schedule.compile_timing import timing_from_text
from tickwork.schedule.due.calendar_bit_masks import END, from_seconds, to_seconds
from tickwork.schedule.due.local_time_now_in_each_zone import zone_times
from tickwork.store.port.trigger import NOT_BEGUN, DuePlace, UpcomingRule, UpcomingStore

MOST_RULES = 1000  # that are returned at once
_MICROSECOND = timedelta(microseconds=1)


class SoonestRules(NamedTuple):
    rules: Sequence[UpcomingRule]
    known_to: DuePlace | None  # where another one may be due. None: these are all


async def next_due_rules(
    store: UpcomingStore, tenant_id: int, after: DuePlace, end: datetime, most_computed: int
) -> SoonestRules:
    """Those that are due from a place on and before a time."""
    second = _second_from(after.at)
    if second >= END:
        return SoonestRules([], None)
    rule = after.rule_id if from_seconds(second) == after.at else 0
    zones = zone_times(second)
    last = _second_from(end)
    earlier = await store.rules_possibly_due_after(
        tenant_id, second, rule, last if last <= zones.until else END, zones, most_computed + 1
    )
    later = await store.rules_next_due_after(tenant_id, after, end, MOST_RULES + 1)
    known_to = None
    if len(earlier) > most_computed:
        earliest, next_rule = earlier.pop()
        # From a clock change on, local times are others.
        known_to = min(_place(earliest, next_rule.id), _place(from_seconds(zones.until), 0))
    return await asyncio.to_thread(_soonest, later, [rule for _, rule in earlier], after, end, known_to)


def _place(at: datetime, rule: int) -> DuePlace:
    return DuePlace(at, rule, *NOT_BEGUN)


def _second_from(at: datetime) -> int:
    """The first whole second at or after a time."""
    return to_seconds(at - _MICROSECOND) + 1


def _soonest(
    later: Sequence[UpcomingRule],
    earlier: Sequence[UpcomingRule],
    after: DuePlace,
    end: datetime,
    known_to: DuePlace | None,
) -> SoonestRules:
    fired = {rule.id for rule in later}  # between the two reads
    first = ((next(rounds_of(rule, after, end), None), rule) for rule in earlier if rule.id not in fired)
    computed = [(place.at, rule.id, rule) for place, rule in first if place]
    found = sorted([*((rule.next_at, rule.id, rule) for rule in later), *computed])
    if len(found) > MOST_RULES:
        at, number, _ = found[MOST_RULES]
        known_to = min(known_to or _place(end, 0), _place(at, number))
    return SoonestRules([rule for _, _, rule in found[:MOST_RULES]], known_to)


def rounds_of(rule: UpcomingRule, after: DuePlace, end: datetime) -> Iterator[DuePlace]:
    """The places from which the jobs of each round of a rule are due. A rule that cannot be read has none."""
    for at in due_times(rule, after.at, end):
        cursor = rule.cursor if at == rule.next_at else NOT_BEGUN
        place = DuePlace(at, rule.id, *cursor)
        if (at, rule.id) >= (after.at, after.rule_id):
            yield max(place, after) if (at, rule.id) == (after.at, after.rule_id) else place


def due_times(rule: UpcomingRule, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The due times of a rule that have not been fired, from `begin` and before `end`."""
    try:
        times = timing_from_text(rule.timing).due_times(max(begin, rule.next_at) - _MICROSECOND)
    except Exception:  # noqa: BLE001 (the other rules must be shown)
        return
    for at in times:
        if at >= end:
            return
        yield at
