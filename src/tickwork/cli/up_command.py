"""Run PostgreSQL, a server and a worker, all in one."""

import asyncio
import os
import shlex
import socket
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import click
import msgspec

from tickwork.cli.admin_key_and_server_file import (
    create_data_folder,
    delete_pending_admin_key,
    pending_admin_key,
    read_admin_key,
    save_admin_key,
    server_file,
)
from tickwork.cli.allow_command_option import allow_command_option
from tickwork.cli.login_command import open_in_browser, sign_in_url
from tickwork.cli.output import say
from tickwork.cli.run_until_stopped import StopRequest, run_loop
from tickwork.cli.server_command import (
    PortInUse,
    drain,
    listen,
    paused_option,
    running_node,
    say_if_dashboard_is_missing,
    say_if_paused,
    serving_http,
    url_of,
)
from tickwork.cli.settings_and_client import read_settings
from tickwork.cli.systemd_notify import SystemdNotifier
from tickwork.cli.wait_for_database import wait_option
from tickwork.client.async_client import AsyncClient
from tickwork.client.find_server import DATA_DIR_DEFAULT, KEY_FILE, Address
from tickwork.config import DEFAULT, Settings, variable
from tickwork.log_setup import configure_logs
from tickwork.model.errors import TickworkError
from tickwork.node import Node

DEMO_APP = "tickwork.demo.shop_tasks:app"
_PORTS_TO_TRY = 50

_CONNECTION_POLL = 0.05  # seconds
_RESTART_DELAY = 2.0  # seconds before a worker that ended is replaced


@click.command()
@click.argument("app", required=False, metavar="[MODULE:APP]")
@click.option("--data-dir", metavar="FOLDER", help="The folder for all data.  [default: .tickwork]")
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="[default: 8080, or the next free one]")
@click.option("--open", "opens", is_flag=True, help="Open the dashboard in the browser.")
@click.option(
    "--demo", is_flag=True, help="With the jobs of a fictitious shop and its last week, in a new database."
)
@allow_command_option
@paused_option
@wait_option
def command(
    app: str | None,
    opens: bool,
    demo: bool,
    allow_command: tuple[str, ...],
    paused: bool,
    **flags: object,
) -> None:
    """Run PostgreSQL, a server and a worker, all in one.

    \b
    tickwork up              without a worker: HTTP jobs run, tasks wait
    tickwork up tasks:app    with a worker for the tasks of `app` in tasks.py
    tickwork up --allow-command 'backup-*'    with a worker for commands
    tickwork up --demo --data-dir demo    with the jobs of a shop, to look around
    """
    if demo and app:
        raise click.UsageError("--demo brings its own worker; remove MODULE:APP")
    settings, sources = read_settings(**flags, http_allow_loopback=True)
    configure_logs(settings.log_format, settings.log_level)
    create_data_folder(settings.data_dir)
    first_key = settings.admin_key or pending_admin_key(settings.data_dir)
    open_listener = _listen_on_next_free_port if sources["port"] == DEFAULT else listen
    settings = msgspec.structs.replace(settings, admin_key=first_key)
    run_loop(_up(settings, DEMO_APP if demo else app, allow_command, opens, open_listener, paused=paused))


async def _up(
    settings: Settings,
    app: str | None,
    commands: tuple[str, ...],
    opens: bool,
    open_listener: Callable[[str, int], socket.socket],
    *,
    paused: bool,
) -> None:
    stop, systemd = StopRequest(), SystemdNotifier()
    stop.listen()
    systemd.starting("opening the database")
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(open_listener(settings.host, settings.port))
        settings = msgspec.structs.replace(settings, public_url=settings.public_url or url_of(listener))
        if app == DEMO_APP:
            await _prepare_demo(settings, url_of(listener))
        node = await stack.enter_async_context(running_node(settings, stop, paused=paused))
        serving = serving_http(node, listener, settings.max_connections)
        server = await stack.enter_async_context(serving)
        address = Address(url_of(listener), await _admin_key(settings, node))
        worker = None
        if app or commands:
            worker = await stack.enter_async_context(running_child_worker(app, commands, address))
            await worker.wait_until_connected(stop)
        stack.enter_context(server_file(settings.data_dir, address.url))
        link = await _sign_in_link(node, address)
        _print_addresses(settings, address.url, link, _worker_words(app, commands))
        say_if_paused(node)
        if opens and link:
            open_in_browser(link)
        async with systemd.ready(f"answers on {address.url}", lambda: not node.stuck()):
            await (worker.run_until_stopped(stop) if worker else stop.received.wait())
        say("stopping")
        systemd.stopping()
        await drain(node, server, settings.drain_delay, stop)


async def _prepare_demo(settings: Settings, url: str) -> None:
    from tickwork.demo.past_week import fill_past_week

    say("writing the shop's last week, which takes some seconds")
    configure_logs(settings.log_format, "error")  # what failed a week ago is no news
    is_new = await fill_past_week(settings, url)
    configure_logs(settings.log_format, settings.log_level)
    if not is_new:
        say("the shop is in the database already; it goes on from there")


