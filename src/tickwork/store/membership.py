"""Jobs joining and leaving rules, under the rules' locks."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

import asyncpg

from tickwork.model.job import JobSpec
from tickwork.model.schedule import Recurring, Timing
from tickwork.store.pool import Connection
from tickwork.store.query import queries

RuleName = tuple[str, str]  # timing, catch-up


class LockedRule(NamedTuple):
    id: int
    timing: str
    next_at: datetime | None
    last_at: datetime | None
    cursor: tuple[int, int] | None

    def ahead(self, now: datetime) -> list[datetime]:
        """Due times that lie ahead and were fired already, at least in part."""
        begun = self.next_at if self.cursor else None
        return [at for at in (self.last_at, begun) if at and at > now]

    def passed(self, now: datetime, place: tuple[int, int]) -> datetime | None:
        """The due time ahead whose firing has gone past that place already: who joins there is too late for it
        unless somebody fires it for him."""
        if self.last_at and self.last_at > now:
            return self.last_at
        if self.cursor and self.next_at and self.next_at > now and place <= self.cursor:
            return self.next_at
        return None


def rule_name(spec: JobSpec) -> RuleName | None:
    return (spec.schedule.text, spec.catch_up.text()) if isinstance(spec.schedule, Recurring) else None


class Membership:
    def __init__(
        self, connection: Connection, tenant_id: int, timing_from_text: Callable[[str], Timing]
    ) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._timing_from_text = timing_from_text
        self._sql = queries("define")

    async def lock_for(self, specs: Iterable[JobSpec]) -> dict[RuleName, LockedRule]:
        """The rules these jobs belong to, made where needed, locked, and awake."""
        names = sorted({name for spec in specs if (name := rule_name(spec))})
        if not names:
            return {}
        columns = [timing for timing, _ in names], [catch_up for _, catch_up in names]
        await self._connection.execute(self._sql["ensure_rules"], self._tenant_id, *columns)
        rows = await self._connection.fetch(self._sql["lock_rules_by_timing"], self._tenant_id, *columns)
        now = await self.now()
        return {(row["timing"], row["catch_up"]): await self.awake(_rule(row), now) for row in rows}

    async def lock_of(self, job: int) -> LockedRule | None:
        """The job's rule. It may change until its lock is got, so it is looked at again afterwards."""
        while True:
            rule_id = await self._connection.fetchval(self._sql["rule_of_job"], self._tenant_id, job)
            if rule_id is None:
                return None
            row = await self._connection.fetchrow(self._sql["lock_rule"], self._tenant_id, rule_id)
            if row and rule_id == await self._connection.fetchval(
                self._sql["rule_of_job"], self._tenant_id, job
            ):
                return _rule(row)

    async def now(self) -> datetime:
        """Read after the locks were got: what lies ahead is judged at this moment."""
        now: datetime = await self._connection.fetchval("SELECT tickwork.clock()")
        return now

    async def awake(self, rule: LockedRule, now: datetime) -> LockedRule:
        """A rule sleeps while no job needs it."""
        if rule.next_at is not None:
            return rule
        next_at = self._timing_from_text(rule.timing).next_after(max(now, rule.last_at or now))
        await self._connection.execute(self._sql["arm_rule"], rule.id, next_at)
        return rule._replace(next_at=next_at)


def _rule(row: asyncpg.Record) -> LockedRule:
    begun = row["cursor_job"] is not None
    cursor = (row["cursor_priority"], row["cursor_job"]) if begun else None
    return LockedRule(row["id"], row["timing"], row["next_at"], row["last_at"], cursor)
