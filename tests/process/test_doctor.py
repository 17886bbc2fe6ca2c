"""`tickwork doctor` on a real database."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import asyncpg
import pytest
from click.testing import CliRunner

from support.session_settings import set_otherwise
from tickwork.cli import main

_NEWER = (
    "INSERT INTO tickwork.migration (number, name, checksum, needs) VALUES (9999, '9999_new.sql', 'x', $1)"
)
Findings = dict[str, list[dict[str, str]]]
Look = Callable[..., Awaitable[Findings]]


@pytest.fixture
def look(database_url: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> Look:
    monkeypatch.chdir(tmp_path)

    async def look(url: str = database_url) -> Findings:
        words = ["doctor", "--database-url", url, "-o", "jsonl"]
        done = await asyncio.to_thread(CliRunner().invoke, main, words)
        findings: Findings = {}
        for line in done.stdout.splitlines():
            findings.setdefault(json.loads(line)["what"], []).append(json.loads(line))
        return findings

    return look


async def test_our_sessions_are_right_whatever_the_database_has(
    connection: asyncpg.Connection, look: Look
) -> None:
    await set_otherwise(connection)
    found = await look()
    assert found["database"][0]["status"] == "ok"
    assert found["session settings"][0]["status"] == "ok"
    assert "jit = off" in found["session settings"][0]["found"]
    assert found["connections"][0]["status"] == "ok"
    assert found["rights"][0]["status"] == "ok"
    assert found["clock"][0]["status"] == "ok"


async def test_what_may_lose_data_is_a_warning(connection: asyncpg.Connection, look: Look) -> None:
    name = await connection.fetchval("SELECT current_database()")
    await connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    warnings = [finding["found"] for finding in (await look())["server settings"]]
    assert any("synchronous_commit is off" in warning for warning in warnings)
    assert any("fsync is off" in warning for warning in warnings)  # as all tests have it


async def test_a_database_that_takes_no_writes_fails(connection: asyncpg.Connection, look: Look) -> None:
    name = await connection.fetchval("SELECT current_database()")
    await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    failed = [finding for finding in (await look())["server settings"] if finding["status"] == "fail"]
    assert [finding["found"] for finding in failed] == ["nothing may be written"]


async def test_a_newer_schema_that_still_works_is_no_fault(
    connection: asyncpg.Connection, look: Look
) -> None:
    await connection.execute(_NEWER, 0)
    (schema,) = (await look())["schema"]
    assert schema["status"] == "ok"
    assert "at migration 9999, made by a newer Tickwork" in schema["found"]


async def test_a_newer_schema_that_does_not_work_says_what_to_do(
    connection: asyncpg.Connection, look: Look
) -> None:
    await connection.execute(_NEWER, 9999)
    found = await look()
    (schema,) = found["schema"]
    assert schema["status"] == "fail"
    assert schema["fix"].startswith("start the newer version; to go back, restore a backup")
    assert [finding["status"] for finding in found["database"]] == ["ok"]


async def test_a_user_that_may_not_create_partitions_fails(
    connection: asyncpg.Connection, database_url: str, look: Look
) -> None:
    user = f"guest_of_{await connection.fetchval('SELECT current_database()')}"
    await connection.execute(f"CREATE ROLE {user}; GRANT USAGE ON SCHEMA tickwork TO {user}")
    await connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA tickwork TO {user}")
    try:
        (rights,) = (await look(f"{database_url}&role={user}"))["rights"]
    finally:
        await connection.execute(f"DROP OWNED BY {user}; DROP ROLE {user}")
    assert (rights["status"], rights["found"]) == (
        "fail",
        f"{user} may not create partitions for the coming days",
    )