def _listen_on_next_free_port(host: str, port: int) -> socket.socket:
    for candidate in range(port, min(port + _PORTS_TO_TRY, 65_536)):
        try:
            listener = listen(host, candidate)
        except PortInUse:
            continue
        if candidate != port:
            say(f"port {port} is in use; using {candidate}")
        return listener
    raise PortInUse(f"port {port} and the {_PORTS_TO_TRY - 1} after it are in use; choose one with --port")


async def _admin_key(settings: Settings, node: Node) -> str:
    """The first key, if the database got it in this start or in an interrupted one; otherwise the stored key."""
    first_key = settings.admin_key or ""
    if await node.keys.authenticate(first_key):
        save_admin_key(settings.data_dir, first_key)
    delete_pending_admin_key(settings.data_dir)
    return read_admin_key(settings.data_dir)


async def _sign_in_link(node: Node, address: Address) -> str | None:
    """None if somebody revoked the key of the data folder."""
    caller = await node.keys.authenticate(address.key)
    return sign_in_url(address.url, (await node.sessions.create_link(caller)).token) if caller else None


def _worker_words(app: str | None, commands: tuple[str, ...]) -> str:
    allowed = f"runs the commands {', '.join(commands)}" if commands else ""
    return "; ".join(filter(None, (app, allowed)))


def _print_addresses(settings: Settings, url: str, link: str | None, worker: str) -> None:
    folder = settings.data_dir.absolute()
    setting = f"{variable('data_dir')}={shlex.quote(str(folder))}"  # commands look for the default folder
    is_default = settings.data_dir == DATA_DIR_DEFAULT
    command = "tickwork worker MODULE:APP" if is_default else f"{setting} tickwork worker MODULE:APP"
    say("Tickwork is up. Ctrl-C stops it.")
    if link:
        say(f"  open    {link} (signs in once; `tickwork login` prints another)")
    say_if_dashboard_is_missing()
    say(f"  API     {url}/v1")
    say(f"  docs    {url}/docs")
    say(f"  data    {folder} (the admin key is in {KEY_FILE})")
    say(f"  worker  {worker or f'none yet; start one with `{command}`'}")
    if not is_default:
        say(f"  shell   export {setting}  # lets other commands find it")


@asynccontextmanager
async def running_child_worker(
    app: str | None, commands: tuple[str, ...], address: Address
) -> AsyncIterator["ChildWorker"]:
    worker = ChildWorker(app, commands, address)
    await worker.start()
    try:
        yield worker
    finally:
        await worker.kill()


class ChildWorker:
    def __init__(self, app: str | None, commands: tuple[str, ...], address: Address) -> None:
        self._app = [app] if app else []
        self._commands = [word for pattern in commands for word in ("--allow-command", pattern)]
        self._address = address
        self._name = f"{socket.gethostname()}-{os.getpid()}"
        self._process: Process
        self._ended: asyncio.Future[int]

    async def start(self) -> None:
        """The child has its own session, so that Ctrl-C reaches it only through us. It stops when its standard input
        ends, however this process died."""
        options = ("--name", self._name, "--until-stdin-ends", *self._commands)
        arguments = ("worker", "run", *self._app, *options)
        self._process = await create_subprocess_exec(
            *(sys.executable, "-m", "tickwork.cli", *arguments),
            env={**os.environ, "TICKWORK_URL": self._address.url, "TICKWORK_API_KEY": self._address.key},
            stdin=PIPE,
            start_new_session=True,
        )
        self._ended = asyncio.ensure_future(self._process.wait())

    async def wait_until_connected(self, stop: StopRequest) -> None:
        """Wait until the worker is connected or a stop is requested."""
        async with AsyncClient(*self._address) as client:
            while not (stop.received.is_set() or await self._is_connected(client)):
                if self._ended.done():
                    raise TickworkError(f"the worker ended by itself, with {self._exit_status()}")
                await asyncio.sleep(_CONNECTION_POLL)

    async def run_until_stopped(self, stop: StopRequest) -> None:
        """Restart the worker until a stop is requested. A second request stops its running attempts, too."""
        await self._restart_until_stopped(stop)
        if not self._ended.done():
            say("the worker finishes its attempts; Ctrl-C again stops it at once")
            self._process.terminate()
            await self._until_ended_or(stop.immediate)

    async def kill(self) -> None:
        if not self._ended.done():
            self._process.kill()
            await self._ended

    async def _restart_until_stopped(self, stop: StopRequest) -> None:
        await self._until_ended_or(stop.received)
        while not stop.received.is_set():
            say(f"the worker ended by itself, with {self._exit_status()}; starting another")
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.received.wait(), _RESTART_DELAY)
                return
            await self.start()
            await self._until_ended_or(stop.received)

    def _exit_status(self) -> str:
        code = self._ended.result()
        return f"exit code {code}" if code >= 0 else f"signal {-code}"

    async def _is_connected(self, client: AsyncClient) -> bool:
        return any(worker.name == self._name for worker in (await client.list_workers()).items)

    async def _until_ended_or(self, event: asyncio.Event) -> None:
        event_set = asyncio.ensure_future(event.wait())
        await asyncio.wait((self._ended, event_set), return_when=asyncio.FIRST_COMPLETED)
        event_set.cancel()
