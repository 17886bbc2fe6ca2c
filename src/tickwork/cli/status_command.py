"""Show the state of the system on one screen. Also fetches what `tickwork top` shows."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from time import monotonic

import click
import msgspec

from tickwork.cli.exit_codes import FAILED
from tickwork.cli.output import full, output_option, print_fields, print_json, print_table, relative, say
from tickwork.cli.queue_command import QUEUE_COLUMNS
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.circuit_breaker import BreakerState, BreakerView
from tickwork.model.cluster import NodeView
from tickwork.model.errors import NotAllowed
from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.model.field_types import Instant
from tickwork.model.job import HTTP_TASK, JobView
from tickwork.model.quantities import format_duration
from tickwork.model.queue import QueueView
from tickwork.model.worker import WorkerView

DEAD_LETTERS_WITHIN = timedelta(hours=24)
_LONG_WAIT = 60.0  # seconds that the oldest execution of a queue has waited
_PAGE = 500
_MOST_DEAD_LETTERS = 100
_MOST_RUNNING = 100
_LATEST_EXECUTIONS = 200
_RATE_WINDOW = 10.0  # seconds


class SystemStatus(msgspec.Struct, frozen=True, kw_only=True):
    at: Instant
    answered_in: float  # seconds for the first request
    paused: bool  # the whole cluster
    nodes: list[NodeView]  # empty if the key is not an admin key of the tenant default
    workers: list[WorkerView]  # online or draining, without the built-in ones
    slots: int
    slots_used: int
    http_slots: int
    http_slots_used: int
    queues: list[QueueView]
    running: int
    waiting: int
    waiting_is_exact: bool
    oldest_age: float | None
    dead_letters: int
    dead_letters_is_exact: bool
    breakers: list[BreakerView]  # those that are not closed
    next_runs: list[JobView]
    problems: list[str]


class Activity(msgspec.Struct, frozen=True):
    """The running executions and the recent rate, for `tickwork top`."""

    running: list[ExecutionView]
    per_second: float  # executions that ended recently
    failed: int  # among them


def fetch_status(client: Client, now: datetime) -> SystemStatus:
    began = monotonic()
    connected = [worker for worker in client.list_workers(limit=_PAGE).items if worker.status != "offline"]
    answered_in = monotonic() - began
    built_in = [worker for worker in connected if worker.tasks == [HTTP_TASK]]
    workers = [worker for worker in connected if worker not in built_in]
    queues = client.list_queues(limit=_PAGE).items
    letters = client.list_dead_letters(since=now - DEAD_LETTERS_WITHIN, limit=_MOST_DEAD_LETTERS)
    nodes, paused = _cluster(client)
    breakers = [breaker for breaker in client.list_breakers().items if breaker.state != BreakerState.CLOSED]
    return SystemStatus(
        at=now,
        answered_in=answered_in,
        paused=paused,
        nodes=nodes,
        workers=workers,
        slots=sum(worker.slots for worker in workers),
        slots_used=sum(worker.holding for worker in workers),
        http_slots=sum(worker.slots for worker in built_in),
        http_slots_used=sum(worker.holding for worker in built_in),
        queues=queues,
        running=sum(queue.running for queue in queues),
        waiting=sum(queue.depth for queue in queues),
        waiting_is_exact=all(queue.depth_is_exact for queue in queues),
        oldest_age=max((queue.oldest_age for queue in queues if queue.oldest_age is not None), default=None),
        dead_letters=len(letters.items),
        dead_letters_is_exact=letters.next_cursor is None,
        breakers=breakers,
        next_runs=client.list_jobs(sort="next_run_at", limit=5).items,
        problems=[*_pause_problem(paused), *_node_problems(nodes), *_problems(workers, queues, breakers)],
    )


def _cluster(client: Client) -> tuple[list[NodeView], bool]:
    """The nodes, and whether the cluster is paused, which every key may know."""
    try:
        cluster = client.get_cluster()
    except NotAllowed:
        return [], client.get_overview().paused
    return cluster.nodes, cluster.paused is not None


def fetch_activity(client: Client, now: datetime) -> Activity:
    latest = client.list_executions(until=now, limit=_LATEST_EXECUTIONS).items
    window = _RATE_WINDOW
    if len(latest) == _LATEST_EXECUTIONS:  # there are more: measure over the time that the page covers
        window = min(max((now - latest[-1].scheduled_for).total_seconds(), 0.1), _RATE_WINDOW)
    since = now - timedelta(seconds=window)
    ended = [execution for execution in latest if execution.finished_at and execution.finished_at >= since]
    failed = sum(execution.status is ExecutionStatus.FAILED for execution in ended)
    running = client.list_executions(status=ExecutionStatus.RUNNING, limit=_MOST_RUNNING).items
    return Activity(running, len(ended) / window, failed)


def _pause_problem(paused: bool) -> Iterator[str]:
    if paused:
        yield "the cluster is paused: nothing fires or is handed over; see `tickwork cluster report`"


def _node_problems(nodes: list[NodeView]) -> Iterator[str]:
    for node in nodes:
        if node.status == "silent":
            yield f"node {node.host} ({node.pid}) was last seen {relative(node.seen_at, datetime.now(UTC))}"
        elif node.status == "unwell":
            yield f"node {node.host} ({node.pid}): {'; '.join(node.problems)}"


def _problems(
    workers: list[WorkerView], queues: list[QueueView], breakers: list[BreakerView]
) -> Iterator[str]:
    for queue in queues:
        if not queue.paused and queue.oldest_age is not None and queue.oldest_age > _LONG_WAIT:
            yield f"queue {queue.name}: the oldest has waited for {queue.oldest_age:.0f} s" + (
                "" if workers else ", and no worker is online"
            )
    for breaker in breakers:
        yield f"{breaker.destination} keeps failing: {breaker.last_error or 'its circuit breaker is open'}"


_MOST_QUEUES_SHOWN = 15  # queues


@click.command()
@output_option
@with_client
def command(client: Client, output: str) -> None:
    """Show the state of the system on one screen.

    Exits with 1 if there is a problem: the server does not answer, the cluster is paused, a node is silent or unwell,
    an execution has waited for more than a minute, or a destination of HTTP jobs keeps failing. Only an admin key sees
    the nodes.
    """
    status = fetch_status(client, datetime.now(UTC))
    if output != "table":
        print_json([status], output)
    else:
        _show(status)
    if status.problems:
        raise click.exceptions.Exit(FAILED)


def _show(status: SystemStatus) -> None:
    print_fields(status_fields(status))
    busy = [queue for queue in status.queues if is_busy(queue)]
    if busy:
        click.echo()
        print_table(busy[:_MOST_QUEUES_SHOWN], QUEUE_COLUMNS)
    for problem in status.problems:
        say(f"{click.style('problem:', fg='yellow')} {full(problem)}")


def status_fields(status: SystemStatus) -> Mapping[str, object]:
    """The lines of the screen. Empty values are not printed."""
    draining = sum(worker.status == "draining" for worker in status.workers)
    return {
        "server": f"answers in {status.answered_in * 1000:.0f} ms, and so does its database",
        "cluster": "paused" if status.paused else None,
        "nodes": [f"{node.host}:{node.pid} {node.status}" for node in status.nodes],
        "workers": f"{len(status.workers) - draining} online"
        + (f", {draining} draining" if draining else "")
        + f"; {status.slots_used} of {status.slots} slots in use",
        "http jobs": f"{status.http_slots_used} of {status.http_slots} slots in use",
        "running": status.running,
        "waiting": waiting_text(status),
        "dead letters": f"{_count(status.dead_letters, status.dead_letters_is_exact)} in the last 24 hours",
        "failing": [breaker.destination for breaker in status.breakers],
        "next run": "\n".join(_next_run(job, status.at) for job in status.next_runs[:3]),
    }


def waiting_text(status: SystemStatus) -> str:
    count = _count(status.waiting, status.waiting_is_exact)
    if status.oldest_age is None:
        return count
    return f"{count}, the oldest for {format_duration(timedelta(seconds=round(status.oldest_age, 1)))}"


def is_busy(queue: QueueView) -> bool:
    return bool(queue.depth or queue.running or queue.paused)


def _count(count: int, is_exact: bool) -> str:
    return f"{count:,}" if is_exact else f"{count:,} or more"


def _next_run(job: JobView, now: datetime) -> str:
    when = relative(job.next_run_at, now) if job.next_run_at else ""
    return f"{when}: {job.name or job.key or job.task or 'an HTTP call'} ({job.id})"
