"""Run a server on your own PostgreSQL: a node and its HTTP server in this process."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from tickwork.api import dashboard_pages
from tickwork.api.asgi_app import build_app
from tickwork.api.http_server_with_limits import MAX_CONNECTIONS, HttpServer
from tickwork.cli.admin_key_and_server_file import create_data_folder, save_admin_key
from tickwork.cli.output import say
from tickwork.cli.run_until_stopped import StopRequest, run_loop
from tickwork.cli.settings_and_client import read_settings
from tickwork.cli.wait_for_database import require_database, retry_until_reachable, wait_option
from tickwork.config import Settings
from tickwork.log_setup import configure_logs
from tickwork.model.errors import TickworkError
from tickwork.node import Node

_SOCKET_BACKLOG = 1024


class PortInUse(TickworkError):
    pass


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_SOCKET_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(f"port {port} is in use by another program; choose another with --port") from None
        raise TickworkError(f"cannot listen on {host}:{port}: {error.strerror}") from None


def url_of(listener: socket.socket) -> str:
    """The URL of the listener from this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (recognised, not bound)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _network_address(listener: socket.socket) -> str:
    """Host and port as other machines may know them."""
    host, port = listener.getsockname()[:2]
    host = socket.gethostname() if host in ("0.0.0.0", "::") else host  # noqa: S104 (recognised, not bound)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@asynccontextmanager
async def running_node(settings: Settings, stop: StopRequest) -> AsyncIterator[Node]:
    async def start() -> Node:
        node = Node(settings)
        await node.start()
        return node

    node = await retry_until_reachable(start, settings.wait_for_database, stop)
    try:
        yield node
    finally:
        await node.stop()


def say_if_dashboard_is_missing() -> None:
    if not dashboard_pages.is_built():
        say(dashboard_pages.HOW_TO_BUILD)


@asynccontextmanager
async def serving_http(
    node: Node, listener: socket.socket, max_connections: int = MAX_CONNECTIONS
) -> AsyncIterator[None]:
    node.cluster.address = _network_address(listener)
    server = HttpServer(build_app(node), max_connections)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await server.ready.wait()
    try:
        yield
    finally:
        node.end_streams()
        server.should_exit = True
        await serving


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
    stop = StopRequest()
    stop.listen()
    with listen(settings.host, settings.port) as listener:
        async with running_node(settings, stop) as node:
            if node.first_key and not settings.admin_key:
                _save_or_print_admin_key(node.first_key, settings)
            async with serving_http(node, listener, settings.max_connections):
                say(f"Tickwork answers on {url_of(listener)}")
                say_if_dashboard_is_missing()
                await stop.received.wait()


def _save_or_print_admin_key(key: str, settings: Settings) -> None:
    try:
        create_data_folder(settings.data_dir)
        say(f"The admin key of this new database is in {save_admin_key(settings.data_dir, key)}")
    except TickworkError as error:
        say(f"{error}. The admin key of this new database, shown only now: {key}")
