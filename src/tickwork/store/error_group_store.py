"""Failures grouped by cause: the SQL behind."""

from datetime import UTC, datetime, timedelta

import asyncpg

from tickwork.model.error_group import COUNTED, ErrorGroupView
from tickwork.model.field_types import Page
from tickwork.model.public_ids import execution_id, from_micros, to_micros
from tickwork.model.stream_event import fingerprint_text
from tickwork.store.page_cursor import ErrorGroupPlace, decode_cursor, encode_cursor
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries

_END = ErrorGroupPlace("errors", to_micros(datetime(9999, 1, 1, tzinfo=UTC)), 2**63 - 1)


async def count_failures(connection: Connection, after: int, until: int) -> None:
    """In the transaction that numbered these events."""
    await connection.execute(queries("error_group")["count_failures"], after, until)


class PostgresErrorGroupStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("error_group")

    async def page(
        self, tenant_id: int, task: str | None, error: str | None, limit: int, cursor: str | None
    ) -> Page[ErrorGroupView]:
        begin = decode_cursor(cursor, ErrorGroupPlace) if cursor else _END
        rows = await self._read(tenant_id, begin, task, error, limit, None)
        last = rows[-1] if len(rows) == limit else None
        end = ErrorGroupPlace("errors", to_micros(last["last_seen"]), last["fingerprint"]) if last else None
        return Page([_view(row) for row in rows], encode_cursor(end))

    async def group(self, tenant_id: int, fingerprint: int) -> ErrorGroupView | None:
        rows = await self._read(tenant_id, _END, None, None, 1, fingerprint)
        return _view(rows[0]) if rows else None

    async def _read(
        self,
        tenant_id: int,
        begin: ErrorGroupPlace,
        task: str | None,
        error: str | None,
        limit: int,
        only: int | None,
    ) -> list[asyncpg.Record]:
        return await self._database.fetch(
            self._sql["error_groups"],
            tenant_id, from_micros(begin.last_seen), begin.fingerprint, task, error, limit, COUNTED, only,
        )  # fmt: skip

    async def delete_old(self, older_than: timedelta) -> bool:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["delete_old_groups"], older_than)
        return False


def _view(row: asyncpg.Record) -> ErrorGroupView:
    return ErrorGroupView(
        fingerprint=fingerprint_text(row["fingerprint"]),
        task=row["task"],
        type=row["error_type"],
        message=row["message"],
        count=row["failed_attempts"],
        failed_executions=row["failed_executions"],
        dead_letters=row["dead_letters"],
        last_hour=row["last_hour"],
        first_seen=row["first_seen"],
        last_seen=row["last_seen"],
        executions=[execution_id(job, from_micros(at)) for at, job in row["executions"] or ()],
    )
