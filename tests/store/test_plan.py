"""The plans in use, at several sizes: by key or by line, whatever the planner thinks of the tables."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from support.query_plan import Scan, all_statements, explain, explain_run, scans
from tickwork.store.pool import Database
from tickwork.testing import TemporaryPostgres

_FILL = """
WITH lane AS (
    INSERT INTO tickwork.lane (tenant_id, queue, task, placement)
    SELECT 1, 'q' || n % 5, 'work', n::text FROM generate_series(1, 50) n
)
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, worker_id, finished_at)
SELECT 1, date_trunc('day', now()) + n * interval '1 ms', n, 1 + n % 50, n % 4, 'schedule',
    (CASE WHEN n % 5 = 0 THEN 'pending' WHEN n % 5 = 1 THEN 'running' ELSE 'completed' END)::tickwork.execution_status,
    CASE WHEN n % 5 = 0 THEN now() END, CASE WHEN n % 5 > 0 THEN 1 END, CASE WHEN n % 5 > 1 THEN now() END
FROM generate_series(1, $1::int) n
"""
_KEY = ("tenant_id", "scheduled_for", "job_id")
_COLUMNS = {  # that have to be known to go by an index of a partition
    "pkey": _KEY,
    "lane_id_priority_ready_at_idx": ("lane_id", "priority"),
    "tenant_id_job_id_idx": ("tenant_id", "job_id"),
}
_HOT = {
    ("find_overlap_blockers", "blockers"),
    ("find_overlap_blockers", "blockers_one_by_one"),
    ("dispatch", "pick_ready"),
    ("dispatch", "claim"),
    ("dispatch", "running_on_worker"),
    ("outcome", "complete"),
    ("outcome", "lock_running"),
    ("outcome", "settle"),
    ("outcome", "note_started"),
}
_SINCE_17 = {("find_overlap_blockers", "blockers")}  # before, `blockers_one_by_one` is used
_OF_ONE_LANE = {
    ("add_move_and_stop_unstarted_executions", "note_unended"),
    ("add_move_and_stop_unstarted_executions", "pause_waiting"),
    ("add_move_and_stop_unstarted_executions", "resume_waiting"),
    ("add_move_and_stop_unstarted_executions", "cancel_waiting"),
    ("add_move_and_stop_unstarted_executions", "move_waiting"),
    ("add_move_and_stop_unstarted_executions", "waiting_in_other_lanes"),
}
_LONGER = _OF_ONE_LANE | {
    ("dispatch", "waiting_lanes"),  # leaps from line to line
    ("late_and_slow_events", "write_late"),  # likewise
    ("execution_search", "search_in_order_of_time"),  # a slice
    ("execution_search", "first_and_last_execution"),
    ("execution_search", "waiting_keys"),  # the first of each partition, then by line
    ("job_search", "late_jobs"),  # likewise
    ("upcoming", "executions_due"),  # a page
    ("upcoming", "count_one_time_jobs"),  # a range
    ("trigger", "release_queued"),  # all that wait for one another
    ("loops_with_work", "loops_with_work"),  # the first of those in each partition
    ("partitions_and_retention", "is_settled"),  # a day that is about to be dropped
    ("statistics", "count_slice"),  # a slice
    ("statistics", "executions_with_tag"),  # a slice
    ("purge_tenant", "executions_of_tenant"),  # a batch of all that a tenant has
    ("purge_tenant", "purge_attempts_of_tenant"),  # likewise
    ("purge_tenant", "purge_logs_of_tenant"),  # likewise
    ("tenant_and_key", "contents_of_tenant"),  # as many as are counted
    ("timeline", "recent_of_range"),  # a slice
    ("timeline", "bars_of_tasks"),  # a slice
}


@pytest.fixture(
    scope="module", params=[None, 0, 1_000, 100_000], ids=["a new day", "empty", "small", "large"]
)
def filled_url(request: pytest.FixtureRequest, postgres: TemporaryPostgres) -> Iterator[str]:
    """Plans are only asked for, so one database serves all that ask."""
    url = asyncio.run(_fill(postgres, request.param))
    yield url
    asyncio.run(postgres.drop_database(url))


async def _fill(postgres: TemporaryPostgres, executions: int | None) -> str:
    url = await postgres.create_database()
    if executions is not None:  # else nobody has counted yet
        connection = await asyncpg.connect(url)
        await connection.execute(_FILL, executions)
        await connection.execute("ANALYZE")
        await connection.close()
    return url


@pytest.fixture
async def filled(filled_url: str) -> AsyncIterator[Database]:
    database = Database(filled_url, size=1)
    await database.open()
    yield database
    await database.close()


async def test_every_statement_finds_what_it_looks_for_by_the_whole_key_or_the_line(filled: Database) -> None:
    """The wrong way round, every execution of the day is held against every one of a batch."""
    ways = {
        (file, name): list(scans(await explain(filled, file, name), "execution", "attempt", "log"))
        for file, name in all_statements()
    }
    assert all(ways[statement] for statement in _HOT)
    async with filled.transaction() as connection:
        unused = _SINCE_17 if connection.get_server_version().major < 17 else set()
    walking = {
        statement: conditions
        for statement in ways.keys() - _LONGER - unused
        if (conditions := {way.condition for way in ways[statement] if not _is_short(way)})
    }
    assert walking == {}


def _is_short(way: Scan) -> bool:
    return way.index is not None and way.goes_by(*_COLUMNS[way.index.removeprefix(f"{way.table}_")])


async def test_claiming_reads_each_line_in_its_order(filled: Database) -> None:
    assert "->  Sort" not in await explain(filled, "dispatch", "pick_ready")


async def test_lines_are_found_by_leaps(filled: Database) -> None:
    plan = await explain(filled, "dispatch", "waiting_lanes")
    leaps = {way.condition for way in scans(plan, "execution") if way.condition}
    assert leaps
    assert all("ROW(lane_id, priority) > ROW" in leap for leap in leaps)
    assert "Seq Scan" not in plan
    assert "->  Sort" not in plan


async def test_lines_of_later_days_are_not_opened(filled: Database) -> None:
    plan = await explain_run(filled, "dispatch", "waiting_lanes", "'1 s'")
    opened = {way.table for way in scans(plan, "execution")}
    tomorrow = f"execution_{datetime.now(UTC) + timedelta(days=1, minutes=1):%Y%m%d}"
    assert opened
    assert max(opened) < tomorrow


async def test_jobs_of_schedules_that_ended_are_found_by_their_rules(filled: Database) -> None:
    plan = await explain(filled, "ended_jobs_and_unused_rules", "lock_jobs_without_due_times")
    ways = list(scans(plan, "rule", "job"))
    assert [(way.table, way.index) for way in ways] == [("rule", "rule_ended"), ("job", "job_of_rule")]
    assert ways[1].goes_by("rule_id")


@pytest.mark.parametrize(("file", "name"), sorted(_OF_ONE_LANE))
async def test_what_waits_of_a_job_is_found_by_its_lane(filled: Database, file: str, name: str) -> None:
    for way in scans(await explain(filled, file, name), "execution"):
        assert way.goes_by("lane_id") or _is_short(way)


async def test_each_execution_of_a_page_is_looked_up_by_its_whole_key(filled: Database) -> None:
    ways = list(scans(await explain(filled, "execution_search", "search_in_order_of_time"), "execution"))
    page = [way for way in ways if "ROW(scheduled_for, job_id) < ROW" in way.condition]
    assert page
    assert all(way.goes_by("tenant_id") for way in page)
    looked_up = [way for way in ways if way not in page]
    assert looked_up
    assert all(_is_short(way) for way in looked_up)


async def test_what_is_out_of_the_ordinary_is_found_by_its_events(filled: Database) -> None:
    plan = await explain(filled, "execution_search", "search_candidates")
    events = {way.index: way for way in scans(plan, "event")}
    assert events.keys() == {"event_of_kind", "event_of_error"}
    assert events["event_of_kind"].goes_by("tenant_id", "kind")
    assert events["event_of_error"].goes_by("tenant_id", "error_type")
    assert all("ROW(scheduled_for, job_id) < ROW" in way.condition for way in events.values())
    assert plan.count("Index Only Scan Backward using event_of_") == len(events)  # with the lane
    executions = list(scans(plan, "execution", "attempt"))
    assert executions
    assert all(_is_short(way) for way in executions)


@pytest.mark.parametrize("name", ["executions_due", "count_one_time_jobs"])
async def test_what_is_due_is_read_in_the_order_of_time(filled: Database, name: str) -> None:
    plan = await explain(filled, "upcoming", name)
    ways = list(scans(plan, "execution"))
    assert ways
    assert all(way.goes_by("tenant_id") and "scheduled_for" in way.condition for way in ways)


@pytest.mark.parametrize("name", ["jobs_due_in_rounds", "jobs_of_rules"])
async def test_the_jobs_that_are_due_are_found_by_their_rules(filled: Database, name: str) -> None:
    jobs = list(scans(await explain(filled, "upcoming", name), "job"))
    assert jobs
    assert all(way.index == "job_of_rule" and way.goes_by("rule_id") for way in jobs)


@pytest.mark.parametrize(
    ("file", "name"), [("execution_search", "waiting_keys"), ("job_search", "late_jobs")]
)
async def test_what_waits_is_found_by_its_line_where_anything_waits(
    filled: Database, file: str, name: str
) -> None:
    ways = list(scans(await explain(filled, file, name), "execution"))
    first_of_partition = [way for way in ways if not way.condition]
    assert 0 < len(first_of_partition) < len(ways)
    assert all((way.index or "").endswith("lane_id_priority_ready_at_idx") for way in first_of_partition)
    assert all(way.goes_by("lane_id", "priority") for way in ways if way.condition)


async def test_partitions_in_which_nothing_waits_are_not_gone_through(filled: Database) -> None:
    plan = await explain_run(
        filled, "execution_search", "waiting_keys", "1", "NULL", "NULL", "'-infinity'", "NULL", "10", "true"
    )
    partitions = {way.table for way in scans(plan, "execution") if way.condition}
    assert len(partitions) <= 1  # today's, if there is any execution


@pytest.mark.parametrize(
    ("file", "name"),
    [("execution_search", "search_history_of_job"), ("read_jobs_executions_workers", "missed_of_job")],
)
async def test_the_history_of_a_job_is_found_by_its_rules(filled: Database, file: str, name: str) -> None:
    plan = await explain(filled, file, name)
    rounds = list(scans(plan, "round"))
    assert rounds
    assert all(way.goes_by("rule_id") for way in rounds)
    assert all(way.goes_by("id") for way in scans(plan, "job", "rule"))


@pytest.mark.parametrize(
    ("file", "name", "index", "columns"),
    [
        (
            "create_and_change_job",
            "find_lanes",
            "lane_tenant_id_queue_task_placement_key",
            ("tenant_id", "queue", "task", "placement"),
        ),
        (
            "lock_schedule_rules",
            "lock_rules",
            "rule_tenant_id_timing_catch_up_key",
            ("tenant_id", "timing", "catch_up"),
        ),
        ("lock_schedule_rules", "lock_rules", "rule_pkey", ("id",)),
        ("create_and_change_job", "jobs_by_key", "job_key", ("tenant_id", "key")),
        ("create_and_change_job", "lock_jobs_by_key", "job_key", ("tenant_id", "key")),
    ],
)
async def test_what_new_jobs_share_is_found_by_name(
    filled: Database, file: str, name: str, index: str, columns: tuple[str, ...]
) -> None:
    """While a million jobs come in at once, nobody has counted them yet."""
    (way,) = (
        way for way in scans(await explain(filled, file, name), "lane", "rule", "job") if way.index == index
    )
    assert way.goes_by(*columns)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("read_jobs_executions_workers", "jobs_by_id"),
        ("job_health", "job_states"),
        ("job_health", "jobs_with_states"),
        ("job_search", "all_newest_first"),
        ("job_search", "matching_jobs"),
        ("job_search", "new_jobs_newest_first"),
        ("job_search", "new_jobs_oldest_first"),
        ("job_search", "count_existing"),
        ("job_search", "next_runs_of_jobs"),
        ("job_index", "jobs_to_index"),
        ("job_index", "due_times_to_index"),
        ("job_index", "creation_times"),
        ("job_index", "note_late_jobs"),
        ("job_index", "jobs_as_changed"),
        ("job_index", "runs_of_segment"),
    ],
)
async def test_jobs_are_read_by_id(filled: Database, file: str, name: str) -> None:
    ways = list(scans(await explain(filled, file, name), "job"))
    assert ways
    assert all("(id " in way.condition or "(id)" in way.condition for way in ways)


@pytest.mark.parametrize(
    ("file", "name", "table", "index"),
    [
        ("job_search", "sets_of_terms", "job_term", "job_term_pkey"),
        ("job_index", "sets", "job_term", "job_term_pkey"),
        ("job_search", "index_state", "job_change", "job_change_of_tenant"),
        ("job_search", "unended_jobs", "job", "job_once"),
        ("job_index", "settle_due_jobs", "job", "job_once"),
        ("job_search", "next_runs_of_rules", "rule", "rule_due"),
        ("job_search", "rules_due", "rule", "rule_due"),
        ("job_search", "unended_in_range", "job_unended", "job_unended_pkey"),
        ("job_search", "next_runs_of_one_time_jobs", "job_unended", "job_unended_pkey"),
        ("job_search", "jobs_that_fail", "failing_job", "failing_job_of_tenant"),
        ("job_search", "blocked_jobs", "event", "event_of_kind"),
    ],
)
async def test_a_search_goes_by_its_index(
    filled: Database, file: str, name: str, table: str, index: str
) -> None:
    assert index in {way.index for way in scans(await explain(filled, file, name), table)}


@pytest.mark.parametrize("name", ["settle_due_jobs", "settle_unended_jobs"])
async def test_how_one_time_jobs_ended_is_read_by_their_keys(filled: Database, name: str) -> None:
    ways = list(scans(await explain(filled, "job_index", name), "execution"))
    assert ways
    assert all(way.goes_by(*_KEY) for way in ways)


async def test_a_minute_is_counted_by_the_range_of_its_due_times_in_their_order(filled: Database) -> None:
    plan = await explain(filled, "statistics", "count_slice")
    ways = list(scans(plan, "execution"))
    assert ways
    assert all(way.goes_by("tenant_id") and "(scheduled_for >= " in way.condition for way in ways)
    assert "ROW(scheduled_for, job_id) > ROW" in ways[0].condition


async def test_whether_a_day_is_settled_is_seen_without_reading_it(filled: Database) -> None:
    ways = list(scans(await explain(filled, "partitions_and_retention", "is_settled"), "execution"))
    waiting = [way for way in ways if not way.goes_by(*_KEY)]
    assert waiting
    assert all((way.index or "").endswith("lane_id_priority_ready_at_idx") for way in waiting)
    assert len(waiting) < len(ways)


async def test_jobs_to_forget_are_found_by_their_time_and_what_they_leave_by_its_key(
    filled: Database,
) -> None:
    (by_time,) = scans(await explain(filled, "partitions_and_retention", "lock_past_jobs"), "job")
    assert (by_time.index, "ROW(scheduled_for, id) > ROW" in by_time.condition) == ("job_once", True)
    plan = await explain(filled, "partitions_and_retention", "forget_jobs")
    assert [way.goes_by("id") for way in scans(plan, "job")] == [True]
    assert [way.goes_by("job_id") for way in scans(plan, "past_rule", "off_schedule_execution")] == [
        True,
        True,
    ]
    assert {way.goes_by("child_id") or way.goes_by("parent_id") for way in scans(plan, "dependency")} == {
        True
    }
