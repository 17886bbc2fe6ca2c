"""`tickwork job tree`: jobs that depend on each other, drawn as a tree with their states."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from time import sleep

import click

from tickwork.cli.find_server import with_client
from tickwork.cli.output import brief, coloured, output_option, print_json, say
from tickwork.client.sync_client import Client
from tickwork.model.execution import WaitingFor
from tickwork.model.job import GraphJob, JobGraph
from tickwork.model.quantities import format_duration

_MOST_SIBLINGS = 20  # drawn one by one
_LOOK_AGAIN = 0.5  # seconds
Below = dict[str, list[GraphJob]]  # the jobs that are drawn below a job
_BRIEFEST = timedelta(milliseconds=1)
_BADLY = ("failed", "cancelled")


@click.command()
@click.argument("job_id", metavar="JOB")
@click.option("--watch", is_flag=True, help="Redraw the tree until nothing in it can still run.")
@output_option
@with_client
def tree(client: Client, job_id: str, watch: bool, output: str) -> None:
    """Draw the dependencies around a job, with the states of the latest round."""
    graph = client.get_graph(job_id)
    if output != "table":
        return print_json(graph.items if output == "jsonl" else [graph], output)
    if watch:
        graph = _follow(client, job_id, graph)
    click.echo("\n".join(drawn(graph)))
    if graph.truncated:
        say(f"only the nearest {len(graph.items):,} are shown")
    return None


def _follow(client: Client, job_id: str, graph: JobGraph) -> JobGraph:
    """Redraw the tree on a terminal until nothing can still run."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(), auto_refresh=False, transient=True) as picture:
        while not _is_over(graph):
            picture.update(Text.from_ansi("\n".join(drawn(graph))), refresh=True)
            sleep(_LOOK_AGAIN)
            graph = client.get_graph(job_id)
    return graph


def _is_over(graph: JobGraph) -> bool:
    """Nothing runs, and whatever waits is blocked by a failure."""
    ended_badly = any(job.status in _BADLY for job in graph.items)
    return all(
        job.status is None or job.status.ended or (ended_badly and job.waiting_for is WaitingFor.DEPENDENCY)
        for job in graph.items
    )


def drawn(graph: JobGraph) -> Iterator[str]:
    """One line per job, below the last of its parents."""
    below: Below = {}
    known = {job.job_id for job in graph.items}
    for job in sorted(graph.items, key=lambda job: (len(job.job_id), job.job_id)):
        parents = [parent for parent in job.depends_on if parent in known]
        below.setdefault(parents[-1] if parents else "", []).append(job)
    roots, rest = _shown(below, "")
    for job in roots:
        yield _line(job)
        yield from _branches(below, job.job_id, "")
    if rest:
        yield f"and {len(rest):,} more: {_counted(rest)}"


def _branches(below: Below, parent: str, indent: str) -> Iterator[str]:
    jobs, rest = _shown(below, parent)
    for place, job in enumerate(jobs, 1):
        last = place == len(jobs) and not rest
        yield f"{indent}{'└─' if last else '├─'} {_line(job)}"
        yield from _branches(below, job.job_id, indent + ("   " if last else "│  "))
    if rest:
        yield f"{indent}└─ and {len(rest):,} more: {_counted(rest)}"


def _shown(below: Below, parent: str) -> tuple[list[GraphJob], list[GraphJob]]:
    """The jobs to draw, and those to count only. A job with children is always drawn."""
    jobs = below.get(parent, [])
    ends = [job for job in jobs if job.job_id not in below]
    rest = ends[_MOST_SIBLINGS:]
    return [job for job in jobs if job not in rest], rest


def _line(job: GraphJob) -> str:
    name = brief(job.name or job.key or job.task)
    return f"{name}  {click.style(job.job_id, dim=True)}  {_state(job)}{_after(job)}"


def _after(job: GraphJob) -> str:
    """Names the parents if there are several, because a job is drawn below only one of them."""
    match len(job.depends_on):
        case 0 | 1:
            return ""
        case few if few <= _MOST_SIBLINGS:
            return f"  after {', '.join(job.depends_on)}"
        case many:
            return f"  after {many:,} jobs"


def _state(job: GraphJob) -> str:
    if job.status is None:
        return "not yet due"
    state = coloured(job.status)
    if job.waiting_for:
        return f"{state}, waits for {job.waiting_for}"
    if job.started_at:
        took = (job.finished_at or datetime.now(UTC)) - job.started_at
        return f"{state}, {format_duration(max(took, _BRIEFEST))}"
    return state


def _counted(jobs: Sequence[GraphJob]) -> str:
    counts = Counter(job.status or "not yet due" for job in jobs)
    return ", ".join(f"{count:,} {coloured(status)}" for status, count in counts.most_common())
