"""Run PostgreSQL, a server and a worker, all in one."""

import shlex
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack

import click
import msgspec

from tickwork.cli.child_worker import running_child_worker
from tickwork.cli.data_folder import (
    create_data_folder,
    delete_pending_admin_key,
    pending_admin_key,
    read_admin_key,
    save_admin_key,
    server_file,
)
from tickwork.cli.database_access import wait_option
from tickwork.cli.output import say
from tickwork.cli.run_until_stopped import StopRequest, run_loop
from tickwork.cli.server_command import PortInUse, listen, running_node, serving_http, url_of
from tickwork.cli.settings_and_client import read_settings
from tickwork.client.find_server import DATA_DIR_DEFAULT, KEY_FILE, Address
from tickwork.config import DEFAULT, Settings, variable
from tickwork.log_setup import configure_logs
from tickwork.node import Node

_PORTS_TO_TRY = 50


@click.command()
@click.argument("app", required=False, metavar="[MODULE:APP]")
@click.option("--data-dir", metavar="FOLDER", help="The folder for all data.  [default: .tickwork]")
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="[default: 8080, or the next free one]")
@wait_option
def command(app: str | None, **flags: object) -> None:
    """Run PostgreSQL, a server and a worker, all in one.

    \b
    tickwork up              without a worker: HTTP jobs run, tasks wait
    tickwork up tasks:app    with a worker for the tasks of `app` in tasks.py
    """
    settings, sources = read_settings(**flags, http_allow_loopback=True)
    configure_logs(settings.log_format, settings.log_level)
    create_data_folder(settings.data_dir)
    first_key = settings.admin_key or pending_admin_key(settings.data_dir)
    open_listener = _listen_on_next_free_port if sources["port"] == DEFAULT else listen
    run_loop(_up(msgspec.structs.replace(settings, admin_key=first_key), app, open_listener))


async def _up(
    settings: Settings, app: str | None, open_listener: Callable[[str, int], socket.socket]
) -> None:
    stop = StopRequest()
    stop.listen()
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(open_listener(settings.host, settings.port))
        node = await stack.enter_async_context(running_node(settings, stop))
        await stack.enter_async_context(serving_http(node, listener, settings.max_connections))
        address = Address(url_of(listener), await _admin_key(settings, node))
        worker = await stack.enter_async_context(running_child_worker(app, address)) if app else None
        if worker:
            await worker.wait_until_connected(stop)
        stack.enter_context(server_file(settings.data_dir, address.url))
        _print_addresses(settings, address.url, app)
        await (worker.run_until_stopped(stop) if worker else stop.received.wait())
        say("stopping")


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


def _print_addresses(settings: Settings, url: str, app: str | None) -> None:
    folder = settings.data_dir.absolute()
    setting = f"{variable('data_dir')}={shlex.quote(str(folder))}"  # commands look for the default folder
    is_default = settings.data_dir == DATA_DIR_DEFAULT
    command = "tickwork worker MODULE:APP" if is_default else f"{setting} tickwork worker MODULE:APP"
    say("Tickwork is up. Ctrl-C stops it.")
    say(f"  API     {url}/v1")
    say(f"  docs    {url}/docs")
    say(f"  data    {folder} (the admin key is in {KEY_FILE})")
    say(f"  worker  {app or f'none yet; start one with `{command}`'}")
    if not is_default:
        say(f"  shell   export {setting}  # lets other commands find it")
