"""Run a worker; list the workers of a server."""

from traceback import format_exception
from types import TracebackType
from typing import Any

import click

from tickwork.cli.connect import find_address, read_settings, with_client
from tickwork.cli.loop import leave_soon, replace_process, run_loop
from tickwork.cli.output import Columns, output_option, page_options, show_item, show_page
from tickwork.cli.value import label
from tickwork.cli.working import work
from tickwork.client.link import WebSocketLink, own_order
from tickwork.client.sync import Client
from tickwork.define.manifest import declared_jobs
from tickwork.define.registry import App
from tickwork.execute.application import Application, load_app
from tickwork.execute.worker import Worker
from tickwork.logs import configure_logs
from tickwork.model.errors import TickworkError
from tickwork.model.worker import WorkerView

_COLUMNS: Columns[WorkerView] = {
    "id": lambda worker: worker.id,
    "name": lambda worker: worker.name,
    "status": lambda worker: worker.status,
    "holds": lambda worker: f"{worker.holding}/{worker.slots}",
    "queues": lambda worker: worker.queues or "all",
    "tasks": lambda worker: worker.tasks,
    "started": lambda worker: worker.started_at,
}
_FIELDS: Columns[WorkerView] = {
    **_COLUMNS,
    "host": lambda worker: worker.host,
    "version": lambda worker: worker.version,
    "labels": lambda worker: worker.labels,
    "lease until": lambda worker: worker.lease_until,
    "ended": lambda worker: worker.ended_at,
}


class _WorkerGroup(click.Group):
    """`tickwork worker tasks:app` means `tickwork worker run tasks:app`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.command(cls=_WorkerGroup)
def command() -> None:
    """Run a worker; list the workers of a server.

    \b
    tickwork worker tasks:app    runs the tasks of `app` in tasks.py
    """


@command.command("list")
@page_options
@output_option
@with_client
def list_(client: Client, output: str, **page: Any) -> None:
    """Workers, newest first."""
    show_page(client.list_workers(**page), _COLUMNS, output)


@command.command()
@click.argument("worker_id", metavar="ID")
@output_option
@with_client
def get(client: Client, worker_id: str, output: str) -> None:
    """One worker in full."""
    show_item(client.get_worker(worker_id), _FIELDS, output)


@command.command()
@click.argument("app", metavar="MODULE:APP")
@click.option("--server", "servers", multiple=True, metavar="URL", help="May be given several times.")
@click.option("--name", help="[default: HOST-PROCESS]")
@click.option("--slots", type=int, help="How many attempts at the same time.  [default: 100]")
@click.option(
    "--queue", "queues", multiple=True, help="A queue to serve; may be given again. All, if none is."
)
@click.option("--label", "labels", type=label, multiple=True, metavar="NAME=VALUE")
@click.option("--until-stdin-ends", is_flag=True, hidden=True)
def run(
    *,
    app: str,
    servers: tuple[str, ...],
    name: str | None,
    slots: int | None,
    queues: tuple[str, ...],
    labels: tuple[tuple[str, str], ...],
    until_stdin_ends: bool,
) -> None:
    """Run the tasks of an app until stopped.

    The first Ctrl-C or SIGTERM lets it finish what it runs, the second breaks off.
    """
    settings, _ = read_settings(url=servers[0] if servers else None, slots=slots)
    configure_logs(settings.log_format, settings.log_level)
    address = find_address(settings)
    application = _load(app)
    declared = declared_jobs(application) if isinstance(application, App) else []

    async def main() -> None:
        worker = Worker(
            WebSocketLink(own_order(servers or (address.url,), name), address.key),
            application.definitions.values(),
            name=name,
            slots=settings.slots,
            queues=queues,
            labels=dict(labels),
            app=app,
        )
        if await work(worker, declared, address, until_stdin_ends=until_stdin_ends):
            replace_process()
        leave_soon()

    run_loop(main())


def _load(app: str) -> Application:
    try:
        return load_app(app)
    except TickworkError:
        raise
    except Exception as error:
        trace = "".join(format_exception(error.with_traceback(_from_their_code_on(error.__traceback__))))
        raise TickworkError(f"{app} cannot be imported\n{trace.rstrip()}") from error


def _from_their_code_on(trace: TracebackType | None) -> TracebackType | None:
    """Without the frames that lead to it: those are ours and Python's."""
    while trace and ("importlib" in trace.tb_frame.f_code.co_filename or _is_ours(trace)):
        trace = trace.tb_next
    return trace


def _is_ours(trace: TracebackType) -> bool:
    return str(trace.tb_frame.f_globals.get("__name__")).startswith("tickwork.")
