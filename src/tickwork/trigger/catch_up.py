"""Decides which due time of a rule to fire now, and which due times were missed.

Due times that are late by less than a short grace period are fired one after the other. Older ones were missed, and the
rule's catch-up policy decides which of them still run.
"""

from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import NamedTuple

import msgspec

from tickwork.model.catch_up_policy import CatchUp
from tickwork.model.parsed_schedule_and_preview import Timing
from tickwork.model.quantities import parse_duration
from tickwork.store.port.trigger import NOT_BEGUN, DueRule, Round, RoundNote

GRACE = timedelta(seconds=10)
_MICROSECOND = timedelta(microseconds=1)
STEPS = 1000  # missed due times per plan: a long outage takes several, so that none blocks the event loop for long


class Plan(NamedTuple):
    rule: DueRule
    round: Round | None  # to fire now
    next_at: datetime | None  # the due time after that
    missed: RoundNote | None


def plan(rule: DueRule, timing: Timing, steps: int = STEPS) -> Plan:
    """`steps`: how many missed due times this plan may cover."""
    if rule.cursor is None and rule.now - rule.next_at > GRACE:
        return _after_outage(rule, timing, msgspec.json.decode(rule.catch_up, type=CatchUp), steps)
    return _fire(rule, timing, rule.next_at, [])


def _after_outage(rule: DueRule, timing: Timing, policy: CatchUp, steps: int) -> Plan:
    first = first_to_run(rule, timing, policy)
    missed: list[datetime] = []
    due: datetime | None = rule.next_at
    while due and due <= rule.now and (first is None or due < first):
        missed.append(due)
        due = timing.next_after(due)
        if len(missed) == steps:
            return Plan(rule, None, due, _missed_range(rule, missed))
    if due is None or due > rule.now:
        return Plan(rule, None, due, _missed_range(rule, missed))
    return _fire(rule, timing, due, missed)


def first_to_run(rule: DueRule, timing: Timing, policy: CatchUp) -> datetime | None:
    """The oldest due time that still runs; None if the policy runs none of the missed ones."""
    if policy.policy == "skip":
        return timing.next_after(rule.now - GRACE)
    wanted = 1 if policy.policy == "latest" else policy.max
    oldest = max(rule.next_at, rule.now - parse_duration(policy.within))
    return _newest(timing, wanted, oldest, rule.now)


def _newest(timing: Timing, wanted: int, oldest: datetime, now: datetime) -> datetime | None:
    """The first of the `wanted` newest due times from `oldest` to `now`. The search starts near the end and goes back
    only as far as necessary, because the range may contain millions."""
    found: list[datetime] = []
    span, end = timedelta(seconds=wanted), now + _MICROSECOND  # nothing is due more often than once a second
    while len(found) < wanted and oldest < end:
        begin = max(now - span, oldest)
        found = _last_between(timing, begin, end, wanted - len(found)) + found
        end, span = begin, span * 2
    return found[0] if found else None


def _last_between(timing: Timing, begin: datetime, end: datetime, wanted: int) -> list[datetime]:
    """The last `wanted` due times from `begin` until just before `end`. If there are more, the later half of the range
    is searched first, so that the cost depends on `wanted` and not on the number of due times."""
    first = takewhile(lambda due: due < end, timing.due_times(begin - _MICROSECOND))
    found = list(islice(first, wanted + 1))
    if len(found) <= wanted:
        return found
    middle = begin + (end - begin) / 2
    later = _last_between(timing, middle, end, wanted)
    missing = wanted - len(later)
    return (_last_between(timing, begin, middle, missing) if missing else []) + later


def _fire(rule: DueRule, timing: Timing, due: datetime, missed: list[datetime]) -> Plan:
    round_ = Round(rule.id, due, rule.last_at, rule.cursor or NOT_BEGUN)
    return Plan(rule, round_, timing.next_after(due), _missed_range(rule, missed))


def _missed_range(rule: DueRule, missed: list[datetime]) -> RoundNote | None:
    return RoundNote(rule.id, missed[0], len(missed), missed[-1], "missed") if missed else None
