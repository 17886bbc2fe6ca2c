"""Events: the SQL behind the stream that users follow."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec

from tickwork.model.access import Author
from tickwork.model.job_change_record import author_view
from tickwork.model.public_ids import from_micros, job_id
from tickwork.model.stream_event import EventKind, NumberedEvent, StreamEvent, fingerprint_text, ids
from tickwork.model.worker_protocol import Outcome
from tickwork.store.batch_columns import stored
from tickwork.store.error_group_store import count_failures
from tickwork.store.pool import Connection, Database
from tickwork.store.port.record import NewEvent
from tickwork.store.query_files import queries, rows_written
from tickwork.store.statistics_store import count_events

_DELETED_TOGETHER = 10_000


async def write_events(connection: Connection, events: Sequence[NewEvent]) -> None:
    """In the transaction that makes them true."""
    if events:
        await connection.execute(queries("event")["write_events"], *map(list, zip(*events, strict=True)))


def created_events(
    tenant_id: int, jobs: Sequence[int], author_of: Mapping[int, Author | None]
) -> list[NewEvent]:
    """One event for all jobs that are created together. It says by whom, if they have one author."""
    if not jobs:
        return []
    detail: dict[str, Any] = {}
    if len(jobs) > 1:
        detail = {"count": len(jobs), "first_job_id": job_id(jobs[0]), "last_job_id": job_id(jobs[-1])}
    authors = {author_of.get(job) for job in jobs}
    if len(authors) == 1 and (author := author_view(*authors)):
        detail["by"] = author
    text = msgspec.json.encode(detail).decode() if detail else None
    return [NewEvent(tenant_id, EventKind.JOB_CREATED, jobs[0] if len(jobs) == 1 else None, detail=text)]


class PostgresEventStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("event")

    async def write(self, events: Sequence[NewEvent]) -> None:
        async with self._database.transaction() as connection:
            await write_events(connection, events)

    async def number(self, limit: int) -> Counter[str]:
        (row,) = await self._database.fetch(self._sql["is_any_new_event"])
        if not row["is_any"]:
            return Counter()
        async with self._database.transaction() as connection:
            last = await connection.fetchval(self._sql["lock_last_event"])
            if last is None:
                return Counter()
            count = rows_written(await connection.execute(self._sql["number_events"], last, limit))
            if count:
                await connection.execute(self._sql["set_last_event"], last + count)
                await count_failures(connection, last, last + count)
                await count_events(connection, last, last + count)
            kinds = await connection.fetch(self._sql["kinds_of_events"], last, last + count)
        return Counter({row["kind"]: row["number"] for row in kinds})

    async def last_number(self) -> int:
        row = await self._database.fetchrow(self._sql["last_event"])
        return int(row["number"]) if row else 0

    async def events_after(self, number: int, limit: int) -> list[NumberedEvent]:
        return _events(await self._database.fetch(self._sql["events_after"], number, limit))

    async def events_of(self, tenant_id: int, after: int, until: int, limit: int) -> list[NumberedEvent]:
        sql = self._sql["events_of_tenant_after"]
        return _events(await self._database.fetch(sql, tenant_id, after, until, limit))

    async def events_before(self, tenant_id: int, number: int, limit: int) -> list[NumberedEvent]:
        sql = self._sql["events_of_tenant_before"]
        return _events(await self._database.fetch(sql, tenant_id, number, limit))

    async def delete_old(self, older_than: timedelta) -> bool:
        async with self._database.transaction() as connection:
            answer = await connection.execute(self._sql["delete_old_events"], older_than, _DELETED_TOGETHER)
        return rows_written(answer) == _DELETED_TOGETHER

    async def failing_jobs(self, limit: int) -> frozenset[int]:
        (row,) = await self._database.fetch(self._sql["failing_jobs"], limit)
        return frozenset(row["jobs"])

    async def mark_completed_since(self, jobs: Sequence[int]) -> None:
        async with self._database.transaction() as connection:
            done = await connection.fetch(self._sql["completed_since_failure"], list(jobs))
            if done:
                await connection.execute(self._sql["mark_recovered"], *map(list, zip(*done, strict=True)))

    async def want_pulse(self, tenants: Collection[int], seconds: float) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["want_pulse"], list(tenants), timedelta(seconds=seconds))

    async def wanted_pulse(self) -> frozenset[int]:
        return frozenset(row["tenant_id"] for row in await self._database.fetch(self._sql["wanted_pulse"]))

    async def write_pulse(self, tenant_id: int, ended: Sequence[Outcome], left_out: int) -> None:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["jobs_of_pulse"], list({each.job for each in ended}))
            jobs = {row["id"]: row for row in rows}
            events = [event for each in ended if each.job in jobs for event in _pulse(each, jobs[each.job])]
            if left_out:
                events.append(_sampled(left_out, from_micros(ended[-1].finished)))
            await connection.execute(self._sql["write_pulse"], tenant_id, msgspec.json.encode(events))

    async def last_pulse(self) -> int:
        row = await self._database.fetchrow(self._sql["last_pulse"])
        return int(row["id"]) if row else 0

    async def pulse_after(self, place: int, tenants: Collection[int]) -> tuple[int, list[NumberedEvent]]:
        rows = await self._database.fetch(self._sql["pulse_after"], place, list(tenants))
        events = [
            NumberedEvent(0, row["tenant_id"], each.tags, each.event)
            for row in rows
            for each in stored(row["events"], list[PulseEvent]) or []
        ]
        return (rows[-1]["id"] if rows else place), events


class PulseEvent(msgspec.Struct, frozen=True, array_like=True):
    """An event of the pulse as it is passed from node to node."""

    tags: list[str]
    event: StreamEvent


def _events(rows: Sequence[asyncpg.Record]) -> list[NumberedEvent]:
    return [NumberedEvent(row["number"], row["tenant_id"], row["tags"] or (), _event(row)) for row in rows]


def _event(row: asyncpg.Record) -> StreamEvent:
    job, execution = ids(row["job_id"], row["scheduled_for"])
    return StreamEvent(
        kind=row["kind"],
        at=row["at"],
        id=row["number"],
        job_id=job,
        execution_id=execution,
        job_name=row["name"],
        job_key=row["key"],
        task=row["task"],
        queue=row["queue"],
        attempt=row["attempt"],
        error_type=row["error_type"],
        fingerprint=None if row["fingerprint"] is None else fingerprint_text(row["fingerprint"]),
        detail=_detail(row["detail"]),
    )


def _detail(text: str | None) -> dict[str, Any]:
    return {} if text is None else stored(text.encode(), dict[str, Any]) or {}


def _sampled(left_out: int, at: datetime) -> PulseEvent:
    return PulseEvent([], StreamEvent(kind=EventKind.PULSE_SAMPLED, at=at, detail={"left_out": left_out}))


def _pulse(ended: Outcome, job: asyncpg.Record) -> Iterator[PulseEvent]:
    """Its start and its end. Most starts become known only with the end."""
    name, execution = ids(ended.job, from_micros(ended.at))
    for kind, at in (
        (EventKind.EXECUTION_STARTED, ended.started),
        (EventKind.EXECUTION_COMPLETED, ended.finished),
    ):
        event = StreamEvent(
            kind=kind,
            at=from_micros(at),
            job_id=name,
            execution_id=execution,
            job_name=job["name"],
            job_key=job["key"],
            task=job["task"],
            queue=job["queue"],
            attempt=ended.attempt,
        )
        yield PulseEvent(job["tags"], event)
