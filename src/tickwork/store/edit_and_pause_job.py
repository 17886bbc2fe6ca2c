"""Edits, replaces, pauses, resumes and cancels a job, with its executions that have not started."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec

from tickwork.model.access import Author
from tickwork.model.encode_job_target import (
    secret_mark_errors,
    target_of,
    with_stored_headers,
    with_stored_variables,
)
from tickwork.model.errors import Conflict
from tickwork.model.execution import Trigger
from tickwork.model.job import JobRequest, JobSpec, JobStatus
from tickwork.model.job_change_record import FieldChange, changed_fields, note_of
from tickwork.model.parsed_schedule_and_preview import Once, count_between, nth_due_time
from tickwork.model.public_ids import job_id
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.add_move_and_stop_unstarted_executions import UnstartedExecutions
from tickwork.store.batch_columns import stored
from tickwork.store.heartbeat_url_call_store import change_heartbeat
from tickwork.store.job_columns import CHANGE_JOB, JobLane, JobRow, values_of_changed
from tickwork.store.job_insert import ensure_lanes, lane_name
from tickwork.store.job_timing import JobTiming, job_timing, last_due, runs
from tickwork.store.lock_schedule_rules import (
    ConcurrentChange,
    LockedRule,
    LockedRules,
    RuleMembership,
)
from tickwork.store.past_attempt_input_store import keep_version
from tickwork.store.pool import Connection
from tickwork.store.query_files import queries
from tickwork.store.retention_store import change_retention
from tickwork.store.run_on_named_worker import bind_again, runs_on_workers
from tickwork.store.write_dependencies import JobDependencies, skip_decided

_CANCELLED = "job cancelled"


async def note_change(
    connection: Connection, job: int, author: Author | None, fields: list[FieldChange] | None = None
) -> None:
    """Before the statement that changes the job, in the same transaction: its event says the same."""
    note = {"job": job, **msgspec.to_builtins(note_of(author, fields or []))}
    await connection.execute(
        queries("create_and_change_job")["note_change"], msgspec.json.encode(note).decode()
    )


class JobUpdate:
    """Needs locks on the job's row, on its rule, and on the rule that it moves to."""

    def __init__(
        self, connection: Connection, tenant_id: int, rules: LockedRules, now: datetime, horizon: datetime
    ) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._rules = rules
        self._now = now
        self._horizon = horizon
        self._sql = queries("create_and_change_job")

    async def edit(self, row: asyncpg.Record, spec: JobSpec, author: Author | None) -> None:
        await self._apply(row, spec, author, another_time=_asks_for_another_time(row, spec), ids=())

    async def replace(
        self, row: asyncpg.Record | None, spec: JobSpec, ids: Sequence[int], author: Author | None
    ) -> None:
        """ConcurrentChange when the job is gone. `ids`: of all jobs of the request, in its order."""
        if row is None:
            raise ConcurrentChange
        spec = _with_stored_secrets(spec, row)
        another_time = _asks_for_another_time(row, spec) or _runs_again(row, spec, self._now)
        await self._apply(row, spec, author, another_time, ids)

    async def _apply(
        self,
        row: asyncpg.Record,
        spec: JobSpec,
        author: Author | None,
        another_time: bool,
        ids: Sequence[int],
    ) -> None:
        job, old_rule = row["id"], self._rules.get(row["rule_id"])
        unstarted = UnstartedExecutions(self._connection, self._tenant_id, job)
        lane = (await ensure_lanes(self._connection, self._tenant_id, [spec]))[lane_name(spec)]
        last = last_due(spec, self._now)
        timing = job_timing(job, spec, self._rules, self._now, self._horizon, last)
        moved = timing.rule_id != row["rule_id"] or (timing.rule_id is None and another_time)
        if moved:
            await self._leave(unstarted, row, old_rule)
        else:
            await self._take_back_early(unstarted, row, old_rule)
            if timing.rule_id is None:
                timing = timing._replace(scheduled_for=row["scheduled_for"], deferred=row["deferred"])
        if row["overlap"] == "allow" != spec.request.overlap:
            await unstarted.note_unended(row["lane_id"])
        bound = await runs_on_workers(self._connection, self._tenant_id, job, row["lane_id"])
        await unstarted.move(row["lane_id"], lane.id, spec.priority)
        await bind_again(self._connection, self._tenant_id, job, lane.id, bound)
        await keep_version(self._connection, self._tenant_id, job, spec)
        await note_change(self._connection, job, author, await self._changed_fields(row, spec))
        await self._update(row, spec, timing, lane, moved)
        if moved:
            await self._join(unstarted, row, timing, lane.id, spec)
        elif old_rule:
            await self._add_if_passed_over(unstarted, row, old_rule, lane.id, spec)
        await self._update_dependencies(row, spec, timing, ids)
        if moved and spec.parents:
            await skip_decided(self._connection, [job])

    async def _update(
        self, row: asyncpg.Record, spec: JobSpec, timing: JobTiming, lane: JobLane, moved: bool
    ) -> None:
        changed = JobRow(row["id"], spec, lane, timing, row["followed"])
        await self._connection.execute(
            CHANGE_JOB,
            self._tenant_id, row["id"], row["status"], moved, timing.until, runs(spec), *values_of_changed(changed),
        )  # fmt: skip
        url = spec.request.heartbeat_url
        if url or b'"heartbeat_url"' in row["definition"]:
            await change_heartbeat(self._connection, self._tenant_id, row["id"], url)
        retention = spec.request.retention
        if retention or b'"retention"' in row["definition"]:
            await change_retention(self._connection, self._tenant_id, row["id"], retention)

    async def _changed_fields(self, row: asyncpg.Record, spec: JobSpec) -> list[FieldChange]:
        before = stored(row["definition"], JobRequest)
        if before is None:
            return []
        after = spec.request
        payload = await self._connection.fetchval(
            self._sql["replaced_payload"], self._tenant_id, row["id"], spec.payload
        )
        if payload is None:
            after = msgspec.structs.replace(after, payload=msgspec.UNSET)
        else:
            before = msgspec.structs.replace(before, payload=stored(payload, object))
        return changed_fields(before, after)

    async def _update_dependencies(
        self, row: asyncpg.Record, spec: JobSpec, timing: JobTiming, ids: Sequence[int]
    ) -> None:
        """Change its dependencies, and move the jobs that depend on it to its new rule."""
        dependencies = JobDependencies(self._connection, self._tenant_id)
        if spec.parents or row["depends"]:
            before = msgspec.json.decode(row["definition"], type=JobRequest).depends_on
            await dependencies.change(row["id"], spec, ids, before)
        if row["followed"] and timing.rule_id != row["rule_id"]:
            if timing.rule_id is None or row["rule_id"] is None:
                raise Conflict("other jobs depend on it: it cannot change between one-time and recurring")
            await dependencies.move_followers(row["id"], row["rule_id"], timing.rule_id)

    async def _take_back_early(
        self, unstarted: UnstartedExecutions, row: asyncpg.Record, rule: LockedRule | None
    ) -> None:
        """Take back executions that a worker got before their due time: they have the old payload."""
        if row["status"] == JobStatus.ACTIVE:
            for at in rule.ahead(self._now) if rule else [row["scheduled_for"]]:
                await unstarted.take_back(at, "edited")
            await unstarted.resume(row["lane_id"])

    async def _leave(
        self, unstarted: UnstartedExecutions, row: asyncpg.Record, old_rule: LockedRule | None
    ) -> None:
        """Leave the old timing: stop the executions that it fired ahead of their due time."""
        if old_rule:
            await unstarted.stop_ahead(old_rule.ahead(self._now), "skipped", "rescheduled")
            await unstarted.note_unended_of_rule([old_rule.last_at, old_rule.next_at])
            await self._connection.execute(self._sql["note_past_rule"], row["id"], old_rule.id)
            if old_rule.last_at:
                await self._connection.execute(
                    queries("add_move_and_stop_unstarted_executions")["note_off_schedule"],
                    row["id"],
                    old_rule.last_at,
                )
        else:
            await self._connection.execute(
                queries("add_move_and_stop_unstarted_executions")["note_off_schedule"],
                row["id"],
                row["scheduled_for"],
            )
            await unstarted.stop_ahead([row["scheduled_for"]], "cancelled", "rescheduled")
            await unstarted.cancel(row["lane_id"], "rescheduled")

    async def _join(
        self, unstarted: UnstartedExecutions, row: asyncpg.Record, timing: JobTiming, lane: int, spec: JobSpec
    ) -> None:
        """Create the execution of a due time that the new rule fired already, or of a one-time job. A paused job misses
        the former, and keeps the latter for later."""
        paused = row["status"] == JobStatus.PAUSED
        if timing.due and not timing.rule_id:
            await unstarted.add(lane, spec.priority, timing.due, Trigger.SCHEDULE)
        elif timing.due and not paused:
            await unstarted.add_late(lane, spec.priority, timing.due, spec.request.overlap, fired=())
        if paused:
            await unstarted.pause(lane)

    async def _add_if_passed_over(
        self, unstarted: UnstartedExecutions, row: asyncpg.Record, rule: LockedRule, lane: int, spec: JobSpec
    ) -> None:
        """With another priority the job may be at a position that its rule has fired already: add its execution."""
        due = rule.passed_over((row["priority"], row["id"]), (spec.priority, row["id"]))
        if due and _is_fired_at(row, due):
            fired = [rule.last_at, rule.next_at]
            await unstarted.add_late(lane, spec.priority, due, spec.request.overlap, fired)


