"""`tickwork job tree`: jobs that depend on each other, drawn as a tree with their states."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from time import sleep

import click

from tickwork.cli.output import brief, coloured, output_option, print_json, say
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.execution import WaitingFor
from tickwork.model.job_graph import GraphJob, GraphParent, JobGraph
from tickwork.model.quantities import format_duration

_MOST_SIBLINGS = 20  # drawn one by one
_REFRESH_INTERVAL = 0.5  # seconds
Children = dict[str, list[GraphJob]]  # the jobs that are drawn below each job
_SHORTEST_SHOWN = timedelta(milliseconds=1)
_UNSUCCESSFUL = ("failed", "cancelled")


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
    click.echo("\n".join(tree_lines(graph)))
    if graph.truncated:
        say(f"only the nearest {len(graph.items):,} are shown")
    return None


def _follow(client: Client, job_id: str, graph: JobGraph) -> JobGraph:
    """Redraw the tree on a terminal until nothing can still run."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(), auto_refresh=False, transient=True) as live:
        while not _is_finished(graph):
            live.update(Text.from_ansi("\n".join(tree_lines(graph))), refresh=True)
            sleep(_REFRESH_INTERVAL)
            graph = client.get_graph(job_id)
    return graph


def _is_finished(graph: JobGraph) -> bool:
    """Nothing runs, and every waiting job is blocked by a failure."""
    a_job_failed = any(job.status in _UNSUCCESSFUL for job in graph.items)
    return all(
        job.status is None or job.status.ended or (a_job_failed and job.waiting_for is WaitingFor.DEPENDENCY)
        for job in graph.items
    )


def tree_lines(graph: JobGraph) -> Iterator[str]:
    """One line per job, below the last of its parents."""
    children: Children = {}
    known = {job.job_id for job in graph.items}
    for job in sorted(graph.items, key=lambda job: (len(job.job_id), job.job_id)):
        above = [job.element_of] if job.element_of else job.depends_on
        parents = [parent for parent in above if parent in known]
        children.setdefault(parents[-1] if parents else "", []).append(job)
    roots, rest = _drawn_and_counted(children, "")
    for job in roots:
        yield _line(job)
        yield from _branches(children, job.job_id, "")
    if rest:
        yield f"and {len(rest):,} more: {_status_counts(rest)}"


def _branches(children: Children, parent: str, indent: str) -> Iterator[str]:
    jobs, rest = _drawn_and_counted(children, parent)
    for position, job in enumerate(jobs, 1):
        last = position == len(jobs) and not rest
        yield f"{indent}{'└─' if last else '├─'} {_line(job)}"
        yield from _branches(children, job.job_id, indent + ("   " if last else "│  "))
    if rest:
        yield f"{indent}└─ and {len(rest):,} more: {_status_counts(rest)}"


def _drawn_and_counted(children: Children, parent: str) -> tuple[list[GraphJob], list[GraphJob]]:
    """The jobs to draw, and those to count only. A job with children is always drawn."""
    jobs = children.get(parent, [])
    leaves = [job for job in jobs if job.job_id not in children]
    rest = leaves[_MOST_SIBLINGS:]
    return [job for job in jobs if job not in rest], rest


def _line(job: GraphJob) -> str:
    name = brief(job.name or job.key or job.task)
    return f"{name}  {click.style(job.job_id, dim=True)}  {_state_text(job)}{_parents_text(job)}"


def _parents_text(job: GraphJob) -> str:
    """Names the parents if there are several, because a job is drawn below only one of them, and what it needs of
    them if that is not their success."""
    match job.parents:
        case []:
            return ""
        case [parent]:
            needs = _needs_text(parent)
            return f"  {needs}" if needs else ""
        case few if len(few) <= _MOST_SIBLINGS:
            return f"  after {', '.join(f'{each.job_id} {_needs_text(each)}'.rstrip() for each in few)}"
        case many:
            return f"  after {len(many):,} jobs"


def _needs_text(parent: GraphParent) -> str:
    if parent.when:
        return "if its condition is true"
    return "" if parent.on == "success" else f"on {parent.on}"


def _state_text(job: GraphJob) -> str:
    if job.status is None:
        return "not yet due"
    state = coloured(job.status)
    if job.waiting_for:
        return f"{state}, waits for {job.waiting_for}"
    if job.reason:
        return f"{state}, {job.reason}"
    if job.started_at:
        took = (job.finished_at or datetime.now(UTC)) - job.started_at
        return f"{state}, {format_duration(max(took, _SHORTEST_SHOWN))}"
    return state


def _status_counts(jobs: Sequence[GraphJob]) -> str:
    counts = Counter(job.status or "not yet due" for job in jobs)
    return ", ".join(f"{count:,} {coloured(status)}" for status, count in counts.most_common())
