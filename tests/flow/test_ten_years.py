"""Ten years pass, with jobs that come, go and are edited: no table grows, and nothing takes more than on the first day.

The suite lets the years pass in few seasons. TICKWORK_TEST_SEASONS=365 does so in many, which takes a while.
"""

import json
import os
from datetime import timedelta
from typing import NamedTuple

import asyncpg
import pytest

from support.node_steps import later, run_due
from support.sent_statements import all_statements_sent
from tickwork.config import Settings
from tickwork.loop_names import LoopName
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.public_ids import parse_job_id
from tickwork.model.retention import Retention
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SEASONS = int(os.environ.get("TICKWORK_TEST_SEASONS", "10"))
SEASON = timedelta(days=3650) / SEASONS
HOUR = timedelta(hours=1)
BROKEN = Failure("ValueError", "broken", "Traceback …")
_UPKEEP: tuple[LoopName, ...] = (
    "number events",
    "apply retention",
    "maintain partitions",
    "delete past jobs",
    "delete ended jobs",
    "delete old events",
    "delete old errors",
    "delete old statistics",
    "delete old notifications",
    "index jobs",
    "settle one-time jobs",
    "clean job index",
    "clean up slots",
    "update sessions",
)
_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'tickwork'::regnamespace AND relkind IN ('r', 'p') AND relname !~ '_[0-9]{6,}$'
    AND relname <> 'settable_clock'"""
_PARTITIONS = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'tickwork.execution'::regclass"
# Counting minute by minute takes as many steps as minutes have passed. Other tests let statistics be kept up.
_STATISTICS_ARE_KEPT_UP = """
UPDATE tickwork.statistic_upkeep SET fired_until = date_trunc('minute', tickwork.clock()),
    hours_until = date_trunc('hour', tickwork.clock()), days_until = date_trunc('day', tickwork.clock())"""
_READS = (  # what firing and claiming begin with
    "SELECT id FROM tickwork.rule WHERE next_at <= tickwork.clock() ORDER BY next_at LIMIT 100",
    """SELECT job_id FROM tickwork.execution
       WHERE lane_id = 1 AND priority = 2 AND ready_at <= tickwork.clock() ORDER BY ready_at LIMIT 100""",
)

# The index of jobs has up to a thousand rows for 65,536 jobs; hours are not merged here.
_BOUNDED_OTHERWISE = {"job_term", "statistic", "statistic_remerge"}
_ROWS_MORE = 3  # one that goes a little later than another; a leak would be one in each season
_SLACK = 10  # buffers: pages that have not been vacuumed yet


class Cost(NamedTuple):
    statements_to_start: int
    statements_to_fire: int
    buffers: int


class Installation(NamedTuple):
    node: Node
    clock: SettableClock
    worker: ScriptedWorker
    connection: asyncpg.Connection
    settings: Settings

    async def make(self, **fields: object) -> int:
        request = JobRequest(task="work", retry=RetryRequest(max_attempts=1), **fields)  # type: ignore[arg-type]
        (made,) = await self.node.jobs.create(TENANT, [request])
        return parse_job_id(made.id)

    async def live_through_a_season(self, number: int, edited: int) -> None:
        """Jobs of each kind come, run and end."""
        for each in range(3):
            await self.make(key=f"once {number} {each}")
        await self.make(retention=Retention(age="1h"))
        await self.make(schedule={"every": "1h", "max_runs": 1})
        cancelled = await self.make(schedule=f"every {number + 61}m")
        await self.node.jobs.patch(
            TENANT, edited, {"schedule": f"every {number + 25}h", "payload": {"n": number}}
        )
        await later(self.clock, self.worker, 2 * HOUR)
        await run_due(self.node)
        runs = await self.worker.runs()
        await self.worker.fail(runs[0], BROKEN)
        await self.worker.report_all(runs[1:])
        await self.node.jobs.cancel(TENANT, cancelled)
        await later(self.clock, self.worker, SEASON - 2 * HOUR)
        await run_due(self.node)
        await self.worker.report_all(await self.worker.runs())
        await self.keep_up()

    async def keep_up(self) -> None:
        await self.connection.execute(_STATISTICS_ARE_KEPT_UP)
        for loop in _UPKEEP:
            while await self.node.step(loop):
                pass

    async def rows(self) -> dict[str, int]:
        tables = [row["relname"] for row in await self.connection.fetch(_TABLES)]
        count = "SELECT count(*) FROM tickwork."
        rows = {table: await self.connection.fetchval(count + table) for table in tables}
        return rows | {"partitions": await self.connection.fetchval(_PARTITIONS)}

    async def cost(self) -> Cost:
        """Of a second node that starts, and fires a round."""
        await self.connection.execute("VACUUM ANALYZE tickwork.rule")
        await later(self.clock, self.worker, HOUR)
        other = Node(self.settings)
        with all_statements_sent() as sent:
            await other.open()
            started = len(sent)
            await other.step("fire")
        buffers = sum([await self._buffers(read) for read in _READS])
        await other.stop()
        await run_due(self.node)
        await self.worker.report_all(await self.worker.runs())
        return Cost(started, len(sent) - started, buffers)

    async def _buffers(self, read: str) -> int:
        (plan,) = json.loads(
            await self.connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {read}")
        )
        return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


@pytest.fixture
async def installation(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection, settings: Settings
) -> Installation:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    return Installation(still_node, clock, worker, connection, settings)


async def test_no_table_grows_and_nothing_takes_more_than_on_the_first_day(
    installation: Installation,
) -> None:
    for _ in range(3):
        await installation.make(schedule="every 1h", retention=Retention(last=10))
    edited = await installation.make(schedule="every 24h")
    await installation.live_through_a_season(0, edited)
    at_first = await installation.cost()
    rows: list[dict[str, int]] = []
    for number in range(1, SEASONS):
        await installation.live_through_a_season(number, edited)
        rows.append(await installation.rows())
    early, late = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    for table in early[0].keys() - _BOUNDED_OTHERWISE:
        assert max(each[table] for each in late) <= max(each[table] for each in early) + _ROWS_MORE, table
    at_last = await installation.cost()
    assert at_last.statements_to_start <= at_first.statements_to_start
    assert at_last.statements_to_fire <= at_first.statements_to_fire
    assert at_last.buffers <= at_first.buffers + _SLACK
