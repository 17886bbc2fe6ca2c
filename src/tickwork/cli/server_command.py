"""Run a server on your own PostgreSQL: a node and its HTTP server in this process."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import click
import msgspec

from tickwork.api import dashboard_pages
from tickwork.api.asgi_app import build_app
from tickwork.api.http_server_with_limits import MAX_CONNECTIONS, HttpServer
from tickwork.cli.admin_key_and_server_file import create_data_folder, save_admin_key
from tickwork.cli.output import say
from tickwork.cli.run_until_stopped import StopRequest, run_loop
from tickwork.cli.settings_and_client import read_settings
from tickwork.cli.systemd_notify import SystemdNotifier
from tickwork.cli.wait_for_database import require_database, retry_until_reachable, wait_option
from tickwork.config import Settings
from tickwork.log_setup import configure_logs
from tickwork.model.errors import TickworkError
from tickwork.node import Node

_SOCKET_BACKLOG = 1024

paused_option = click.option(
    "--paused",
    is_flag=True,
    help="Pause the cluster before anything fires, until `tickwork cluster resume`.",
)


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
async def running_node(settings: Settings, stop: StopRequest, *, paused: bool = False) -> AsyncIterator[Node]:
    async def start() -> Node:
        node = Node(settings, paused=paused)
        await node.start()
        return node

    node = await retry_until_reachable(start, settings.wait_for_database, stop)
    try:
        yield node
    finally:
        await node.stop()


def say_if_paused(node: Node) -> None:
    if node.pause.is_on():
        say(
            "The cluster is paused: nothing fires or is handed over. `tickwork cluster report` shows what there is to"
        )
        say("decide, `tickwork cluster resume` goes on.")


def say_if_dashboard_is_missing() -> None:
    if not dashboard_pages.is_built():
        say(dashboard_pages.HOW_TO_BUILD)


@asynccontextmanager
async def serving_http(
    node: Node, listener: socket.socket, max_connections: int = MAX_CONNECTIONS
) -> AsyncIterator[HttpServer]:
    node.cluster.address = _network_address(listener)
    server = HttpServer(build_app(node), max_connections)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await server.ready.wait()
    try:
        yield server
    finally:
        node.end_streams()
        server.should_exit = True
        await serving


async def drain(node: Node, server: HttpServer, delay: timedelta, stop: StopRequest) -> None:
    """First of all say that this node is not ready and move its workers. Then go on answering, so that a load balancer
    has time to notice. A second signal ends the wait."""
    await node.drain()
    server.close_after_answers()
    with suppress(TimeoutError):
        async with asyncio.timeout(delay.total_seconds()):
            await stop.immediate.wait()


@click.command()
@click.option("--database-url", metavar="URL", help="postgresql://user:password@host/name")
@click.option("--read-url", metavar="URL", help="A replica of it, for lists and statistics.")
@wait_option
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="[default: 8080]")
@click.option("--no-http", is_flag=True, help="Do not run HTTP jobs on this server.")
@paused_option
def command(no_http: bool, paused: bool, **flags: object) -> None:
    """Run a server on your own PostgreSQL.

    You can run several servers on one database; every server does every duty.
    """
    settings, _ = read_settings(**flags, http=False if no_http else None)
    require_database(settings)
    configure_logs(settings.log_format, settings.log_level)
    run_loop(_serve(settings, paused=paused))


async def _serve(settings: Settings, *, paused: bool) -> None:
    stop, systemd = StopRequest(), SystemdNotifier()
    stop.listen()
    systemd.starting("opening the database")
    with listen(settings.host, settings.port) as listener:
        # With port 0 the system has chosen one, which the targets of HTTP jobs must know.
        settings = msgspec.structs.replace(settings, port=listener.getsockname()[1])
        async with running_node(settings, stop, paused=paused) as node:
            if node.first_key and not settings.admin_key:
                _save_or_print_admin_key(node.first_key, settings)
            async with serving_http(node, listener, settings.max_connections) as server:
                say(f"Tickwork answers on {url_of(listener)}")
                say_if_paused(node)
                say_if_dashboard_is_missing()
                async with systemd.ready(f"answers on {url_of(listener)}", lambda: not node.stuck()):
                    await stop.received.wait()
                systemd.stopping()
                await drain(node, server, settings.drain_delay, stop)


def _save_or_print_admin_key(key: str, settings: Settings) -> None:
    try:
        create_data_folder(settings.data_dir)
        say(f"The admin key of this new database is in {save_admin_key(settings.data_dir, key)}")
    except TickworkError as error:
        say(f"{error}. The admin key of this new database, shown only now: {key}")
