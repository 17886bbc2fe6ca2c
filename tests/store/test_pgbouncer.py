"""Behind PgBouncer, where a machine has it."""

import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from support.session_settings import differ, set_otherwise
from tickwork.config import Settings
from tickwork.model.execution import ExecutionFilter
from tickwork.model.job import JobRequest
from tickwork.node import Node
from tickwork.store.connect_to_any_host import VITAL
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries
from tickwork.testing.scripted_worker import ScriptedWorker

_PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
_TENANT = 1
pytestmark = pytest.mark.skipif(not _PGBOUNCER, reason="this machine has no pgbouncer")


@pytest.fixture(params=["transaction", "session"])
def pooled_url(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Iterator[str]:
    url = urlsplit(database_url)
    host, name, port = parse_qs(url.query)["host"][0], url.path.strip("/"), _free_port()
    configuration = tmp_path / "pgbouncer.ini"
    configuration.write_text(
        f"[databases]\n{name} = host={host} port=5432 dbname={name} user=tickwork\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\npool_mode = {request.param}\n"
        "default_pool_size = 3\nunix_socket_dir =\n"
    )
    run_as = (
        ["--user", "pgserver"] if os.geteuid() == 0 else []
    )  # it refuses to run as root, as PostgreSQL does
    process = subprocess.Popen([_PGBOUNCER, *run_as, str(configuration)], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "process up" in line:
            break
    yield f"postgresql://tickwork@127.0.0.1:{port}/{name}"
    process.terminate()
    process.communicate()


async def test_a_node_works(pooled_url: str, tmp_path: Path) -> None:
    node = Node(Settings(database_url=pooled_url, data_dir=tmp_path, http=False))
    await node.open()
    worker = await ScriptedWorker.connect(node, ["work"])
    await node.jobs.create(_TENANT, [JobRequest(task="work")] * 20)
    while await node.step("claim"):
        pass
    for run in await worker.runs():
        await worker.complete(run)
    page = await node.history.list(_TENANT, ExecutionFilter(), 100)
    assert [execution.status for execution in page.items] == ["completed"] * 20
    await worker.leave_silently()
    await node.stop()


async def test_what_we_depend_on_is_set_whatever_the_database_has(
    connection: asyncpg.Connection, pooled_url: str
) -> None:
    await set_otherwise(connection)
    database = Database(pooled_url, size=3)
    await database.open()
    async with database.transaction() as one, database_of_another(pooled_url) as another:
        assert await differ(one) == {}
        assert await differ(another, VITAL) == {}
    assert await database.fetch("SHOW jit") == [("off",)]
    await database.close()


@asynccontextmanager
async def database_of_another(pooled_url: str) -> AsyncIterator[Connection]:
    """With other limits, on connections that are shared with the first."""
    database = Database(pooled_url, size=1, limits=VITAL)
    await database.open()
    async with database.transaction() as connection:
        yield connection
    await database.close()


async def test_plans_are_those_of_a_session(pooled_url: str) -> None:
    """A plan that knows no values has the partitions of all days in it."""
    database = Database(pooled_url, size=1)
    await database.open()
    async with database.transaction() as connection:
        await connection.fetch(
            queries("read_jobs_executions_workers")["execution"], _TENANT, datetime.now(UTC), 1
        )
        left_out = await connection.fetchval(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'tickwork.execution'::regclass "
            "AND inhrelid NOT IN (SELECT relation FROM pg_locks WHERE pid = pg_backend_pid() AND relation IS NOT NULL)"
        )
    await database.close()
    assert left_out == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
