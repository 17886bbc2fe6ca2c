"""How what is coming is found among many rules: by the index of due times, or in one look at each rule."""

import json
from collections.abc import AsyncIterator

import asyncpg
import pytest

from support.query_plan import explain, scans
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_FILL = """
INSERT INTO tickwork.rule (tenant_id, timing, catch_up, next_at)
SELECT 1, format('{"cron":"%s %s * * %s","timezone":"Europe/Paris"}', n % 60, n / 60 % 24, n / 1440), 'latest',
    date_trunc('day', now()) + n * interval '1 minute'
FROM generate_series(0, 9999) n
"""


@pytest.fixture
async def database(database_url: str, connection: asyncpg.Connection) -> AsyncIterator[Database]:
    await connection.execute(_FILL)
    await connection.execute("ANALYZE tickwork.rule")
    database = Database(database_url, size=1)
    await database.open()
    yield database
    await database.close()


async def test_rules_that_are_due_next_are_read_in_the_order_of_time(database: Database) -> None:
    plan = await explain(database, "upcoming", "rules_next_due_after")
    assert [way.index for way in scans(plan, "rule")] == ["rule_due"]
    assert "Incremental Sort" in plan or "Sort" not in plan


async def test_rules_that_can_be_due_are_looked_at_once_and_joined_with_nothing(database: Database) -> None:
    plan = await explain(database, "upcoming", "rules_possibly_due_after")
    assert len(list(scans(plan, "rule"))) == 1
    assert "Join" not in plan
    assert "Loop" not in plan


async def test_a_rule_can_be_due_when_its_hour_and_minute_come(connection: asyncpg.Connection) -> None:
    """And at the moment of a clock change that skips them."""
    timings = {
        "daily": '{"cron":"30 2 * * *","timezone":"Europe/Paris"}',
        "with seconds": '{"cron":"10 30 2 * * *","timezone":"Europe/Paris"}',
        "hourly": '{"cron":"45 * * * *","timezone":"Europe/Paris"}',
        "often": '{"cron":"*/7 2 * * *","timezone":"Europe/Paris"}',
        "every second": '{"cron":"* 1 2 * * *","timezone":"Europe/Paris"}',
        "of an unknown zone": '{"cron":"30 2 * * *","timezone":"Mars/Base"}',
        "period": '{"every":3600,"start":"2026-01-01T00:20:00Z"}',
        "period that ends": '{"end":"2030-01-01T00:00:00Z","every":7200}',
        "unreadable": '{"any":[]}',
    }
    for timing in timings.values():
        await connection.execute(
            "INSERT INTO tickwork.rule (tenant_id, timing, catch_up, next_at) "
            "VALUES (1, $1, 'latest', '2026-01-01T00:00:00Z'::timestamptz + $2 * interval '1 minute')",
            timing,
            20 if "start" in timing else 0,
        )
    change = 1_774_746_000  # 2026-03-29T01:00:00Z: three o'clock follows two o'clock
    names = {timing: name for name, timing in timings.items()}

    async def waits(second: int, local: int, skipped: dict[str, int], rule: int = 0) -> dict[str, int]:
        rows = await connection.fetch(
            queries("upcoming")["rules_possibly_due_after"],
            1, second, rule, 2**40, 100, json.dumps({"Europe/Paris": local}), json.dumps(skipped),
        )  # fmt: skip
        return {names[row["timing"]]: round(row["earliest"].timestamp()) - second for row in rows}

    anything = {"every second": 0, "of an unknown zone": 0, "unreadable": 0}
    periods = {"period": 20 * 60, "period that ends": 3600}
    before = change - 3600
    assert await waits(before, 3600, {}) == {
        **anything, "daily": 5400, "with seconds": 5410, "hourly": 2700, "often": 0,
        "period": 20 * 60, "period that ends": 0,
    }  # fmt: skip
    assert await waits(change, 10_800, {"Europe/Paris": 3600}) == {
        **anything, **periods, "daily": 0, "with seconds": 0, "hourly": 0, "often": 0,
    }  # fmt: skip
    passed = await waits(change, 10_800, {"Europe/Paris": 3600}, rule=2**40)
    assert passed == {
        **dict.fromkeys(anything, 1), **periods, "daily": 23.5 * 3600, "with seconds": 23.5 * 3600 + 10,
        "hourly": 2700, "often": 60,
    }  # fmt: skip