def _is_fired_at(row: asyncpg.Record, due: datetime) -> bool:
    """Whether the rule fires the job at this due time, as the query pick_jobs decides."""
    return (
        row["status"] == JobStatus.ACTIVE
        and not row["depends"]
        and row["active_from"] <= due
        and (row["active_until"] is None or row["active_until"] >= due)
    )


def _asks_for_another_time(row: asyncpg.Record, spec: JobSpec) -> bool:
    before = msgspec.json.decode(row["definition"])
    request = spec.request
    return (before.get("schedule"), before.get("timezone")) != (request.schedule, request.timezone)


def _runs_again(row: asyncpg.Record, spec: JobSpec, now: datetime) -> bool:
    """Whether a one-time job that is replaced runs again: not if it was due at an instant that has passed."""
    once = spec.schedule
    return isinstance(once, Once) and (once.at is None or now < once.at != row["scheduled_for"])


def _with_stored_secrets(spec: JobSpec, row: asyncpg.Record) -> JobSpec:
    """Redaction marks in the new definition stand for the stored secrets of the job."""
    if not any(secret_mark_errors(spec.request)):
        return spec
    stored = msgspec.json.decode(row["definition"], type=JobRequest)
    headers = spec.request.http.headers if spec.request.http else ()
    request = with_stored_headers(spec.request, stored, headers)
    request = with_stored_variables(request, stored, request.env)
    definition = msgspec.json.decode(spec.definition, type=JobRequest)
    return msgspec.structs.replace(
        spec,
        request=request,
        target=target_of(request),
        definition=msgspec.json.encode(
            msgspec.structs.replace(definition, http=request.http, env=request.env)
        ),
    )


