"""The plans of the hot queries, at several sizes: by index, whatever the planner thinks of the tables."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from support.database import create_database, drop_database
from tickwork.store.pool import Database
from tickwork.store.query import queries

_PARAMETER = re.compile(r"\$(\d+)(::\w+(?:\.\w+)?(?:\[\])?)?")
_NOW = "now()"
_DUE = """
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, worker_id, finished_at)
SELECT 1, date_trunc('day', now()) + n * interval '1 ms', n, n % 10 + 1, 2, 'schedule',
    (CASE WHEN n % 5 = 0 THEN 'pending' WHEN n % 5 = 1 THEN 'running' ELSE 'completed' END)::tickwork.execution_status,
    CASE WHEN n % 5 = 0 THEN now() END, CASE WHEN n % 5 > 0 THEN 1 END, CASE WHEN n % 5 > 1 THEN now() END
FROM generate_series(1, $1::int) n
"""


@pytest.fixture(
    scope="module", params=[None, 0, 1_000, 100_000], ids=["a new day", "empty", "small", "large"]
)
def filled_url(request: pytest.FixtureRequest, cluster: str) -> Iterator[str]:
    """Plans are only asked for, so one database serves all that ask."""
    url = asyncio.run(_fill(cluster, request.param))
    yield url
    asyncio.run(drop_database(cluster, url))


async def _fill(cluster: str, executions: int | None) -> str:
    url = await create_database(cluster)
    if executions is not None:  # else nobody has counted yet
        connection = await asyncpg.connect(url)
        await connection.execute(_DUE, executions)
        await connection.execute("ANALYZE tickwork.execution")
        await connection.close()
    return url


@pytest.fixture
async def filled(filled_url: str) -> AsyncIterator[Database]:
    database = Database(filled_url, size=1)
    await database.open()
    yield database
    await database.close()


_SAMPLES = {"int": "1", "bigint": "1794790689000000", "timestamptz": "now()"}
_KEYED = [  # what looks executions up by their keys, thousands at once: each by its whole key, whichever is estimated
    ("record", "complete"),
    ("record", "lock_held"),
    ("record", "settle"),
    ("record", "note_started"),
    ("dispatch", "claim"),
    ("trigger", "cancel_blockers"),
    ("trigger", "blockers"),
    ("dependency", "find_parents"),
    ("dependency", "hold"),
    ("dependency", "let_go"),
    ("dependency", "look_at_unsure"),
]


@pytest.mark.parametrize("batch", [1, 100, 5_000])
@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize(("file", "name"), _KEYED)
async def test_executions_are_looked_up_by_their_whole_key(
    filled: Database, file: str, name: str, alike: bool, batch: int
) -> None:
    """The wrong way round, every execution of the day is held against every one of the batch."""

    def some(match: re.Match[str]) -> str:
        kind = (match[2] or "::int").removeprefix("::")
        element = kind.removesuffix("[]")
        if kind == element:
            return f"1::{kind}"
        if alike and match[1] != "3":  # one value stands for all, but for the jobs
            return f"ARRAY[{_SAMPLES[element]}]::{kind}" if element in _SAMPLES else f"ARRAY[NULL]::{kind}"
        return f"array_fill(NULL::{element}, ARRAY[{batch}])"

    plan = await _plan(filled, _PARAMETER.sub(some, queries(file)[name]))
    conditions = re.findall(r"Index (?:Only )?Scan using execution_.*_pkey.*\n\s*Index Cond: (.*)", plan)
    assert conditions, plan
    for condition in conditions:
        assert "tenant_id = " in condition
        assert "scheduled_for = " in condition
        assert "job_id = " in condition
    assert "Seq Scan on execution" not in plan


@pytest.mark.parametrize("lanes", [1, 100])
async def test_claiming_looks_only_at_what_waits(filled: Database, lanes: int) -> None:
    plan = await _explain(filled, "dispatch", "pick_ready", {
        1: f"array(SELECT generate_series(1, {lanes}))", 2: f"array_fill(2, ARRAY[{lanes}])",
        3: f"array_fill(100, ARRAY[{lanes}])", 4: "interval '1 s'",
    })  # fmt: skip
    assert "_lane_id_priority_ready_at_idx" in plan
    assert "Seq Scan on execution" not in plan
    assert "->  Sort" not in plan


async def test_lines_are_found_by_leaps(filled: Database) -> None:
    plan = await _explain(filled, "dispatch", "waiting", {1: "interval '1 s'"})
    assert re.search(r"Index Cond: .*ROW\(lane_id, priority\) > ROW", plan), plan
    assert "Seq Scan on execution" not in plan
    assert "->  Sort" not in plan


async def test_what_runs_under_a_gate_is_looked_up_by_its_whole_key(filled: Database) -> None:
    plan = await _explain(filled, "gate", "running", {1: "ARRAY[1]"})
    conditions = re.findall(r"Index (?:Only )?Scan using execution_.*_pkey.*\n\s*Index Cond: (.*)", plan)
    assert conditions, plan
    assert all("scheduled_for = " in condition and "job_id = " in condition for condition in conditions)


@pytest.mark.parametrize(
    ("file", "name", "arguments"),
    [
        ("dispatch", "held_by", {1: "1", 2: "interval '1 s'"}),
        ("worker", "held", {1: "1"}),
        ("report", "attempt_standing", {1: "1", 2: "now()", 3: "1", 4: "1"}),
        ("report", "begin_attempt", {1: "1", 2: "now()", 3: "1", 4: "1"}),
        ("read", "workers", {1: "1", 2: "1", 3: "500", 4: "NULL"}),
    ],
)
async def test_what_a_worker_holds_is_looked_up_by_its_whole_key(
    filled: Database, file: str, name: str, arguments: dict[int, str]
) -> None:
    plan = await _explain(filled, file, name, arguments)
    conditions = re.findall(r"Index (?:Only )?Scan using execution_.*_pkey.*\n\s*Index Cond: (.*)", plan)
    assert conditions, plan
    assert all("scheduled_for = " in condition and "job_id = " in condition for condition in conditions)
    assert "Seq Scan" not in plan


async def test_a_waiting_claim_looks_only_at_what_waits(filled: Database) -> None:
    plan = await _explain(filled, "worker", "is_there_news", {
        1: "1", 2: "ARRAY['work']", 3: "ARRAY['mail']", 4: "1",
    })  # fmt: skip
    assert "_lane_id_priority_ready_at_idx" in plan
    assert "Seq Scan" not in plan


async def test_listing_walks_the_primary_key_backwards(filled: Database) -> None:
    plan = await _explain(filled, "read", "executions", {
        1: "1", 2: "'9999-01-01'::timestamptz", 3: "9223372036854775807", 4: "'1970-01-01'::timestamptz",
        5: "'9999-01-01'::timestamptz", 6: "5000", 7: "50", 8: "NULL", 9: "NULL", 10: "NULL", 11: "NULL",
    })  # fmt: skip
    assert "Seq Scan on execution" not in plan


@pytest.mark.parametrize("name", ["to_fill", "look_at_active"])
async def test_a_backfill_looks_its_executions_up_by_their_whole_key(filled: Database, name: str) -> None:
    plan = await _explain(filled, "backfill", name, {
        1: "1", 2: "7", 3: f"array_fill({_NOW}, ARRAY[1000])", 4: "'failed'",
    })  # fmt: skip
    conditions = re.findall(r"Index Cond: (.*)", plan)
    assert conditions, plan
    assert all("scheduled_for = " in condition and "job_id = " in condition for condition in conditions)


async def _explain(database: Database, file: str, name: str, values: dict[int, str]) -> str:
    def value(match: re.Match[str]) -> str:
        return f"({values[int(match[1])]}){match[2] or ''}"

    return await _plan(database, _PARAMETER.sub(value, queries(file)[name]))


async def _plan(database: Database, query: str) -> str:
    return "\n".join(row[0] for row in await database.fetch("EXPLAIN (COSTS OFF) " + query))
