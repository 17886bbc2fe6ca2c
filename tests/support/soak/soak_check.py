"""Whether a soak kept every promise: the ledgers of the workers, loaded into the database, held against its tables by
SQL, so that millions of executions need no memory here."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import asyncpg

from support.soak.soak_installation import Kill
from support.soak.soak_load import LIMIT, PERIOD, SoakLoad
from tickwork.model.public_ids import to_micros

_CHUNK = 1_000_000  # bytes
_TABLES, _RUNS = (
    Path(__file__).with_name(f"soak_{name}.sql").read_text("utf-8") for name in ("tables", "runs")
)
# What each counts is a violation.
VIOLATIONS = {
    "lost": """
        SELECT count(*) FROM soak.due d LEFT JOIN tickwork.execution e ON e.job_id = d.job AND e.scheduled_for = d.at
        WHERE e.job_id IS NOT NULL AND (e.status <> 'completed' OR NOT EXISTS (
            SELECT FROM soak.run r
            WHERE r.job = d.job AND r.due = d.at AND r.attempt = e.attempt AND r.ended_at IS NOT NULL))""",
    "gaps": """
        SELECT (SELECT coalesce(sum(missed), 0) FROM tickwork.round)
            + (SELECT count(*) FROM soak.due d WHERE NOT EXISTS (
                SELECT FROM tickwork.execution e WHERE e.job_id = d.job AND e.scheduled_for = d.at))""",
    "phantoms": """
        SELECT count(*) FROM tickwork.execution e WHERE NOT EXISTS (
            SELECT FROM soak.due d WHERE d.job = e.job_id AND d.at = e.scheduled_for)""",
    "doubled": """
        SELECT (SELECT count(*) FROM (
                SELECT FROM soak.run GROUP BY job, due, attempt HAVING sum(begun) > 1) same_attempt)
            + (SELECT count(*) FROM soak.run r JOIN tickwork.execution e ON e.job_id = r.job AND e.scheduled_for = r.due
               WHERE r.attempt < e.attempt AND NOT EXISTS (
                   SELECT FROM tickwork.attempt a WHERE a.job_id = r.job AND a.scheduled_for = r.due
                       AND a.attempt = r.attempt AND a.outcome IN ('lost', 'failed', 'returned')))""",
    "overlapping": """
        SELECT count(*) FROM (
            SELECT over_at, lead(begun_at) OVER (PARTITION BY job, due ORDER BY attempt) AS next_begun_at
            FROM soak.run) each WHERE next_begun_at < over_at""",
    "early": "SELECT count(*) FROM soak.run WHERE begun_at < due",
}  # fmt: skip
_MOST_AT_ONCE = """
    SELECT coalesce(max(running), 0) FROM (
        SELECT sum(step) OVER (ORDER BY at, step) AS running FROM (
            SELECT begun_at AS at, 1 AS step FROM soak.run JOIN soak.job USING (job) WHERE limited
            UNION ALL SELECT over_at, -1 FROM soak.run JOIN soak.job USING (job) WHERE limited
        ) steps) running"""
_FIGURES = """
    SELECT (SELECT count(*) FROM soak.due) AS due,
        (SELECT count(*) FROM tickwork.execution WHERE status = 'completed') AS completed,
        (SELECT count(*) FROM soak.run) AS attempts,
        (SELECT count(*) FROM soak.run WHERE ended_at IS NULL AND failed_at IS NULL) AS attempts_broken_off,
        (SELECT count(*) FROM (
            SELECT FROM soak.run WHERE ended_at IS NOT NULL GROUP BY job, due HAVING count(*) > 1) each
        ) AS completed_again_after_a_kill"""
_JOBS = """
    INSERT INTO soak.job SELECT id, to_timestamp($1 + substr(key, 6)::int % $2), definition_of.limited
    FROM tickwork.job, LATERAL (SELECT convert_from(definition, 'UTF8')::jsonb ? 'limits' AS limited) definition_of"""


async def prepare(
    connection: asyncpg.Connection, load: SoakLoad, ledgers: Path, kills: Sequence[Kill]
) -> None:
    await connection.execute(_TABLES)
    await connection.copy_records_to_table(
        "kill", schema_name="soak", records=[(kill.process, int(kill.at * 1e6)) for kill in kills]
    )
    for file in sorted(ledgers.glob("*.csv")):  # noqa: ASYNC240 (nothing else runs)
        await connection.copy_to_table(
            "line", schema_name="soak", source=_whole_lines(file), format="csv", timeout=3600
        )
    await connection.execute(_JOBS, to_micros(load.begin) / 1e6, PERIOD)
    await connection.execute("SELECT set_config('soak.times', $1, false)", str(load.times))
    await connection.execute(_RUNS, timeout=3600)


async def check(connection: asyncpg.Connection) -> tuple[dict[str, int], dict[str, Any]]:
    """Violations, and figures."""
    found = {name: int(await connection.fetchval(sql, timeout=3600)) for name, sql in VIOLATIONS.items()}
    at_once = int(await connection.fetchval(_MOST_AT_ONCE, timeout=3600))
    found["over the limit"] = max(at_once - LIMIT["max_running"], 0)
    figures = dict(await connection.fetchrow(_FIGURES, timeout=3600))
    return found, {**figures, "most_at_once_under_the_limit": at_once}


async def _whole_lines(file: Path) -> AsyncIterator[bytes]:
    """A worker that was killed may have left a part of one."""
    rest = b""
    with file.open("rb") as ledger:
        while chunk := ledger.read(_CHUNK):
            whole, end, rest = (rest + chunk).rpartition(b"\n")
            yield whole + end
