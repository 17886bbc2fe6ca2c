"""A server that is started before its database."""

import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from support.proxy import Upstream, Wire

Start = Callable[..., Awaitable[Process]]


@pytest.fixture
async def wire(database_url: str) -> AsyncIterator[Wire]:
    wire = await Wire(Upstream(f"{parse_qs(urlsplit(database_url).query)['host'][0]}/.s.PGSQL.5432")).open()
    yield wire
    await wire.close()


@pytest.fixture
async def start(wire: Wire, database_url: str) -> AsyncIterator[Start]:
    started: list[Process] = []
    url = f"postgresql://tickwork@127.0.0.1:{wire.port}{urlsplit(database_url).path}"

    async def start(*words: str) -> Process:
        command = (sys.executable, "-m", "tickwork.cli", *words, "--database-url", url)
        started.append(await create_subprocess_exec(*command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE))
        return started[-1]

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _until(process: Process, words: str) -> list[str]:
    lines: list[str] = []
    while line := (await process.stderr.readline()).decode():
        lines.append(line)
        if words in line:
            return lines
    pytest.fail(f"{words!r} was never said, but: {''.join(lines)}")


async def test_a_server_waits_and_says_why_until_the_database_is_there(wire: Wire, start: Start) -> None:
    with wire.cut():
        server = await start("server", "--port", "0", "--wait-for-database", "10m")
        (line,) = await _until(server, "waiting for the database: the database cannot be reached: ")
        assert line.strip().rpartition("reached: ")[2]
    await _until(server, "Tickwork answers on")


async def test_an_upgrade_waits_too(wire: Wire, start: Start) -> None:
    with wire.cut():
        upgrade = await start("db", "upgrade", "--wait-for-database", "10m")
        await _until(upgrade, "waiting for the database")
    assert await upgrade.wait() == 0


async def test_it_can_be_stopped_while_it_waits(wire: Wire, start: Start) -> None:
    with wire.cut():
        server = await start("server", "--port", "0", "--wait-for-database", "10m")
        await _until(server, "waiting for the database")
        server.send_signal(signal.SIGTERM)
        await _until(server, "error: the database cannot be reached")
        assert await server.wait() == 1


async def test_it_ends_when_the_time_is_over(wire: Wire, start: Start) -> None:
    with wire.cut():
        server = await start("server", "--port", "0", "--wait-for-database", "10ms")
        await _until(server, "error: the database cannot be reached")
        assert await server.wait() == 1
