"""Which due time of a rule to fire now, and which were missed.

A due time counts as missed when nothing fired it within a short grace: then the rule's policy decides. What is only
late by less than that is fired in order, one due time after the other.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from tickwork.model.duration import parse_duration
from tickwork.model.job import CatchUp
from tickwork.model.schedule import Timing
from tickwork.store.port import NOT_BEGUN, DueRule, Round, RoundNote

GRACE = timedelta(seconds=10)
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
    missed: list[datetime] = []
    due: datetime | None = rule.next_at
    while due and _is_missed(due, rule.now, timing, policy):
        missed.append(due)
        due = timing.next_after(due)
        if len(missed) == _STEPS:
            return Plan(rule, None, due, _note(rule, missed))
    if due is None or due > rule.now:
        return Plan(rule, None, due, _note(rule, missed))
    return _fire(rule, timing, due, missed)


def _is_missed(due: datetime, now: datetime, timing: Timing, policy: CatchUp) -> bool:
    if policy.policy == "skip":
        return now - due > GRACE
    following = timing.next_after(due)
    superseded = following is not None and following <= now
    return due <= now and (superseded or now - due > parse_duration(policy.within))


def _fire(rule: DueRule, timing: Timing, due: datetime, missed: list[datetime]) -> Plan:
    round_ = Round(rule.id, due, rule.last_at, rule.cursor or NOT_BEGUN)
    return Plan(rule, round_, timing.next_after(due), _note(rule, missed))


def _note(rule: DueRule, missed: list[datetime]) -> RoundNote | None:
    return RoundNote(rule.id, missed[0], len(missed), missed[-1], "missed") if missed else None
