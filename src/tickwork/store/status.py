"""A job is paused, resumed or cancelled, and its executions that have not begun go along."""

from datetime import datetime

import asyncpg

from tickwork.model.errors import Conflict
from tickwork.model.execution import Trigger
from tickwork.model.ids import job_id
from tickwork.model.job import JobStatus
from tickwork.model.schedule import count_between, last_of
from tickwork.store.membership import LockedRule, Membership
from tickwork.store.pool import Connection
from tickwork.store.query import queries
from tickwork.store.upcoming import Upcoming


class StatusChange:
    """The job's rule and its row are locked."""

    def __init__(
        self,
        connection: Connection,
        members: Membership,
        tenant_id: int,
        row: asyncpg.Record,
        rule: LockedRule | None,
        now: datetime,
    ) -> None:
        self._connection = connection
        self._members = members
        self._tenant_id = tenant_id
        self._row = row
        self._rule = rule
        self._now = now
        self._upcoming = Upcoming(connection, tenant_id, row["id"])
        self._sql = queries("define")

    async def become(self, status: JobStatus) -> None:
        await self._connection.execute(
            self._sql["set_job_status"], self._tenant_id, self._row["id"], status, self._now
        )
        if self._rule and (self._row["active_until"] or self._row["runs_left"]):
            await self._count_runs(self._rule, status)
        if status == JobStatus.ACTIVE and self._rule:
            await self._go_on(await self._members.awake(self._rule, self._now))
        elif status == JobStatus.ACTIVE:
            await self._go_on_once()
        elif status == JobStatus.PAUSED:
            await self._check_not_ended()
            await self._hold()
        else:
            await self._cancel()

    async def _count_runs(self, rule: LockedRule, status: JobStatus) -> None:
        """Due times that pass while a job is paused are not among the so many that it has."""
        timing = self._members.timing_of(rule)
        until, left = None, None
        if status == JobStatus.ACTIVE:
            until = last_of(timing, self._now, self._row["runs_left"])
        else:
            left = count_between(timing, self._now, self._row["active_until"])
        await self._connection.execute(self._sql["set_runs"], self._tenant_id, self._row["id"], until, left)

    async def _go_on(self, rule: LockedRule) -> None:
        row = self._row
        await self._upcoming.unhold(row["lane_id"])
        due = rule.passed(self._now, (row["priority"], row["id"]))
        if due and not row["depends"]:
            fired = [rule.last_at, rule.next_at]
            await self._upcoming.add_late(row["lane_id"], row["priority"], due, row["overlap"], fired)

    async def _go_on_once(self) -> None:
        row, now = self._row, self._now
        await self._upcoming.unhold(row["lane_id"])
        if row["held"] and row["scheduled_for"] <= now:
            await self._connection.execute(self._sql["make_due"], self._tenant_id, row["id"], now)
            await self._upcoming.add(row["lane_id"], row["priority"], now, Trigger.SCHEDULE)

    async def _check_not_ended(self) -> None:
        job = self._row["id"]
        ended = await self._connection.fetchval(
            self._sql["ended_as"], self._tenant_id, job, self._row["scheduled_for"]
        )
        if ended:
            raise Conflict(f"job {job_id(job)} has ended: it is {ended}")

    async def _hold(self) -> None:
        """Due times pass while a job is paused, but not the only one of a job that is due once, nor the rounds of
        others in which it runs."""
        if self._rule and not self._row["depends"]:
            await self._upcoming.stop_ahead(self._rule.ahead(self._now), "skipped", "paused")
            await self._upcoming.remember([self._rule.last_at, self._rule.next_at])
        elif not self._rule:
            await self._upcoming.take_back(self._row["scheduled_for"], "paused")
        await self._upcoming.hold(self._row["lane_id"])

    async def _cancel(self) -> None:
        ahead = self._rule.ahead(self._now) if self._rule else [self._row["scheduled_for"]]
        await self._upcoming.stop_ahead(ahead, "cancelled", "job cancelled")
        await self._upcoming.cancel(self._row["lane_id"], "job cancelled")
