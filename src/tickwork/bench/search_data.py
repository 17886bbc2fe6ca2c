"""Millions of jobs and executions to search among, made inside the database.

Four in ten jobs are recurring, on rules that are due once a day; the others are due one time, half of them in the last
days and half in the next month. Three in five have a key of their own, all have names that share words, and most have
tags: common ones, those of fifty teams, and those of twenty thousand customers. One execution in a hundred failed.
"""

from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import NamedTuple

import asyncpg

from tickwork.bench.bench_cluster import BenchCluster
from tickwork.bench.scenario_types import ProgressLine
from tickwork.store.job_index.write_index import PostgresJobIndex
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database

RULES = 240
DAYS = 6  # of executions
_TOGETHER = 200_000
_AREAS = ("reports", "mail", "billing", "sync", "media")
_KINDS = ("weekly", "daily", "hourly", "import", "export", "clean", "check", "send", "render", "archive")
TASKS = [f"{area}.{kind}" for area in _AREAS for kind in _KINDS]
QUEUES = ("default", "mail", "bulk", "gpu", "slow")
OWNERS, TEAMS, CUSTOMERS = 100, 50, 20_000

_TASKS = "INSERT INTO tickwork.task (tenant_id, name, parameters) SELECT 1, unnest($1::text[]), '{}'"
_LANES = """
INSERT INTO tickwork.lane (tenant_id, queue, task)
SELECT 1, queue, task FROM unnest($1::text[]) AS queue, unnest($2::text[]) AS task ON CONFLICT DO NOTHING
"""
_RULES = """
INSERT INTO tickwork.rule (tenant_id, timing, catch_up, next_at, last_at)
SELECT 1, replace(timing, '"7 7 7 7 *"', format('"%s %s * * *"', date_part('minute', at), date_part('hour', at))),
    catch_up, at, at - interval '1 day'
FROM (SELECT timing, catch_up FROM tickwork.rule ORDER BY id LIMIT 1) pattern,
    (SELECT date_trunc('minute', now()) + interval '2 hours' + n * interval '5 minutes' AS at
     FROM generate_series(1, $1::int) AS n) due
"""
# The numbers of the arithmetic are primes, so that one property of a job says nothing about another. Jobs were
# cancelled just now: the server deletes those that were cancelled before the history that it keeps.
_JOBS = """
INSERT INTO tickwork.job (id, rule_id, scheduled_for, active_from, created_at, updated_at, tenant_id, lane_id, timeout,
    status, overlap, priority, deferred, task, payload, name, key, tags, owner, description, definition)
SELECT j.id, CASE WHEN recurring THEN rules[1 + n % $3] END, due, created, created,
    CASE WHEN n % 103 = 7 THEN $5 ELSE created END, 1, lane.id, 300,
    (CASE WHEN n % 101 = 7 THEN 'paused' WHEN n % 103 = 7 THEN 'cancelled' ELSE 'active' END)::tickwork.job_status,
    'skip', priority, coalesce(due > $7::timestamptz, false), lane.task, '{}', name, key, tags, owner, description,
    convert_to(json_strip_nulls(json_build_object('name', name, 'key', key, 'task', lane.task, 'queue', lane.queue,
        'tags', tags, 'owner', owner, 'description', description))::text, 'UTF8')
FROM (
    SELECT nextval('tickwork.job_id') AS id, n, n % 5 < 2 AS recurring, $4::bigint[] AS rules,
        $5::timestamptz - ($6 - n) * (interval '300 days' / $6) - interval '7 days' AS created,
        (ARRAY[2, 2, 2, 2, 2, 2, 2, 3, 1, 2, 2, 3, 2, 2, 2, 2, 2, 2, 0])[1 + n % 19] AS priority,
        CASE WHEN n % 5 >= 2 THEN $5 + interval '1 second'
            * CASE WHEN n % 7 < 3 THEN -((n * 7919) % 518400) ELSE (n * 7919) % 2592000 END END AS due,
        (ARRAY['Weekly report', 'Daily invoice run', 'Newsletter', 'Backup of', 'Synchronise', 'Resize images of',
               'Clean up'])[1 + n % 7] || ' customer ' || (n * 31) % 199999 AS name,
        CASE WHEN n % 5 < 3 THEN 'job-' || n END AS key,
        array_remove(ARRAY[CASE n % 3 WHEN 0 THEN 'eu' WHEN 1 THEN 'us' END, 'team-' || n % 53 % $8,
            CASE WHEN n % 2 = 0 THEN 'customer-' || (n * 17) % $9 END], NULL) AS tags,
        'owner-' || (n * 13) % $10 AS owner,
        CASE WHEN n % 10 < 3 THEN 'Looked after by the night shift, see page ' || n % 997 END AS description
    FROM generate_series($1::bigint, $2::bigint) AS n
) j
JOIN (
    SELECT id, queue, task, row_number() OVER (ORDER BY id) - 1 AS number, count(*) OVER () AS lanes FROM tickwork.lane
) lane ON lane.number = (j.n * 11) % lane.lanes
ORDER BY j.id
"""
_EXECUTION = """
INSERT INTO tickwork.execution (scheduled_for, job_id, started_at, finished_at, tenant_id, lane_id, worker_id, status,
    trigger, priority, failures, reason)
"""
_PAST = """
    at + CASE WHEN id % 499 = 3 THEN interval '5 minutes' ELSE interval '20 milliseconds' END,
    at + CASE WHEN id % 499 = 3 THEN interval '6 minutes' WHEN id % 701 = 3 THEN interval '10 minutes'
        ELSE interval '2 seconds' END, 1, lane_id, 1 + (id % 200)::int,
    (CASE WHEN (id + salt) % 100 = 9 THEN 'failed' ELSE 'completed' END)::tickwork.execution_status, 'schedule',
    priority, CASE WHEN (id + salt) % 100 = 9 THEN 1 ELSE 0 END, NULL
"""
_ROUND = f"""{_EXECUTION}
SELECT at, id, {_PAST} FROM (
    SELECT id, lane_id, priority, $2::timestamptz AS at, $3::int AS salt FROM tickwork.job
    WHERE rule_id = $1 AND status <> 'cancelled' ORDER BY id
) j
"""  # noqa: S608 (made of nothing but the texts above)
_PAST_ONCE = f"""{_EXECUTION}
SELECT at, id, {_PAST} FROM (
    SELECT id, lane_id, priority, scheduled_for AS at, 0 AS salt FROM tickwork.job
    WHERE rule_id IS NULL AND scheduled_for >= $1 AND scheduled_for < $2 ORDER BY scheduled_for, id
) j
"""  # noqa: S608 (likewise)
_COMING_ONCE = """
INSERT INTO tickwork.execution (scheduled_for, job_id, ready_at, tenant_id, lane_id, status, trigger, priority)
SELECT scheduled_for, id, CASE WHEN status = 'active' THEN scheduled_for ELSE 'infinity' END, 1, lane_id, 'pending',
    'schedule', priority
FROM tickwork.job WHERE rule_id IS NULL AND scheduled_for >= $1 AND scheduled_for < $2 AND NOT deferred
ORDER BY scheduled_for, id
"""
_ROUNDS = """
INSERT INTO tickwork.round (rule_id, scheduled_for)
SELECT rule_id, next_at - day * interval '1 day' FROM unnest($1::bigint[], $2::timestamptz[]) AS r (rule_id, next_at),
    generate_series(1, $3::int) AS day
"""
# What is out of the ordinary has rows of its own.
_FAILURES = """
WITH failed AS (
    SELECT scheduled_for, job_id, lane_id, finished_at FROM tickwork.execution
    WHERE tenant_id = 1 AND status = 'failed' AND scheduled_for >= $1 AND scheduled_for < $2
), attempts AS (
    INSERT INTO tickwork.attempt (scheduled_for, job_id, tenant_id, attempt, outcome, worker_id, finished_at, error)
    SELECT scheduled_for, job_id, 1, 1, 'failed', 1, finished_at, convert_to(format(
        '{"type": "%s", "message": "no"}', CASE WHEN job_id % 50 = 0 THEN 'Timeout' ELSE 'ConnectionError' END), 'UTF8')
    FROM failed
)
INSERT INTO tickwork.event (number, tenant_id, at, kind, job_id, scheduled_for, lane_id, attempt, error_type)
SELECT $3 + row_number() OVER (ORDER BY scheduled_for), 1, finished_at, 'execution.failed', job_id, scheduled_for,
    lane_id, 1, CASE WHEN job_id % 50 = 0 THEN 'Timeout' ELSE 'ConnectionError' END
FROM failed
"""
_EXTREMES = """
INSERT INTO tickwork.event (number, tenant_id, at, kind, job_id, scheduled_for, lane_id, attempt)
SELECT $3 + row_number() OVER (), 1, finished_at,
    CASE WHEN job_id % 499 = 3 THEN 'execution.late' ELSE 'execution.slow' END, job_id, scheduled_for, lane_id, 1
FROM tickwork.execution
WHERE tenant_id = 1 AND scheduled_for >= $1 AND scheduled_for < $2 AND finished_at IS NOT NULL
    AND (job_id % 499 = 3 OR job_id % 701 = 3)
"""
_FAILING = """
INSERT INTO tickwork.failing_job (job_id, tenant_id, failures_in_a_row, failing_since, last_failed_at)
SELECT job_id, 1, 1, max(finished_at), max(finished_at) FROM (
    SELECT e.job_id, e.finished_at FROM tickwork.event v
    JOIN tickwork.execution e ON e.tenant_id = 1 AND e.scheduled_for = v.scheduled_for AND e.job_id = v.job_id
    JOIN tickwork.job j ON j.id = e.job_id AND j.rule_id IS NOT NULL
    WHERE v.tenant_id = 1 AND v.kind = 'execution.failed' AND v.scheduled_for >= $1
) f GROUP BY job_id
"""
_FORGET_UNCOUNTED = """
DELETE FROM tickwork.statistic_recount;
UPDATE tickwork.statistic_upkeep SET fired_until = date_trunc('minute', now())
"""
_IS_INDEXED = "SELECT indexed_to >= (SELECT max(id) FROM tickwork.job) FROM tickwork.job_index"


