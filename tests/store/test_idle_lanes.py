"""Lanes and limits of keys are never deleted, so what looks for work all the time must not read those without any."""

from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_LANES = """
    INSERT INTO tickwork.lane (tenant_id, queue, task, placement)
    SELECT 1, 'mail', 'send', '{"limits":[{"key":"customer-' || n || '"}]}' FROM generate_series(1, 20000) AS n"""
_LIMITERS = """
    INSERT INTO tickwork.limiter (tenant_id, kind, name)
    SELECT 1, 'key', 'customer-' || n FROM generate_series(1, 20000) AS n"""
_FEW = 300  # pages
_NOW = datetime.fromisoformat("2026-01-01T00:00:00Z")
_LATE = ["execution.late", _NOW, _NOW, timedelta(seconds=60), 1000]


@pytest.mark.parametrize(
    ("file", "name", "arguments"),
    [("late_and_slow_events", "write_late", _LATE), ("deadline_warning", "deadline_lanes", []),
     ("dispatch", "waiting_lanes", [timedelta()]), ("queue", "bounded_lanes", []),
     ("queue", "queue_names", [1, "", 100])],
)  # fmt: skip
async def test_are_not_read(
    database_url: str, connection: asyncpg.Connection, file: str, name: str, arguments: list[Any]
) -> None:
    await connection.execute(f"{_LANES}; {_LIMITERS}")
    await connection.execute("VACUUM ANALYZE tickwork.lane, tickwork.limiter")
    database = Database(database_url, size=1)
    await database.open()
    await Partitions(database, 30).make_ahead()
    (row,) = await database.fetch(
        f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {queries(file)[name]}", *arguments
    )
    await database.close()
    (plan,) = msgspec.json.decode(row[0])
    assert plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] < _FEW
