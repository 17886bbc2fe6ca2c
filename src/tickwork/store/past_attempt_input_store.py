"""What a job was before it was edited, so that each attempt can be shown with what it ran with.

An edit keeps the old values, once, and notes which attempts have them: those that workers have at that moment, and
those that ended just before. Every other attempt is told by its times: it ended well before the edit or began after it.
That is certain because a claim which began before the edit was committed leaves alone what the edit has moved.
"""

from datetime import timedelta
from typing import NamedTuple

import asyncpg
import msgspec

from tickwork.model.errors import NotFound
from tickwork.model.execution import ExecutionKey
from tickwork.model.http_secrets import redacted
from tickwork.model.http_target import HttpTarget, HttpTargetView, target_view
from tickwork.model.job import JobRequest, JobSpec
from tickwork.model.job_change_record import ChangeAuthor, author_view, changed_fields, note_of
from tickwork.model.json_limits import raw_json
from tickwork.model.past_attempt_input import ExecutionInput, InputSource, RetryPayload
from tickwork.model.public_ids import execution_id
from tickwork.model.stream_event import EventKind
from tickwork.store.batch_columns import stored
from tickwork.store.event_store import write_events
from tickwork.store.pool import Connection, Database
from tickwork.store.port.record import NewEvent
from tickwork.store.query_files import queries

CLOCK_ERROR = timedelta(seconds=10)  # of a worker, at most
_MARGIN = timedelta(seconds=5)  # between the statements of one transaction
_MOST_NOTED = 200  # of the latest executions that ended
_MOST_VERSIONS = 1000


async def keep_version(connection: Connection, tenant_id: int, job: int, spec: JobSpec) -> None:
    """Before the job is changed, and after its waiting executions were moved: those cannot be claimed meanwhile."""
    sql = queries("past_attempt_input")
    version = await connection.fetchval(
        sql["keep_version"], tenant_id, job, spec.task, spec.payload, spec.target
    )
    if version is not None:
        await connection.execute(
            sql["note_given"], tenant_id, job, version, CLOCK_ERROR + _MARGIN, _MOST_NOTED
        )
        await connection.execute(sql["forget_oldest_versions"], job, _MOST_VERSIONS)


async def give_payload(
    connection: Connection, key: ExecutionKey, retry: RetryPayload, before: object
) -> None:
    """To an execution that was made to wait again. `before`: the payload that it had. Its event says who changed it."""
    by = author_view(retry.author)
    given_by = None if by is None else msgspec.json.encode(by).decode()
    attempt = await connection.fetchval(
        queries("past_attempt_input")["give_payload"], *key, retry.payload, given_by
    )
    after = msgspec.json.decode(retry.payload)
    fields = changed_fields(JobRequest(payload=before), JobRequest(payload=after))
    event = NewEvent(
        key.tenant_id,
        EventKind.EXECUTION_EDITED,
        key.job_id,
        key.scheduled_for,
        attempt=attempt,
        detail=msgspec.json.encode(note_of(retry.author, fields)).decode(),
    )
    await write_events(connection, [event])


async def payload_of_last_attempt(connection: Connection, key: ExecutionKey) -> object:
    row = await connection.fetchrow(
        queries("past_attempt_input")["input_of_attempt"], *key, None, CLOCK_ERROR
    )
    return None if row is None else stored(_values(row).payload, object)


class PostgresJobVersionStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("past_attempt_input")

    async def input_of(self, key: ExecutionKey, attempt: int | None) -> ExecutionInput:
        row = await self._database.fetchrow(self._sql["input_of_attempt"], *key, attempt, CLOCK_ERROR)
        if row is None:
            raise NotFound("execution", execution_id(key.job_id, key.scheduled_for))
        if row["ended_at"] is None:
            raise NotFound("attempt", f"{attempt} of execution {execution_id(key.job_id, key.scheduled_for)}")
        return input_view(key, row)


class _Values(NamedTuple):
    source: InputSource
    version: int
    task: str
    payload: bytes | None
    target: bytes | None


def _values(row: asyncpg.Record) -> _Values:
    is_earlier = row["noted_version"] is not None or row["kept_version"] is not None
    if is_earlier:
        version = row["noted_version"] or row["kept_version"]
        task, payload, target = row["kept_task"] or row["task"], row["kept_payload"], row["kept_target"]
    else:
        version, task, payload, target = row["version"], row["task"], row["payload"], row["target"]
    if row["own_payload"] is not None:
        return _Values("retry", version, task, row["own_payload"], target)
    return _Values("earlier version" if is_earlier else "job", version, task, payload, target)


def input_view(key: ExecutionKey, row: asyncpg.Record) -> ExecutionInput:
    values = _values(row)
    return ExecutionInput(
        execution_id=execution_id(key.job_id, key.scheduled_for),
        attempt=row["number"],
        source=values.source,
        version=values.version,
        current_version=row["version"],
        task=values.task,
        payload=None if values.payload is None else raw_json(values.payload),
        http=_shown(values.target),
        is_kept=values.payload is not None,
        given_by=stored((row["given_by"] or "null").encode(), ChangeAuthor),
        given_at=row["given_at"],
    )


def _shown(target: bytes | None) -> HttpTargetView | None:
    call = stored(target, HttpTarget)
    return None if call is None else target_view(redacted(call))
