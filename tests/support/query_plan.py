"""The plans in use: a session makes one for each statement, without knowing any values, and keeps it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries

# Sent as it is, a statement would ask for values: what its parameters are is left to the server in here.
_EXPLAIN = """
CREATE OR REPLACE FUNCTION pg_temp.explain(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (GENERIC_PLAN, COSTS OFF) ' || statement;
END $$
"""
_KNOWS_GENERIC_PLANS = 16
_SCAN = re.compile(
    r"(?:Seq Scan|Index (?:Only )?Scan(?: Backward)? using (?P<index>\S+)) on (?P<table>\S+).*"
    r"(?:\n\s+Index Cond: (?P<condition>.*))?"
)


@dataclass(frozen=True)
class Scan:
    table: str
    index: str | None
    condition: str

    def goes_by(self, *columns: str) -> bool:
        return all(f"({column} = " in self.condition for column in columns)


def all_statements() -> Iterator[tuple[str, str]]:
    """Every statement by its file and its name, but for those that fill an empty database for the demo."""
    for path in (files("tickwork.store") / "queries").iterdir():
        file, _, kind = path.name.partition(".")
        if kind == "sql" and file != "demo_clock_and_statistics":
            yield from ((file, name) for name in queries(file))


async def explain(database: Database, file: str, name: str) -> str:
    async with database.transaction() as connection:
        if connection.get_server_version().major < _KNOWS_GENERIC_PLANS:
            return await _explain_prepared(connection, queries(file)[name])
        await connection.execute(_EXPLAIN)
        rows = await connection.fetch("SELECT pg_temp.explain($1)", queries(file)[name])
    return "\n".join(row[0] for row in rows)


async def _explain_prepared(connection: Connection, query: str) -> str:
    """With the partitions that would be left out for the values, which are none here."""
    if query.split("*/ ")[1].startswith("CREATE"):
        return ""  # cannot be prepared
    await connection.execute("SET LOCAL enable_partition_pruning = off")
    statement = await connection.prepare(query)
    values = ", ".join("NULL" for _ in statement.get_parameters())
    rows = await connection.fetch(
        f"EXPLAIN (COSTS OFF) EXECUTE {statement.get_name()} {f'({values})' if values else ''}"
    )
    return "\n".join(row[0] for row in rows)


async def explain_run(database: Database, file: str, name: str, *values: str) -> str:
    """The plan in use with what it does for these values, without the parts that it leaves out."""
    async with database.transaction() as connection:
        statement = await connection.prepare(queries(file)[name])
        rows = await connection.fetch(
            "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) "
            f"EXECUTE {statement.get_name()} ({', '.join(values)})"
        )
    return "\n".join(row[0] for row in rows if "never executed" not in row[0])


def scans(plan: str, *tables: str) -> Iterator[Scan]:
    """How a plan reads tables, or the partitions of them: by which index, and on which condition."""
    for match in _SCAN.finditer(plan):
        if re.sub(r"_\d+$", "", match["table"]) in tables:
            yield Scan(match["table"], match["index"], match["condition"] or "")
