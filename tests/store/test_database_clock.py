"""The node's idea of the database's clock is never ahead of it."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from tickwork.model.public_ids import to_micros
from tickwork.store.database_clock import DatabaseClock
from tickwork.store.pool import Database
from tickwork.testing.clock import SettableClock


@pytest.fixture
async def database(database_url: str):
    database = Database(database_url, size=1)
    await database.open()
    yield database
    await database.close()


async def test_is_never_ahead_of_the_database(database: Database) -> None:
    clock = DatabaseClock(database)
    await clock.read()
    for _ in range(20):
        shown = clock.micros()
        (row,) = await database.fetch("SELECT clock_timestamp() AS now")
        assert shown <= to_micros(row["now"])


async def test_follows_a_database_clock_that_is_set_back(database: Database, database_url: str) -> None:
    settable, clock = SettableClock(database_url), DatabaseClock(database)
    await clock.read()
    earlier = datetime.now(UTC) - timedelta(hours=1)
    await settable.set(earlier)
    await clock.read()
    assert clock.micros() < to_micros(earlier + timedelta(minutes=1))


async def test_says_when_the_machines_clock_is_off(database: Database, database_url: str) -> None:
    clock = DatabaseClock(database)
    await SettableClock(database_url).set(datetime.now(UTC) - timedelta(hours=1))
    with capture_logs() as logs:
        await clock.read()
        await clock.read()
    assert [entry["event"] for entry in logs] == ["this machine's clock is off"]
    assert REGISTRY.get_sample_value("tickwork_clock_skew_seconds") == pytest.approx(3600, abs=60)