class SearchData(NamedTuple):
    jobs: int
    executions: int
    now: datetime


async def make_data(cluster: BenchCluster, jobs: int, executions: int, progress: ProgressLine) -> SearchData:
    """The executions that are left after those of the one-time jobs are divided among the recurring ones."""
    database = cluster.database
    server = await cluster.start_server()
    await database.execute("SET synchronous_commit = off")
    await database.execute(_TASKS, TASKS)
    async with cluster.client() as client:
        await client.create_job(task=TASKS[0], schedule="7 7 7 7 *")
    await cluster.stop(server)
    await database.execute(_LANES, list(QUEUES), TASKS)
    await database.execute(_RULES, RULES)
    rules = await database.fetch("SELECT id, next_at FROM tickwork.rule ORDER BY id OFFSET 1")
    now = datetime.now(UTC)
    horizon = await _partitions(cluster, now)
    await _make_jobs(cluster, jobs, [rule["id"] for rule in rules], now, horizon, progress)
    await database.execute("ANALYZE tickwork.job")
    made = await _make_executions(cluster, executions, rules, now, horizon, progress)
    return SearchData(jobs, made, now)


async def _partitions(cluster: BenchCluster, now: datetime) -> datetime:
    """Makes the partitions of the past days. Returns until when there are partitions."""
    store = Database(cluster.database_url, size=2)
    await store.open()
    try:
        partitions = Partitions(store, history_days=30)
        await partitions.make_ahead()
        await partitions.make_for([now - timedelta(days=day) for day in range(DAYS + 2)])
        return partitions.horizon()
    finally:
        await store.close()


