"""See on one screen how things stand."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import click

from tickwork.cli.connect import with_client
from tickwork.cli.failure import FAILED
from tickwork.cli.output import output_option, print_fields, print_json, print_table, say
from tickwork.cli.picture import Picture, look
from tickwork.cli.queue import QUEUE_COLUMNS
from tickwork.cli.text import full, relative
from tickwork.client.sync import Client
from tickwork.model.duration import format_duration
from tickwork.model.job import JobView
from tickwork.model.queue import QueueView

_SHOWN = 15  # queues


@click.command()
@output_option
@with_client
def command(client: Client, output: str) -> None:
    """See on one screen how things stand.

    Exits with 1 when somebody should look: nothing answers, work waits for more than a minute, a destination of HTTP
    jobs keeps failing.
    """
    picture = look(client, datetime.now(UTC))
    if output != "table":
        print_json([picture], output)
    else:
        _show(picture)
    if picture.problems:
        raise click.exceptions.Exit(FAILED)


def _show(picture: Picture) -> None:
    print_fields(facts(picture))
    busy = [queue for queue in picture.queues if is_busy(queue)]
    if busy:
        click.echo()
        print_table(busy[:_SHOWN], QUEUE_COLUMNS)
    for problem in picture.problems:
        say(f"{click.style('look:', fg='yellow')} {full(problem)}")


def facts(picture: Picture) -> Mapping[str, object]:
    """What is not there is not told."""
    draining = sum(worker.status == "draining" for worker in picture.workers)
    return {
        "server": f"answers in {picture.answered_in * 1000:.0f} ms, and so does its database",
        "workers": f"{len(picture.workers) - draining} online"
        + (f", {draining} draining" if draining else "")
        + f"; {picture.slots_used} of {picture.slots} slots in use",
        "http jobs": f"{picture.http_slots_used} of {picture.http_slots} slots in use",
        "running": picture.running,
        "waiting": waiting(picture),
        "dead letters": f"{_count(picture.dead_letters, picture.dead_letters_is_exact)} in the last 24 hours",
        "failing": [breaker.destination for breaker in picture.breakers],
        "next run": "\n".join(_next_run(job, picture.at) for job in picture.next_runs[:3]),
    }


def waiting(picture: Picture) -> str:
    count = _count(picture.waiting, picture.waiting_is_exact)
    if picture.oldest_age is None:
        return count
    return f"{count}, the oldest for {format_duration(timedelta(seconds=round(picture.oldest_age, 1)))}"


def is_busy(queue: QueueView) -> bool:
    return bool(queue.depth or queue.running or queue.paused)


def _count(count: int, is_exact: bool) -> str:
    return f"{count:,}" if is_exact else f"{count:,} or more"


def _next_run(job: JobView, now: datetime) -> str:
    when = relative(job.next_run_at, now) if job.next_run_at else ""
    return f"{when}: {job.name or job.key or job.task or 'an HTTP call'} ({job.id})"
