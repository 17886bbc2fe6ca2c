"""Run a worker; list and drain workers."""

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from traceback import format_exception
from types import TracebackType
from typing import Any, get_args

import click

from tickwork.cli.allow_command_option import allow_command_option
from tickwork.cli.option_types import label, listen_address, resource, weighted_queue
from tickwork.cli.output import Columns, page_options
from tickwork.cli.print_or_watch_answer import prints_item, prints_list
from tickwork.cli.run_until_stopped import exit_soon, replace_process, run_loop
from tickwork.cli.run_worker_until_stopped import run_worker
from tickwork.cli.settings_and_client import find_address, read_settings
from tickwork.client.sync_client import Client
from tickwork.client.worker_websocket import WebSocketLink, own_order
from tickwork.execute.load_app import Application, load_app
from tickwork.execute.measure_load import LoadMeter
from tickwork.execute.worker import Worker
from tickwork.log_setup import configure_logs
from tickwork.model.errors import TickworkError
from tickwork.model.field_types import Page
from tickwork.model.quantities import format_size
from tickwork.model.requires_limits_fair_share import SIZES
from tickwork.model.worker import WorkerSort, WorkerStatus, WorkerView
from tickwork.sdk.app import App, declared_jobs
from tickwork.tracing.opentelemetry_setup import open_global_pipeline, tracing_is_on


def _resources(worker: WorkerView) -> dict[str, str]:
    """The used and the total amount of each resource."""
    return {
        name: f"{_amount(name, worker.resources_used.get(name, 0.0))}/{_amount(name, total)}"
        for name, total in worker.resources.items()
    }


def _amount(name: str, amount: float) -> str:
    return format_size(amount) if name in SIZES else f"{amount:g}"


def _machine_load(worker: WorkerView) -> str | None:
    """Of the machine: how much of its CPUs, memory and disk is in use."""
    if worker.load is None:
        return None
    return ", ".join(f"{name} {share:.0%}" for name, share in worker.load.shares().items())


def _process_load(worker: WorkerView) -> str | None:
    """Of the worker's process."""
    load = worker.load
    if load is None:
        return None
    cpus = None if load.process_cpu is None else f"{load.process_cpu:g} CPUs"
    memory = None if load.process_memory is None else f"{format_size(load.process_memory)} memory"
    return ", ".join(filter(None, [cpus, memory]))


def _queues(worker: WorkerView) -> object:
    weighted = {queue: f"{queue}={weight:g}" for queue, weight in worker.weights.items() if weight != 1}
    return [weighted.pop(queue, queue) for queue in worker.queues] + [*weighted.values()] or "all"