class JobStatusChange:
    """Needs locks on the job's rule and on its row."""

    def __init__(
        self,
        connection: Connection,
        members: RuleMembership,
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
        self._unstarted = UnstartedExecutions(connection, tenant_id, row["id"])
        self._sql = queries("create_and_change_job")

    async def stop_running(self) -> None:
        """After `become`: what was claimed in between is stopped, too."""
        await self._unstarted.stop_running(_CANCELLED)

    async def become(self, status: JobStatus, author: Author | None) -> None:
        await note_change(self._connection, self._row["id"], author)
        await self._connection.execute(
            self._sql["set_job_status"], self._tenant_id, self._row["id"], status, self._now
        )
        if self._rule and (self._row["active_until"] or self._row["runs_left"]):
            await self._count_runs(self._rule, status)
        if status == JobStatus.ACTIVE and self._rule:
            await self._resume_recurring(await self._members.awake(self._rule, self._now))
        elif status == JobStatus.ACTIVE:
            await self._resume_one_time()
        elif status == JobStatus.PAUSED:
            await self._check_not_ended()
            await self._pause()
        else:
            await self._cancel()

    async def _count_runs(self, rule: LockedRule, status: JobStatus) -> None:
        """Due times that pass while a job is paused do not use up its limited number of runs."""
        timing = timing_from_text(rule.timing)
        until, left = None, None
        if status == JobStatus.ACTIVE:
            until = nth_due_time(timing, self._now, self._row["runs_left"])
        else:
            left = count_between(timing, self._now, self._row["active_until"])
        await self._connection.execute(self._sql["set_runs"], self._tenant_id, self._row["id"], until, left)

    async def _resume_recurring(self, rule: LockedRule) -> None:
        row = self._row
        await self._unstarted.resume(row["lane_id"])
        due = rule.passed(self._now, (row["priority"], row["id"]))
        if due and not row["depends"]:
            fired = [rule.last_at, rule.next_at]
            await self._unstarted.add_late(row["lane_id"], row["priority"], due, row["overlap"], fired)

    async def _resume_one_time(self) -> None:
        row, now = self._row, self._now
        await self._unstarted.resume(row["lane_id"])
        if row["deferred"] and row["scheduled_for"] <= now:
            await self._connection.execute(self._sql["make_due"], self._tenant_id, row["id"], now)
            await self._unstarted.add(row["lane_id"], row["priority"], now, Trigger.SCHEDULE)
            if row["depends"]:
                await skip_decided(self._connection, [row["id"]])

    async def _check_not_ended(self) -> None:
        job = self._row["id"]
        ended = await self._connection.fetchval(
            self._sql["ended_as"], self._tenant_id, job, self._row["scheduled_for"]
        )
        if ended:
            raise Conflict(f"job {job_id(job)} has ended: it is {ended}")

    async def _pause(self) -> None:
        """A paused job misses its due times, but a one-time job keeps its only one, and a child its rounds."""
        if self._rule and not self._row["depends"]:
            await self._unstarted.stop_ahead(self._rule.ahead(self._now), "skipped", "paused")
            await self._unstarted.note_unended_of_rule([self._rule.last_at, self._rule.next_at])
        elif not self._rule:
            await self._unstarted.take_back(self._row["scheduled_for"], "paused")
        await self._unstarted.pause(self._row["lane_id"])

    async def _cancel(self) -> None:
        ahead = self._rule.ahead(self._now) if self._rule else [self._row["scheduled_for"]]
        await self._unstarted.stop_ahead(ahead, "cancelled", _CANCELLED)
        await self._unstarted.cancel(self._row["lane_id"], _CANCELLED)
