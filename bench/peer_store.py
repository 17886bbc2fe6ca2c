"""The stores that peers use: Tickwork's embedded PostgreSQL, or Debian's Redis, on this machine."""

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import asyncpg

from tickwork.store.embedded.server import EmbeddedPostgres

_TIMEOUT = 30.0


class NoRedis(Exception):
    pass


class Store(NamedTuple):
    about: str
    environment: dict[str, str]


@contextmanager
def postgres(folder: Path) -> Iterator[Store]:
    """fsync and synchronous_commit on, with the same settings as for Tickwork."""
    server = EmbeddedPostgres(folder)
    url = server.start()
    try:
        yield Store(f"PostgreSQL {asyncio.run(_version(url))}", {"PEER_POSTGRES": url})
    finally:
        server.stop()


@contextmanager
def redis(folder: Path, fsync: str) -> Iterator[Store]:
    """An append-only file, synced `always` or `everysec`."""
    program = shutil.which("redis-server")
    if not program:
        raise NoRedis("redis-server is not installed: apt-get install redis-server")
    port = _free_port()
    options = {
        "port": str(port), "bind": "127.0.0.1", "dir": str(folder), "save": "", "appendonly": "yes",
        "appendfsync": fsync, "daemonize": "no",
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    server = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield Store(f"Redis {_redis_version(program)}", {"PEER_REDIS": f"redis://127.0.0.1:{port}/0"})
    finally:
        server.kill()
        server.wait()


async def _version(url: str) -> str:
    connection = await asyncpg.connect(url)
    version = connection.get_server_version()
    await connection.close()
    return f"{version.major}.{version.minor}"


def _redis_version(program: str) -> str:
    version = subprocess.run(
        [program, "--version"], check=True, capture_output=True, text=True, timeout=_TIMEOUT
    )
    return next(word.removeprefix("v=") for word in version.stdout.split() if word.startswith("v="))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def _wait_for(port: int) -> None:
    ends = time.monotonic() + _TIMEOUT
    while time.monotonic() < ends:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise NoRedis("redis-server did not start")
