"""Pause and resume the whole cluster, and see what it would run."""

from collections.abc import Sequence
from typing import Any, Literal

import click

from tickwork.cli.output import Columns, Item, output_option, print_fields, print_json, print_table, say
from tickwork.cli.print_or_watch_answer import prints_item
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.cluster import ClusterView, NodeView, PauseView, RestoreView
from tickwork.model.resume_cluster import InterruptedExecution, MissedJob, OverdueExecution, ResumeReport

_MOST_COUNTED = 10_000

_PAUSE: Columns[PauseView] = {
    "paused": lambda pause: pause.at,
    "by": lambda pause: pause.by,
    "reason": lambda pause: pause.reason,
}
_NODES: Columns[NodeView] = {
    "node": lambda node: f"{node.host}:{node.pid}",
    "status": lambda node: node.status,
    "version": lambda node: node.version,
    "address": lambda node: node.address,
    "seen": lambda node: node.seen_at,
    "problems": lambda node: node.problems,
}
_MISSED: Columns[MissedJob] = {
    "job": lambda job: job.job_id,
    "name": lambda job: job.name or job.key or job.task,
    "tenant": lambda job: job.tenant,
    "first due": lambda job: job.first_at,
    "due": lambda job: f"{job.due}" if job.due_is_exact else f"{job.due}+",
    "would run": lambda job: job.runs,
    "catch up": lambda job: job.catch_up,
}
_INTERRUPTED: Columns[InterruptedExecution] = {
    "execution": lambda execution: execution.id,
    "name": lambda execution: execution.name or execution.task,
    "tenant": lambda execution: execution.tenant,
    "due": lambda execution: execution.scheduled_for,
    "attempt": lambda execution: execution.attempt,
    "worker": lambda execution: execution.worker or "(its HTTP target)",
    "on worker lost": lambda execution: execution.on_worker_lost,
}
_OVERDUE: Columns[OverdueExecution] = {
    "execution": lambda execution: execution.id,
    "name": lambda execution: execution.name or execution.task,
    "tenant": lambda execution: execution.tenant,
    "due": lambda execution: execution.scheduled_for,
    "attempt": lambda execution: execution.attempt,
    "one-time": lambda execution: "yes" if execution.one_time else "no",
}


@click.group()
def command() -> None:
    """Pause and resume the whole cluster, and see what it would run.

    All of these need an admin key of the tenant default.
    """


@command.command()
@output_option
@with_client
def show(client: Client, output: str) -> None:
    """Show the nodes and their database, and whether the cluster is paused."""
    cluster = client.get_cluster()
    if output != "table":
        print_json([cluster], output)
        return
    print_fields(_cluster_fields(cluster))
    click.echo()
    print_table(cluster.nodes, _NODES)


@command.command()
@click.option("--reason", help="Shown to everybody who asks why nothing runs.")
@prints_item(_PAUSE)
def pause(client: Client, reason: str | None) -> PauseView:
    """Pause the cluster: nothing fires or is handed over until it is resumed.

    Attempts that workers have go on. Everything can be looked at and changed meanwhile. The pause outlives restarts.
    """
    return client.pause_cluster(reason)


@command.command()
@click.option("--limit", type=click.IntRange(1, 500), help="How many of each kind at most.  [default: 50]")
@output_option
@with_client
def report(client: Client, limit: int | None, output: str) -> None:
    """Show what resuming would do: what was missed, interrupted, or is overdue."""
    found = client.get_resume_report(limit=limit)
    if output != "table":
        print_json([found], output)
    else:
        _show_report(found)


@command.command()
@click.option(
    "--missed",
    type=click.Choice(["catch_up", "skip"]),
    default="catch_up",
    show_default=True,
    help="Due times that passed: as each job's catch_up says, or none of them runs.",
)
@click.option(
    "--running",
    type=click.Choice(["on_worker_lost", "retry", "cancel"]),
    default="on_worker_lost",
    show_default=True,
    help="Executions that were interrupted: as each job says, or all run again, or all are cancelled.",
)
@click.option(
    "--overdue",
    type=click.Choice(["run", "cancel"]),
    default="run",
    show_default=True,
    help="Executions that are due and wait: they run, or are cancelled.",
)
@with_client
def resume(client: Client, **choices: Any) -> None:
    """Resume a paused cluster, and choose what becomes of what `tickwork cluster report` shows."""
    skipped = retried = cancelled = 0
    while True:
        done = client.resume_cluster(**choices)
        skipped, retried = skipped + done.skipped_rules, retried + done.retried
        cancelled += done.cancelled
        if done.resumed:
            break
        say(f"so far: {_done(skipped, retried, cancelled)}")
    say(f"the cluster goes on; {_done(skipped, retried, cancelled)}")


def _done(skipped: int, retried: int, cancelled: int) -> str:
    return f"{skipped} schedules skipped what they missed, {retried} executions run again, {cancelled} are cancelled"


def _cluster_fields(cluster: ClusterView) -> dict[str, object]:
    database = cluster.database
    return {
        "state": pause_text(cluster.paused),
        "restored": _restored_text(cluster.restored),
        "backed up": cluster.backed_up_at,
        "database": f"PostgreSQL {database.version}{' (embedded)' if database.embedded else ''}",
        "connections": f"{database.connections_used} of {database.connections_allowed}",
        "replicas": database.replicas,
        "schema": cluster.schema_version,
        "partitions until": cluster.partitions_until,
        "zone data": cluster.zone_data,
    }


def pause_text(paused: PauseView | None) -> str:
    if paused is None:
        return "active"
    return f"paused since {paused.at:%Y-%m-%d %H:%M:%S} UTC by {paused.by}" + (
        f": {paused.reason}" if paused.reason else ""
    )


def _restored_text(restored: RestoreView | None) -> str | None:
    if restored is None:
        return None
    return f"{restored.at:%Y-%m-%d %H:%M:%S} UTC, with data until {restored.data_until:%Y-%m-%d %H:%M:%S} UTC"


def _show_report(report: ResumeReport) -> None:
    print_fields({"state": pause_text(report.paused), "restored": _restored_text(report.restored)})
    _show_kind("jobs were due", "--missed", report.missed_jobs, report.missed, _MISSED)
    _show_kind(
        "executions were interrupted",
        "--running",
        report.interrupted_executions,
        report.interrupted,
        _INTERRUPTED,
    )
    _show_kind("executions are overdue", "--overdue", report.overdue_executions, report.overdue, _OVERDUE)
    if report.restored:
        say(
            "What was created, changed or ended after the data of the restored database is not known here: "
            "jobs and keys of that time are gone, and executions that ended then run again."
        )


def _show_kind(
    words: str,
    option: Literal["--missed", "--running", "--overdue"],
    count: int,
    items: Sequence[Item],
    columns: Columns[Item],
) -> None:
    click.echo()
    shown = f"{count:,} or more" if count >= _MOST_COUNTED else f"{count:,}"
    click.echo(click.style(f"{shown} {words}", bold=True) + (f" (resume with {option})" if count else ""))
    if items:
        print_table(items, columns)
