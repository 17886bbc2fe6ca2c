"""What the tables of circuit breakers promise when several write at once, and what reading them costs."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial

import asyncpg
import pytest

from support.query_plan import explain
from support.waiting import eventually
from tickwork.model.circuit_breaker import (
    WORKS,
    Breaker,
    BreakerKey,
    BreakerState,
    CallResult,
    CallVerdict,
    close_breaker,
    count_calls,
    start_probe,
    tally_of,
)
from tickwork.model.execution import ExecutionKey, ExecutionStatus
from tickwork.model.transition_after_attempt import FOREVER, Transition
from tickwork.store.circuit_breaker_store import PostgresCircuitBreakerStore
from tickwork.store.outcome_store import PostgresAttemptEnding
from tickwork.store.pool import Database

KEY = BreakerKey(1, "https://api.example.com")
DOWN = CallResult(CallVerdict.FAILS, "ConnectError: refused")
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, size=8)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def store(database: Database) -> PostgresCircuitBreakerStore:
    return PostgresCircuitBreakerStore(database)


async def fail(store: PostgresCircuitBreakerStore, times: int = 1, key: BreakerKey = KEY) -> None:
    await store.change({key: partial(count_calls, tally=tally_of([DOWN] * times))}, make=[key])


async def only(store: PostgresCircuitBreakerStore) -> Breaker:
    (breaker,) = await store.read()
    return breaker


async def test_what_is_written_is_what_is_read(store: PostgresCircuitBreakerStore) -> None:
    await fail(store, 5)
    breaker = await only(store)
    assert (breaker.key, breaker.state, breaker.failures_in_a_row) == (KEY, BreakerState.OPEN, 5)
    ((before, after),) = await store.change({KEY: close_breaker})
    assert before._replace(now=after.now) == breaker._replace(now=after.now)
    assert (await only(store))._replace(now=after.now) == after


async def test_no_failure_is_lost_when_many_nodes_count_at_once(store: PostgresCircuitBreakerStore) -> None:
    others = [BreakerKey(1, f"https://{letter}.example.com") for letter in "abcd"]
    down = partial(count_calls, tally=tally_of([DOWN, WORKS, WORKS]))
    await asyncio.gather(
        *(store.change(dict.fromkeys([KEY, *others], down), make=[KEY, *others]) for _ in range(8)),
        *(
            store.change(dict.fromkeys([*others[::-1], KEY], down), make=[*others[::-1], KEY])
            for _ in range(8)
        ),
    )
    assert [breaker.calls for breaker in await store.read()] == [48] * 5
    assert {breaker.failures for breaker in await store.read()} == {16}


async def test_a_success_alone_makes_no_row(store: PostgresCircuitBreakerStore) -> None:
    assert await store.change({KEY: partial(count_calls, tally=tally_of([WORKS]))}) == []
    assert await store.read() == []


async def test_of_many_that_want_to_be_the_probe_one_is(
    store: PostgresCircuitBreakerStore, connection: asyncpg.Connection
) -> None:
    await fail(store, 5)
    await connection.execute("UPDATE tickwork.breaker SET probe_at = tickwork.clock()")
    asked = await asyncio.gather(
        *(store.change({KEY: partial(start_probe, within=MINUTE)}) for _ in range(20))
    )
    assert sum(after.probe != before.probe for ((before, after),) in asked) == 1


async def test_a_breaker_that_is_forgotten_while_something_is_held_lets_it_go(
    store: PostgresCircuitBreakerStore, database: Database, connection: asyncpg.Connection
) -> None:
    """The hold waits for the breaker's row; whichever comes first, nothing is left behind."""
    await fail(store)
    key = await waiting_execution(connection)
    await connection.execute("UPDATE tickwork.breaker SET touched_at = '2000-01-01', look_at = '2000-01-01'")
    forgetting = connection.transaction()
    await forgetting.start()
    await connection.execute("DELETE FROM tickwork.breaker")
    holding = asyncio.create_task(hold(database, key))
    await eventually(lambda: waits_for_a_lock(database), within=10)
    await forgetting.commit()
    await holding
    assert (await only(store)).state is BreakerState.CLOSED
    assert await store.release_held(10) == 1
    assert await connection.fetchval("SELECT ready_at <= tickwork.clock() FROM tickwork.execution")


