"""`tickwork outbox` as an operator types it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest
from click.testing import CliRunner, Result

from tickwork.cli import main
from tickwork.outbox.outbox_tables import VERSION, schema_sql

Ask = Callable[..., Result]


@pytest.fixture
def ask(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("TICKWORK_OUTBOX_URL", database_url)
    return lambda *words: CliRunner().invoke(main, ["outbox", *words])


@pytest.fixture
def sql(database_url: str) -> Callable[..., Any]:
    async def run(statement: str, *values: object) -> Any:
        connection = await asyncpg.connect(database_url)
        try:
            return await connection.fetchval(statement, *values)
        finally:
            await connection.close()

    return lambda *words: asyncio.run(run(*words))


def test_prints_what_installing_does(ask: Ask, sql: Callable[..., Any]) -> None:
    assert ask("install", "--sql").stdout == schema_sql()
    assert sql("SELECT to_regnamespace('tickwork_outbox')") is None
    assert ask("install").stderr == "the outbox is ready\n"
    assert ask("install").exit_code == 0


def test_says_that_the_outbox_is_missing_or_too_new(ask: Ask, sql: Callable[..., Any]) -> None:
    assert "run `tickwork outbox install`" in ask("list").stderr
    ask("install")
    sql("INSERT INTO tickwork_outbox.version VALUES ($1)", VERSION + 1)
    assert "upgrade Tickwork" in ask("list").stderr


def test_lists_what_is_set_aside_before_what_waits(ask: Ask, sql: Callable[..., Any]) -> None:
    ask("install")
    sql("""INSERT INTO tickwork_outbox.job (request) VALUES ('{"task": "fine", "key": "a"}')""")
    sql(
        "INSERT INTO tickwork_outbox.job (request, refused_at, error)"
        """ VALUES ('{"http": {"url": "http://x"}}', now(), 'why')"""
    )
    heads, refused, waiting = ask("list").stdout.splitlines()
    assert heads.split() == ["ID", "STATUS", "TASK", "KEY", "WRITTEN", "ERROR"]
    assert refused.split()[1:3] == ["refused", "http://x"]
    assert refused.endswith("why")
    assert waiting.split()[1:4] == ["waiting", "fine", "a"]
    assert json.loads(ask("list", "-o", "json").stdout)["items"][0]["error"] == "why"


def test_sends_again_or_drops_only_what_is_set_aside(ask: Ask, sql: Callable[..., Any]) -> None:
    ask("install")
    insert = "INSERT INTO tickwork_outbox.job (request, refused_at, error) VALUES ('{}', now(), 'why') RETURNING id"
    first, second = sql(insert), sql(insert)
    assert ask("discard", str(first)).stderr == "1 discarded\n"
    assert ask("retry").stderr == "1 will be sent again\n"
    assert ask("discard", str(second)).stderr == "0 discarded\n"
    assert sql("SELECT count(*) FROM tickwork_outbox.job WHERE refused_at IS NULL") == 1


def test_forgets_what_was_done_long_ago(ask: Ask, sql: Callable[..., Any]) -> None:
    ask("install")
    for days in (0, 29, 31):
        insert = "INSERT INTO tickwork_outbox.done VALUES ($1, 'null', now() - $2 * interval '1 day')"
        sql(insert, f"e1-{days}", days)
    assert ask("prune").stderr == "1 deleted\n"
    assert ask("prune", "--older-than", "1h").stderr == "1 deleted\n"


def test_does_not_mistake_the_servers_database_for_yours(database_url: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TICKWORK_DATABASE_URL", database_url)
    done = CliRunner().invoke(main, ["outbox", "install"])
    assert done.exit_code == 2
    assert "TICKWORK_OUTBOX_URL" in done.stderr


@pytest.mark.parametrize("words", [("list",), ("prune",), ("install",)])
def test_says_that_the_database_is_away(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, ["outbox", *words, "--database-url", "postgresql://127.0.0.1:9/none"])
    assert done.exit_code == 1
    assert "the database cannot be reached" in done.stderr
