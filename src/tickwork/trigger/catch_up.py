"""Which due time of a rule to fire now, and which were missed.

A due time counts as missed when nothing fired it within a short grace: then the rule's policy decides. What is only
late by less than that is fired in order, one due time after the other.
"""

from collections import deque
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from tickwork.model.duration import parse_duration
from tickwork.model.job import CatchUp
from tickwork.model.schedule import Timing
from tickwork.store.port.trigger import NOT_BEGUN, DueRule, Round, RoundNote

GRACE = timedelta(seconds=10)
_MOMENT = timedelta(microseconds=1)
_STEPS = 1000  # due times passed over in one go: a long outage is worked off in slices, never in one breath


class Plan(NamedTuple):
    rule: DueRule
    round: Round | None  # to fire now
    following: datetime | None  # due after that
    note: RoundNote | None  # what was missed


def plan(rule: DueRule, timing: Timing) -> Plan:
    if rule.cursor is None and rule.now - rule.next_at > GRACE:
        return _after_outage(rule, timing, msgspec.json.decode(rule.catch_up, type=CatchUp))
    return _fire(rule, timing, rule.next_at, [])


def _after_outage(rule: DueRule, timing: Timing, policy: CatchUp) -> Plan:
    first = _first_to_run(rule, timing, policy)
    missed: list[datetime] = []
    due: datetime | None = rule.next_at
    while due and due <= rule.now and (first is None or due < first):
        missed.append(due)
        due = timing.next_after(due)
        if len(missed) == _STEPS:
            return Plan(rule, None, due, _note(rule, missed))
    if due is None or due > rule.now:
        return Plan(rule, None, due, _note(rule, missed))
    return _fire(rule, timing, due, missed)


def _first_to_run(rule: DueRule, timing: Timing, policy: CatchUp) -> datetime | None:
    """Where running begins again; None when all that was missed stays so."""
    if policy.policy == "skip":
        return timing.next_after(rule.now - GRACE)
    wanted = 1 if policy.policy == "latest" else policy.max
    oldest = max(rule.next_at, rule.now - parse_duration(policy.within))
    return _newest(timing, wanted, oldest, rule.now)


def _newest(timing: Timing, wanted: int, oldest: datetime, now: datetime) -> datetime | None:
    """The first of the so many newest due times in that range. The walk begins near the end and goes back only as
    far as it must, because the range may hold millions."""
    span = timedelta(seconds=wanted)  # nothing is due more often than once a second
    while True:
        begin = max(now - span, oldest)
        newest: deque[datetime] = deque(maxlen=wanted)
        due = timing.next_after(begin - _MOMENT)
        while due and due <= now:
            newest.append(due)
            due = timing.next_after(due)
        if len(newest) == wanted or begin == oldest:
            return newest[0] if newest else None
        span *= 2


def _fire(rule: DueRule, timing: Timing, due: datetime, missed: list[datetime]) -> Plan:
    round_ = Round(rule.id, due, rule.last_at, rule.cursor or NOT_BEGUN)
    return Plan(rule, round_, timing.next_after(due), _note(rule, missed))


def _note(rule: DueRule, missed: list[datetime]) -> RoundNote | None:
    return RoundNote(rule.id, missed[0], len(missed), missed[-1], "missed") if missed else None
