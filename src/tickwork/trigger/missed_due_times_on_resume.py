"""Due times that were missed while the cluster was paused or its database was away: what their catch-up policies will
make of them, and skipping them all instead."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import NamedTuple

import msgspec

from tickwork.model.bad_row_isolation import error_text, is_row_error
from tickwork.model.catch_up_policy import CatchUp
from tickwork.model.parsed_schedule_and_preview import Timing
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.port.trigger import DueRule, Firing, RoundNote, RuleStep, TriggerStore
from tickwork.trigger.catch_up import GRACE, STEPS, first_to_run

_NOW = timedelta(0)
_RULES = 100  # in one transaction
_MOST_COUNTED = 1000  # due times of a rule
_REASON = "skipped when the cluster was resumed"


class Outlook(NamedTuple):
    """How often a rule was due and has not been fired, and how many of these due times will be."""

    due: int
    is_exact: bool
    last_at: datetime
    runs: int
    policy: str


def outlook(rule: DueRule) -> Outlook:
    """Raises what makes the rule unreadable, if it is."""
    timing, policy = timing_from_text(rule.timing), msgspec.json.decode(rule.catch_up, type=CatchUp)
    counted = list(islice(_due_times(rule, timing, rule.next_at), _MOST_COUNTED + 1))
    due = counted[:_MOST_COUNTED]
    return Outlook(len(due), len(counted) == len(due), due[-1], _runs(rule, timing, policy), policy.policy)


def _runs(rule: DueRule, timing: Timing, policy: CatchUp) -> int:
    first: datetime | None = rule.next_at
    if rule.now - rule.next_at > GRACE:
        first = first_to_run(rule, timing, policy)
    if first is None or first > rule.now:
        return 0
    return sum(1 for _ in islice(_due_times(rule, timing, first), _MOST_COUNTED))


def _due_times(rule: DueRule, timing: Timing, first: datetime) -> Iterator[datetime]:
    """From the first on, until now."""
    yield first
    yield from takewhile(lambda due: due <= rule.now, timing.due_times(first))


class MissedDueTimes:
    def __init__(self, store: TriggerStore) -> None:
        self._store = store

    async def skip(self) -> int:
        """Move some rules past the due times that they have missed, which are recorded as such. Returns how many rules;
        a rule that missed very many takes several calls. A rule that cannot be read stops, as when it is fired."""
        async with self._store.firing() as firing:
            rules = await firing.take(_NOW, _NOW, _RULES)
            await self._pass_over(firing, rules)
        return len(rules)

    async def _pass_over(self, firing: Firing, rules: list[DueRule]) -> None:
        steps: list[RuleStep] = []
        notes: list[RoundNote] = []
        for rule in rules:
            try:
                missed, following = _missed(rule)
            except Exception as error:
                if not is_row_error(error):
                    raise
                await self._store.stop_rule(rule.id, f"its schedule cannot be fired: {error_text(error)}")
                continue
            steps.append(RuleStep(rule.id, following, rule.last_at, None, looks_empty=False))
            notes.append(RoundNote(rule.id, missed[0], len(missed), missed[-1], _REASON))
        if steps:
            await firing.advance(steps, notes)


def _missed(rule: DueRule) -> tuple[list[datetime], datetime | None]:
    """Some of the due times that have passed, and the one after them."""
    timing = timing_from_text(rule.timing)
    missed = list(islice(_due_times(rule, timing, rule.next_at), STEPS))
    return missed, timing.next_after(missed[-1])
