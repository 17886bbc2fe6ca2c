"""The jobs that a command acts on: one by its id, or several by ids or filters, counted and confirmed first."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

from tickwork.cli.exit_codes import CONFLICT
from tickwork.cli.output import say
from tickwork.client.sync_client import Client
from tickwork.model.bulk_action import JobAction
from tickwork.model.job import PRIORITIES, JobStatus, RunningChoice

Command = TypeVar("Command", bound=Callable[..., Any])
_CHUNK = 100
_MOST_SHOWN = 20  # failures
_OPTIONS = (
    click.argument("jobs", nargs=-1, metavar="[JOB]..."),
    click.option("--status", type=click.Choice([status.value for status in JobStatus])),
    click.option("--task", help="All jobs of this task."),
    click.option("--queue", help="All jobs of this queue."),
    click.option("--priority", type=click.Choice(PRIORITIES)),
    click.option("--tag", help="All jobs with this tag."),
    click.option("-q", "--search", "q", help="All jobs that the search finds."),
    click.option("--all", "every", is_flag=True, help="All jobs."),
    click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation."),
)


class JobChoice(NamedTuple):
    ids: list[str]
    filter: dict[str, Any] | None
    yes: bool

    @property
    def only_job(self) -> str | None:
        """The job, if exactly one was named."""
        return self.ids[0] if len(self.ids) == 1 else None


def job_choice_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def job_choice(action: str, options: dict[str, Any]) -> JobChoice:
    """Takes what was chosen out of the options of the command."""
    jobs, every, yes = (options.pop(name) for name in ("jobs", "every", "yes"))
    names = ("status", "task", "queue", "priority", "tag", "q")
    filters = {name: value for name in names if (value := options.pop(name)) is not None}
    if sum(map(bool, (jobs, every, filters))) != 1:
        raise click.UsageError(f"choose what to {action}: JOB, or options such as --tag, or --all")
    return JobChoice(list(jobs), None if jobs else filters, yes)


def change_jobs(
    client: Client, action: JobAction, choice: JobChoice, running: RunningChoice | None = None
) -> None:
    """Say how many, ask, then act on chunk after chunk. Ctrl-C stops between two chunks at the latest."""
    chosen: dict[str, Any] = {"ids": choice.ids} if choice.ids else {"filter": choice.filter}
    plan = client.plan_bulk_jobs(action, **chosen)
    count = f"{plan.matched:,}{'' if plan.exact else ' or more'} jobs"
    if not plan.matched and not choice.ids:
        say("no job matches")
        return
    if not choice.yes:
        click.confirm(f"{action.capitalize()} {count}?", abort=True, err=True)
    done, failed, cursor = 0, 0, None
    while True:
        part = client.bulk_jobs(action, **chosen, running=running, limit=_CHUNK, cursor=cursor)
        done += part.done
        for failure in part.failed[: max(0, _MOST_SHOWN - failed)]:
            say(f"{failure.job_id}: {failure.detail}")
        failed += len(part.failed)
        cursor = part.next_cursor
        if cursor is None:
            break
        say(f"{done:,} of {count} done")
    say(f"{action}: {done:,} done" + (f", {failed:,} failed" if failed else ""))
    if failed:
        raise click.exceptions.Exit(CONFLICT)