async def test_a_breaker_with_something_to_hold_is_not_forgotten(
    store: PostgresCircuitBreakerStore, database: Database, connection: asyncpg.Connection
) -> None:
    await fail(store, 5)
    await hold(database, await waiting_execution(connection))
    await connection.execute(
        "UPDATE tickwork.breaker SET touched_at = '2000-01-01', look_at = '2000-01-01', probe_at = '2000-01-01'"
    )
    await connection.execute("UPDATE tickwork.execution SET ready_at = 'infinity'")
    locked = connection.transaction()
    await locked.start()
    await connection.execute("SELECT FROM tickwork.execution FOR UPDATE")
    assert await store.release_held(10) == 0
    await locked.rollback()
    await connection.execute("UPDATE tickwork.breaker SET look_at = '2000-01-01'")
    assert await store.release_held(10) == 1


async def test_letting_go_leaves_a_job_alone_that_is_being_paused(
    store: PostgresCircuitBreakerStore, database: Database, connection: asyncpg.Connection
) -> None:
    await fail(store)
    await hold(database, await waiting_execution(connection))
    await connection.execute("UPDATE tickwork.breaker SET look_at = '2000-01-01'")
    pausing = connection.transaction()
    await pausing.start()
    await connection.execute("SELECT FROM tickwork.job FOR UPDATE")
    await connection.execute("UPDATE tickwork.job SET status = 'paused'")
    assert await store.release_held(10) == 0
    await pausing.commit()
    await connection.execute("UPDATE tickwork.breaker SET look_at = '2000-01-01'")
    assert await store.release_held(10) == 0
    assert await connection.fetchval("SELECT ready_at = 'infinity' FROM tickwork.execution")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.held_by_breaker") == 0


async def waiting_execution(connection: asyncpg.Connection) -> ExecutionKey:
    await connection.execute(
        "INSERT INTO tickwork.lane (tenant_id, queue, task) VALUES (1, 'default', 'http')"
    )
    await connection.execute(
        "INSERT INTO tickwork.job (id, scheduled_for, active_from, created_at, updated_at, tenant_id, lane_id, "
        "timeout, overlap, priority, task, payload, definition) "
        "SELECT 1, now, now, now, now, 1, 1, 60, 'skip', 2, 'http', '', '' FROM tickwork.clock() AS now"
    )
    at = await connection.fetchval(
        "INSERT INTO tickwork.execution "
        "(tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at) "
        "VALUES (1, tickwork.clock(), 1, 1, 2, 'schedule', 'pending', 'infinity') RETURNING scheduled_for"
    )
    return ExecutionKey(1, at, 1)


async def hold(database: Database, key: ExecutionKey) -> None:
    verdict = Transition(
        key, ExecutionStatus.PENDING, FOREVER, attempt=2, failures=0, losses=0, held_by=KEY.destination
    )
    async with database.transaction() as session:
        await PostgresAttemptEnding(session).settle([verdict], [])


async def waits_for_a_lock(database: Database) -> bool:
    return bool(await database.fetch("SELECT FROM pg_locks WHERE NOT granted"))


async def test_letting_go_reads_no_more_than_it_lets_go(
    database: Database, connection: asyncpg.Connection
) -> None:
    await waiting_execution(connection)
    await connection.execute(
        "INSERT INTO tickwork.held_by_breaker "
        "SELECT 1, 'https://api.example.com', n % 4, tickwork.clock() + n * interval '1 ms', 1 "
        "FROM generate_series(1, 20000) n"
    )
    await connection.execute("ANALYZE tickwork.held_by_breaker")
    free = re.split("CTE in_order|WindowAgg", await explain(database, "circuit_breaker", "release_held"))[0]
    assert "using held_by_breaker_pkey" in free
    assert "Sort" not in free
