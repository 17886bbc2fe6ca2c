"""Locks rules while jobs join and leave them, and starts again after a conflict."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import NamedTuple, TypeVar

import asyncpg

from tickwork.model.errors import Conflict, Unavailable
from tickwork.model.job import JobSpec
from tickwork.model.parsed_schedule_and_preview import Recurring
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.pool import Connection
from tickwork.store.query_files import queries

_TRIES = 20
_Done = TypeVar("_Done")


class LockedRule(NamedTuple):
    id: int
    timing: str
    catch_up: str
    next_at: datetime | None
    last_at: datetime | None
    cursor: tuple[int, int] | None

    def ahead(self, now: datetime) -> list[datetime]:
        """Due times in the future that were fired already, at least in part."""
        begun = self.next_at if self.cursor else None
        return [at for at in (self.last_at, begun) if at and at > now]

    def passed(self, now: datetime, position: tuple[int, int]) -> datetime | None:
        """The due time in the future that was fired past this position already: a job that joins here needs its own
        insert."""
        if self.last_at and self.last_at > now:
            return self.last_at
        if self.cursor and self.next_at and self.next_at > now and position <= self.cursor:
            return self.next_at
        return None

    def passed_over(self, position: tuple[int, int], new_position: tuple[int, int]) -> datetime | None:
        """The due time that is being fired, when firing has not reached the old position, but has passed the new one: a
        job that moves there would get no execution."""
        is_between = self.cursor is not None and new_position <= self.cursor < position
        return self.next_at if is_between else None


class LockedRules:
    """Rules that cannot change until the commit."""

    def __init__(self, rules: Iterable[LockedRule]) -> None:
        self._by_id = {rule.id: rule for rule in rules}
        self._by_name = {(rule.timing, rule.catch_up): rule for rule in self._by_id.values()}

    def of(self, spec: JobSpec) -> LockedRule | None:
        """The rule of a recurring job; None for a one-time job. ConcurrentChange when it was deleted before it was
        locked, because no job had it."""
        name = _rule_name(spec)
        if name is None:
            return None
        if name not in self._by_name:
            raise ConcurrentChange
        return self._by_name[name]

    def get(self, rule_id: int | None) -> LockedRule | None:
        """ConcurrentChange when the job moved to another rule before it was locked."""
        if rule_id is None:
            return None
        if rule_id not in self._by_id:
            raise ConcurrentChange
        return self._by_id[rule_id]


class ConcurrentChange(Exception):
    """Another transaction changed the same rows first: start again."""


async def retry_on_conflict(act: Callable[[], Awaitable[_Done]]) -> _Done:
    """Requests that change the same jobs at the same time can conflict: one of them starts again and then sees what
    the other one did. A deadlock arrives as it is inside an open transaction, and as Unavailable otherwise."""
    for _ in range(_TRIES):
        try:
            return await act()
        except (ConcurrentChange, asyncpg.UniqueViolationError, asyncpg.DeadlockDetectedError):
            continue
        except Unavailable as error:
            if not isinstance(error.__cause__, asyncpg.DeadlockDetectedError):
                raise
    raise Conflict("other requests keep changing the same jobs: try again")


class RuleMembership:
    def __init__(self, connection: Connection, tenant_id: int) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._sql = queries("lock_schedule_rules")

    async def lock(self, joined: Iterable[JobSpec], left: Iterable[int | None]) -> LockedRules:
        """Lock the rules that jobs join, creating them if needed, and the rules that jobs leave. All are locked in one
        order, so that requests cannot deadlock."""
        names = {name for spec in joined if (name := _rule_name(spec))}
        ids = [rule_id for rule_id in left if rule_id is not None]
        if not names and not ids:
            return LockedRules([])
        columns = [timing for timing, _ in names], [catch_up for _, catch_up in names]
        if names:
            await self._connection.execute(self._sql["ensure_rules"], self._tenant_id, *columns)
        rows = await self._connection.fetch(self._sql["lock_rules"], self._tenant_id, *columns, ids)
        rules = [_rule(row) for row in rows]
        asleep = {rule.id for rule in rules if rule.next_at is None and (rule.timing, rule.catch_up) in names}
        if not asleep:
            return LockedRules(rules)
        now = await self.now()
        return LockedRules([await self.awake(rule, now) if rule.id in asleep else rule for rule in rules])

    async def rule_of(self, job: int) -> int | None:
        """The rule of a job, which may change until the rule is locked."""
        rule_id: int | None = await self._connection.fetchval(self._sql["rule_of_job"], self._tenant_id, job)
        return rule_id

    async def now(self) -> datetime:
        """Read this after locking: it decides which due times are in the future."""
        now: datetime = await self._connection.fetchval("SELECT tickwork.clock()")
        return now

    async def awake(self, rule: LockedRule, now: datetime) -> LockedRule:
        """Give a rule its next due time. It has none while no job needs it."""
        if rule.next_at is not None:
            return rule
        next_at = timing_from_text(rule.timing).next_after(max(now, rule.last_at or now))
        await self._connection.execute(self._sql["arm_rule"], rule.id, next_at)
        return rule._replace(next_at=next_at)


def _rule(row: asyncpg.Record) -> LockedRule:
    begun = row["cursor_job"] is not None
    cursor = (row["cursor_priority"], row["cursor_job"]) if begun else None
    return LockedRule(row["id"], row["timing"], row["catch_up"], row["next_at"], row["last_at"], cursor)


def _rule_name(spec: JobSpec) -> tuple[str, str] | None:
    return (spec.schedule.text, spec.catch_up.text()) if isinstance(spec.schedule, Recurring) else None