async def _make_jobs(
    cluster: BenchCluster,
    jobs: int,
    rules: list[int],
    now: datetime,
    horizon: datetime,
    progress: ProgressLine,
) -> None:
    made = progress.counter("jobs", jobs)
    for begin in range(1, jobs + 1, _TOGETHER):
        end = min(begin + _TOGETHER - 1, jobs)
        await cluster.database.execute(
            _JOBS, begin, end, RULES, rules, now, jobs, horizon, TEAMS, CUSTOMERS, OWNERS, timeout=600
        )
        made(end - begin + 1)


async def _make_executions(
    cluster: BenchCluster,
    executions: int,
    rules: list[asyncpg.Record],
    now: datetime,
    horizon: datetime,
    progress: ProgressLine,
) -> int:
    database = cluster.database
    count = progress.counter("executions", executions)
    made = 0

    async def make(sql: str, *arguments: object) -> None:
        nonlocal made
        more = int((await database.execute(sql, *arguments, timeout=600)).rsplit(" ", 1)[1])
        made += more
        count(more)

    day = timedelta(days=1)
    for age in range(DAYS + 1, 0, -1):
        await make(_PAST_ONCE, now - age * day, now - (age - 1) * day)
    for age in range(DAYS + 3):
        await make(_COMING_ONCE, now + age * day, min(now + (age + 1) * day, horizon))
    await database.execute(_ROUNDS, [rule["id"] for rule in rules], [rule["next_at"] for rule in rules], DAYS)
    for age in range(1, DAYS + 1):
        for rule in rules:
            if made < executions:
                await make(_ROUND, rule["id"], rule["next_at"] - age * day, age)
    for age in range(DAYS + 1, -1, -1):
        for sql in (_FAILURES, _EXTREMES):
            number = await database.fetchval("SELECT coalesce(max(number), 0) FROM tickwork.event")
            await database.execute(sql, now - age * day, now - (age - 1) * day, number, timeout=600)
    await database.execute(_FAILING, now - day, timeout=600)
    await database.execute("UPDATE tickwork.last_event SET number = (SELECT max(number) FROM tickwork.event)")
    return made


