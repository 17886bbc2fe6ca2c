"""The way back in for whoever has the database and no key."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from support.run_command import tickwork
from tickwork.client.find_server import find_server
from tickwork.client.sync_client import Client
from tickwork.config import Settings
from tickwork.model.access import Scope
from tickwork.node import Node
from tickwork.store.embedded.server import EmbeddedPostgres


def make_key(*words: str, **env: str) -> dict[str, str]:
    done = tickwork("key", "create", "way in", "--scope", "admin", "--offline", "-o", "json", *words, **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def test_a_key_is_made_with_the_database_alone(
    settings: Settings, still_node: Node, connection: asyncpg.Connection
) -> None:
    await connection.execute("UPDATE tickwork.api_key SET revoked_at = now()")
    assert await still_node.keys.authenticate(still_node.first_key) is None
    url = settings.database_url
    key = await asyncio.to_thread(make_key, "--database-url", url)
    caller = await still_node.keys.authenticate(key["secret"])
    assert (caller.tenant, caller.scopes) == ("default", {Scope.ADMIN})
    key = await asyncio.to_thread(
        make_key, "--tenant", "ann", "--expires-in", "1d", TICKWORK_DATABASE_URL=url
    )
    assert key["tenant"] == "ann"
    assert key["expires_at"]
    assert (await still_node.keys.authenticate(key["secret"])).tenant == "ann"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "data"
    EmbeddedPostgres(tmp_path / "data").stop()


@pytest.fixture
def up(folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tickwork.cli", "up", "--port", "0", "--data-dir", str(folder)]
    up = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert any("Tickwork is up" in line for line in up.stderr)
    yield up
    up.kill()
    up.wait()
    up.stderr.close()


def test_beside_a_server_that_runs_and_after_it_has_stopped(up, folder):
    address = find_server(data_dir=folder, env={})
    beside = make_key("--data-dir", str(folder))
    with Client(address.url, beside["secret"]) as client:
        assert "way in" in [key.name for key in client.list_keys().items]
    up.send_signal(signal.SIGTERM)
    assert up.wait(30) == 0
    after = make_key("--data-dir", str(folder))
    assert not (folder / "postgres" / "postmaster.pid").exists()
    assert after["id"] != beside["id"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--offline", "--data-dir", "nowhere"], "there is no database in"),
        (["--offline", "--server", "http://127.0.0.1:1"], "--offline uses no server"),
        (["--data-dir", "nowhere"], "--database-url and --data-dir go with --offline"),
        (["--offline", "--tenant", "NO", "--database-url", "URL"], "lower-case letters"),
    ],
)
def test_what_cannot_be_is_said(words, told, database_url):
    words = [database_url if word == "URL" else word for word in words]
    done = tickwork("key", "create", "x", "--scope", "admin", *words)
    assert done.returncode in (1, 2)
    assert told in done.stderr
