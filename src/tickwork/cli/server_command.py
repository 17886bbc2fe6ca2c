"""Run a server on your own PostgreSQL: a node and its HTTP server in this process."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from tickwork.api.asgi_app import build_app
from tickwork.api.http_server import MAX_CONNECTIONS, HttpServer
from tickwork.cli.database_check import once_there, require_database, wait_option
from tickwork.cli.find_server import keep_key, make_folder, read_settings
from tickwork.cli.output import say
from tickwork.cli.run_until_stopped import Stop, run_loop
from tickwork.config import Settings
from tickwork.log_setup import configure_logs
from tickwork.model.errors import TickworkError
from tickwork.node import Node

_BACKLOG = 1024


class PortTaken(TickworkError):
    pass


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"port {port} is in use by another program; choose another with --port") from None
        raise TickworkError(f"cannot listen on {host}:{port}: {error.strerror}") from None


def url_of(listener: socket.socket) -> str:
    """The URL of the listener from this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (recognised, not bound)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def working(settings: Settings, stop: Stop) -> AsyncIterator[Node]:
    async def start() -> Node:
        node = Node(settings)
        await node.start()
        return node

    node = await once_there(start, settings.wait_for_database, stop)
    try:
        yield node
    finally:
        await node.stop()


@asynccontextmanager
async def answering(
    node: Node, listener: socket.socket, max_connections: int = MAX_CONNECTIONS
) -> AsyncIterator[None]:
    web = HttpServer(build_app(node), max_connections)
    running = asyncio.create_task(web.serve(sockets=[listener]))
    await web.ready.wait()
    try:
        yield
    finally:
        node.end_streams()
        web.should_exit = True
        await running


@click.command()
@click.option("--database-url", metavar="URL", help="postgresql://user:password@host/name")
@wait_option
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="[default: 8080]")
@click.option("--no-http", is_flag=True, help="Do not run HTTP jobs on this server.")
def command(no_http: bool, **flags: object) -> None:
    """Run a server on your own PostgreSQL.

    You can run several servers on one database; every server does every duty.
    """
    settings, _ = read_settings(**flags, http=False if no_http else None)
    require_database(settings)
    configure_logs(settings.log_format, settings.log_level)
    run_loop(_serve(settings))


async def _serve(settings: Settings) -> None:
    stop = Stop()
    stop.listen()
    with listen(settings.host, settings.port) as listener:
        async with working(settings, stop) as node:
            if node.first_key and not settings.admin_key:
                _hand_over(node.first_key, settings)
            async with answering(node, listener, settings.max_connections):
                say(f"Tickwork answers on {url_of(listener)}")
                await stop.asked.wait()


def _hand_over(key: str, settings: Settings) -> None:
    try:
        make_folder(settings.data_dir)
        say(f"The admin key of this new database is in {keep_key(settings.data_dir, key)}")
    except TickworkError as error:
        say(f"{error}. The admin key of this new database, shown only now: {key}")