class IndexTimes(NamedTuple):
    indexed: int
    indexing: float  # seconds
    settled: int
    settling: float


async def index_all(cluster: BenchCluster, progress: ProgressLine) -> IndexTimes:
    """Without the rests that a server takes."""
    store = Database(cluster.database_url, size=2)
    await store.open()
    index = PostgresJobIndex(store, wait_for=1, settle_after=timedelta(0))
    indexed = settled = 0
    try:
        begun = perf_counter()
        # A step may have nothing to do yet: it ends what the server began before there were jobs.
        while not await cluster.database.fetchval(_IS_INDEXED):
            indexed += await index.index()
            progress.update(f"indexed: {indexed:,}")
        between = perf_counter()
        while done := await index.settle():
            settled += done
            progress.update(f"settled: {settled:,}")
        ended = perf_counter()
    finally:
        await store.close()
    return IndexTimes(indexed, between - begun, settled, ended - between)


async def let_rest(cluster: BenchCluster, progress: ProgressLine) -> None:
    """As autovacuum leaves data that has been there for a while; it would be in the middle of it otherwise. Likewise,
    the server would count for an hour what came so late that it was not counted when it happened."""
    await cluster.database.execute(_FORGET_UNCOUNTED)
    for table in ("job", "execution", "attempt", "event", "job_term", "job_segment"):
        progress.update(f"vacuum of {table}")
        await cluster.database.execute(f"VACUUM (ANALYZE) tickwork.{table}", timeout=1800)
    await cluster.database.execute("CHECKPOINT")