_COLUMNS: Columns[WorkerView] = {
    "id": lambda worker: worker.id,
    "name": lambda worker: worker.name,
    "status": lambda worker: worker.status,
    "holds": lambda worker: f"{worker.holding}/{worker.slots}",
    "load": _machine_load,
    "resources": _resources,
    "labels": lambda worker: worker.labels,
    "queues": _queues,
    "tasks": lambda worker: worker.tasks,
    "commands": lambda worker: worker.commands,
    "seen": lambda worker: worker.heartbeat_at,
    "started": lambda worker: worker.started_at,
}
_FIELDS: Columns[WorkerView] = {
    **_COLUMNS,
    "process": _process_load,
    "protocol": lambda worker: worker.protocol,
    "host": lambda worker: worker.host,
    "version": lambda worker: worker.version,
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
    """Run a worker; list and drain workers.

    \b
    tickwork worker tasks:app    runs the tasks of `app` in tasks.py
    tickwork worker --allow-command 'backup-*'    runs commands, without Python
    """


@command.command("list")
@click.option("--status", type=click.Choice(get_args(WorkerStatus)))
@click.option("--queue", help="Only those that serve this queue.")
@click.option("--task", help="Only those that offer this task.")
@click.option(
    "--label",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Only those with this label; can be repeated.",
)
@click.option("--host", help="Only those on this host.")
@click.option("--version", help="Only those of this version of Tickwork.")
@click.option("--search", "q", metavar="TEXT", help="A part of the name, the host, a task or a label.")
@click.option("--sort", type=click.Choice(get_args(WorkerSort)), help="[default: -started_at]")
@page_options
@prints_list(_COLUMNS)
def list_(client: Client, label: tuple[str, ...], **filters: Any) -> Page[WorkerView]:
    """List workers, newest first.

    A worker that has left is listed for a day.
    """
    return client.list_workers(label=label or None, **filters)


@command.command()
@click.argument("worker_id", metavar="ID")
@prints_item(_FIELDS)
def get(client: Client, worker_id: str) -> WorkerView:
    """Show a worker in full."""
    return client.get_worker(worker_id)


@command.command()
@click.argument("worker_id", metavar="ID")
@prints_item(_FIELDS)
def drain(client: Client, worker_id: str) -> WorkerView:
    """Drain a worker: it accepts nothing new, finishes its attempts and exits."""
    return client.drain_worker(worker_id)


@command.command()
@click.argument("app", required=False, metavar="[MODULE:APP]")
@click.option(
    "--server", "servers", multiple=True, metavar="URL", help="A server to connect to; can be repeated."
)
@click.option("--name", help="[default: HOST-PROCESS]")
@click.option("--slots", type=int, help="How many attempts run at the same time.  [default: 100]")
@click.option(
    "--queue",
    "queues",
    type=weighted_queue,
    multiple=True,
    metavar="QUEUE[=WEIGHT]",
    help="A queue to serve, and its weight among the queues; can be repeated.  [default: all queues]",
)
@click.option(
    "--label",
    "labels",
    type=label,
    multiple=True,
    metavar="NAME=VALUE",
    help="A label that jobs can require; can be repeated.",
)
@click.option(
    "--resource",
    "resources",
    type=resource,
    multiple=True,
    metavar="NAME=AMOUNT",
    help="A resource that jobs use while they run, such as cpu=4 or memory=8Gi; can be repeated.",
)
@allow_command_option
@click.option(
    "--metrics-port",
    "metrics_at",
    type=listen_address,
    metavar="[HOST:]PORT",
    help="Serve Prometheus metrics there, without a key; on 127.0.0.1 unless a host is given.",
)
@click.option("--until-stdin-ends", is_flag=True, hidden=True)
def run(
    *,
    app: str | None,
    servers: tuple[str, ...],
    name: str | None,
    slots: int | None,
    queues: tuple[tuple[str, float], ...],
    labels: tuple[tuple[str, str], ...],
    resources: tuple[tuple[str, float], ...],
    allow_command: tuple[str, ...],
    metrics_at: tuple[str, int] | None,
    until_stdin_ends: bool,
) -> None:
    """Run the tasks of an app, and commands that are allowed, until stopped.

    On the first Ctrl-C or SIGTERM the worker finishes its attempts, on the second it stops at once.
    """
    if app is None and not allow_command:
        raise click.UsageError("give MODULE:APP, such as tasks:app, or --allow-command, or both")
    settings, _ = read_settings(url=servers[0] if servers else None, slots=slots)
    configure_logs(settings.log_format, settings.log_level)
    address = find_address(settings)
    application = _load(app) if app else App()
    pipeline = open_global_pipeline() if tracing_is_on(settings) else None
    declared = declared_jobs(application) if isinstance(application, App) else []

    async def main() -> None:
        worker = Worker(
            WebSocketLink(own_order(servers or (address.url,), name), address.key),
            application.definitions.values(),
            name=name,
            slots=settings.slots,
            queues=[queue for queue, _ in queues],
            weights={queue: weight for queue, weight in queues if weight != 1},
            labels=dict(labels),
            resources=dict(resources),
            app=app,
            commands=allow_command,
            count_attempts=metrics_at is not None,
            measure_load=LoadMeter(Path.cwd()).measure,
        )
        if isinstance(application, App):
            application.worker = worker.description
        async with _serving_metrics(metrics_at):
            needs_restart = await run_worker(worker, declared, address, until_stdin_ends=until_stdin_ends)
        if pipeline:
            pipeline.close()
        if needs_restart:
            replace_process()
        exit_soon()

    run_loop(main())


def _serving_metrics(at: tuple[str, int] | None) -> AbstractAsyncContextManager[None]:
    if at is None:
        return nullcontext()
    from tickwork.cli.worker_metrics_server import serving_metrics

    return serving_metrics(*at)


def _load(app: str) -> Application:
    try:
        return load_app(app)
    except TickworkError:
        raise
    except Exception as error:
        trace = "".join(format_exception(error.with_traceback(_from_user_code_on(error.__traceback__))))
        raise TickworkError(f"{app} cannot be imported\n{trace.rstrip()}") from error


def _from_user_code_on(trace: TracebackType | None) -> TracebackType | None:
    """Drops the frames of Tickwork and importlib that lead to the user's code."""
    while trace and ("importlib" in trace.tb_frame.f_code.co_filename or _is_ours(trace)):
        trace = trace.tb_next
    return trace


def _is_ours(trace: TracebackType) -> bool:
    return str(trace.tb_frame.f_globals.get("__name__")).startswith("tickwork.")
