"""Create, inspect and control jobs."""

import shlex
from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_args

import click

from tickwork.cli.backfill_command import backfill, backfills, cancel_backfill
from tickwork.cli.bulk_job_actions import change_jobs, job_choice, job_choice_options
from tickwork.cli.execution_command import EXECUTION_FIELDS, print_outcome_and_exit, seconds
from tickwork.cli.format_elapsed import format_elapsed
from tickwork.cli.job_options import definition_fields, definition_options
from tickwork.cli.job_tree import tree
from tickwork.cli.keep_options import kept_text, say_what_one_time_jobs_keep
from tickwork.cli.list_job_changes import changes
from tickwork.cli.list_missed_due_times import missed
from tickwork.cli.option_types import duration, instant
from tickwork.cli.output import (
    Columns,
    absolute,
    as_json,
    full,
    output_option,
    page_options,
    print_fields,
    say,
    show_item,
)
from tickwork.cli.preview_command import TIME_COLUMNS
from tickwork.cli.print_or_watch_answer import prints_item, prints_page, show_list, watch_option
from tickwork.cli.progress_or_why_waiting import (
    fetch_execution,
    fetch_latest_execution,
    progress_while_waiting,
)
from tickwork.cli.purge_job_command import purge
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.bulk_action import JobAction
from tickwork.model.execution import ExecutionView
from tickwork.model.field_types import Page
from tickwork.model.job import PRIORITIES, Dependency, JobRequest, JobStatus, JobView
from tickwork.model.job_filter import JobCountKind, JobPage, Sort
from tickwork.model.job_health import Health
from tickwork.model.notification_rule import NotifyEntry
from tickwork.model.overlap import Overlap
from tickwork.model.parsed_schedule_and_preview import PreviewTime
from tickwork.model.quantities import format_duration, format_size


def _target(job: JobView) -> str | None:
    if job.command:
        return shlex.join(job.command)
    return f"{job.http.method} {job.http.url}" if job.http else job.task


def _limits_text(job: JobView) -> str | None:
    limits = job.process_limits
    if limits is None:
        return None
    texts = {
        "memory": limits.memory and format_size(limits.memory),
        "CPU": limits.cpu_time and _duration_text(limits.cpu_time),
        "output": format_size(limits.output),
        "files": limits.files,
        "processes": limits.processes,
    }
    return ", ".join(f"{name} {text}" for name, text in texts.items() if text)


def _exit_codes_text(job: JobView) -> str | None:
    codes = job.exit_codes
    if codes is None:
        return None
    final = f"; final {', '.join(map(str, codes.final))}" if codes.final else ""
    return f"success {', '.join(map(str, codes.success))}{final}"


def _duration_text(seconds: float | None) -> str | None:
    return None if seconds is None else format_duration(timedelta(seconds=seconds))


def _deadline_text(job: JobView) -> str | None:
    if isinstance(job.deadline, str):
        return job.deadline
    after = _duration_text(job.deadline)
    return after and f"{after} after the due time"


def _dependency_text(entry: str | Dependency) -> str:
    if isinstance(entry, str):
        return entry
    return f"{entry.job} ({entry.on}{', if its result is as required' if entry.when else ''})"


def _notify_text(entry: NotifyEntry) -> str:
    return f"{','.join(entry.on)}={','.join(entry.to)}"


def _health_text(job: JobView) -> str:
    if job.failing_since is None:
        return job.health
    return f"{job.health}: {job.failures_in_a_row} in a row since {absolute(job.failing_since)}"


def _last_run_text(job: JobView) -> str | None:
    last = job.last_run
    if last is None:
        return None
    took = "" if last.duration is None else f" after {format_elapsed(timedelta(seconds=last.duration))}"
    return f"{last.status} at {absolute(last.finished_at)}{took} ({last.execution_id})"


_COLUMNS: Columns[JobView] = {
    "id": lambda job: job.id,
    "name": lambda job: job.name or job.key,
    "what": _target,
    "status": lambda job: job.status,
    "health": lambda job: job.health,
    "last run": lambda job: job.last_run and job.last_run.finished_at,
    "schedule": lambda job: job.schedule_words,
    "next run": lambda job: job.next_run_at,
}
_FIELDS: Columns[JobView] = {
    "id": lambda job: job.id,
    "name": lambda job: job.name,
    "key": lambda job: job.key,
    "status": lambda job: job.status,
    "what": _target,
    "environment": lambda job: job.env,
    "folder": lambda job: job.cwd,
    "stdin": lambda job: job.stdin,
    "exit codes": _exit_codes_text,
    "process limits": _limits_text,
    "payload": lambda job: as_json(job.payload or None),
    "schedule": lambda job: job.schedule_words,
    "next run": lambda job: job.next_run_at,
    "health": _health_text,
    "last run": _last_run_text,
    "running": lambda job: job.running or None,
    "execution": lambda job: job.execution_id,
    "queue": lambda job: job.queue,
    "priority": lambda job: job.priority,
    "attempts": lambda job: job.retry.max_attempts,
    "timeout": lambda job: format_duration(timedelta(seconds=job.timeout)),
    "warns after": lambda job: _duration_text(job.warn_after),
    "starts within": lambda job: _duration_text(job.start_within),
    "deadline": _deadline_text,
    "overlap": lambda job: job.overlap,
    "depends on": lambda job: [_dependency_text(entry) for entry in job.depends_on],
    "tags": lambda job: job.tags,
    "description": lambda job: job.description,
    "owner": lambda job: job.owner,
    "heartbeat URL": lambda job: job.heartbeat_url,
    "notify": lambda job: [_notify_text(entry) for entry in job.notify],
    "keeps": lambda job: kept_text(job.retention),
    "version": lambda job: job.version,
    "created": lambda job: job.created_at,
    "updated": lambda job: job.updated_at,
}
_NEXT_RUNS = 3
_IF_EXISTS = get_args(JobRequest.__annotations__["if_exists"])

_JOB = click.argument("job_id", metavar="JOB")
_WAIT = click.option(
    "--wait", is_flag=True, help="Wait until it ends, print the result, exit with the outcome."
)
_WAIT_TIMEOUT = click.option(
    "--wait-timeout",
    type=duration,
    metavar="DURATION",
    help="Stop waiting after this long, with exit code 124.",
)


@click.group()
def command() -> None:
    """Create, inspect and control jobs.

    JOB is the id of a job, or key:NAME for the job with this key.
    """


command.add_command(backfill)
command.add_command(backfills)
command.add_command(cancel_backfill)
command.add_command(tree)
command.add_command(changes)
command.add_command(missed)
command.add_command(purge)


@command.command()
@definition_options
@click.option("--key", help="Your own name for the job; only one job can have a given key.")
@click.option("--if-exists", type=click.Choice(_IF_EXISTS), help="What to do if a job with this key exists.")
@_WAIT
@_WAIT_TIMEOUT
@output_option
@with_client
def create(client: Client, wait: bool, wait_timeout: timedelta | None, output: str, **options: Any) -> None:
    """Create a job.

    \b
    tickwork job create --task hello --payload '{"name": "you"}' --wait
    tickwork job create --http https://example.org/hook --schedule "every 5m"
    tickwork job create --schedule "30 2 * * *" --key backup --command -- backup-db --full
    tickwork job create --task report --schedule "0 9 * * MON" --tz Europe/Paris --key weekly
    """
    job = client.create_job(**definition_fields(options))
    if wait:
        with progress_while_waiting(client, fetch_latest_execution(client, job.id)):
            ended = client.wait_for_job(job.id, seconds(wait_timeout), execution_id=job.execution_id)
        print_outcome_and_exit(ended, output)
    else:
        _show_with_next_runs(client, job, output)


@command.command("list")
@click.option("--status", type=click.Choice([status.value for status in JobStatus]))
@click.option("--health", type=click.Choice(get_args(Health)))
@click.option("--task", help="A task, or all under a prefix: 'reports.*'.")
@click.option("--queue")
@click.option("--priority", type=click.Choice(PRIORITIES))
@click.option("--tag", multiple=True, help="A tag; repeated, a job must have all of them.")
@click.option("--owner")
@click.option("--key", help="Only the job with this key.")
@click.option("-q", "--search", "q", help="Words of the name, key, task, tags and description.")
@click.option("--created-after", type=instant, metavar="TIME")
@click.option("--created-before", type=instant, metavar="TIME")
@click.option("--due-after", type=instant, metavar="TIME", help="The next run is after this time.")
@click.option("--due-before", type=instant, metavar="TIME", help="The next run is before this time.")
@click.option(
    "--sort",
    type=click.Choice(get_args(Sort)),
    help="Newest or oldest first, by the next run, or those that need attention first.",
)
@click.option("--recurring/--one-time", default=None, help="Only recurring jobs, or only those due one time.")
@click.option("--count", type=click.Choice(get_args(JobCountKind)), help="Also count those that match.")
@page_options
@watch_option
@output_option
@with_client
def list_(client: Client, sort: Sort | None, output: str, watch: float | None, **filters: Any) -> None:
    """List jobs, newest first; recurring ones by their next run."""
    order: Sort | None = sort or ("next_run_at" if filters["recurring"] else None)

    def fetch() -> JobPage:
        page = client.list_jobs(**filters, sort=order)
        if page.count:
            say(f"{page.count.value:,} in total ({page.count.kind})")
        return page

    show_list(fetch, _COLUMNS, output, watch)


@command.command()
@_JOB
@prints_item(_FIELDS)
def get(client: Client, job_id: str) -> JobView:
    """Show a job in full."""
    return client.get_job(job_id)


@command.command()
@_JOB
@definition_options
@click.option("--if-match", type=int, metavar="VERSION", help="Only if the job still has this version.")
@output_option
@with_client
def edit(client: Client, job_id: str, if_match: int | None, output: str, **options: Any) -> None:
    """Change the given fields of a job; the others stay."""
    patch = definition_fields(options)
    if not patch:
        raise click.UsageError("nothing to change; give at least one option, such as --schedule")
    _show_with_next_runs(client, client.edit_job(job_id, patch, if_match=if_match), output)


@command.command()
@job_choice_options
@output_option
@with_client
def pause(client: Client, output: str, **options: Any) -> None:
    """Pause jobs: nothing of them starts until you resume them.

    \b
    tickwork job pause key:weekly
    tickwork job pause --tag billing      counts the jobs and asks first
    """
    _change(client, "pause", client.pause_job, output, options)


@command.command()
@job_choice_options
@output_option
@with_client
def resume(client: Client, output: str, **options: Any) -> None:
    """Resume paused jobs."""
    _change(client, "resume", client.resume_job, output, options)


@command.command()
@job_choice_options
@click.option(
    "--overlap",
    type=click.Choice(get_args(Overlap)),
    help="What to do if an execution of the job has not ended.  [default: allow]",
)
@click.option("--worker", help="The name of the only worker that may run it.")
@_WAIT
@_WAIT_TIMEOUT
@output_option
@with_client
def run(
    client: Client,
    overlap: Overlap | None,
    worker: str | None,
    wait: bool,
    wait_timeout: timedelta | None,
    output: str,
    **options: Any,
) -> None:
    """Run jobs now, whatever their schedule."""
    choice = job_choice("run", options)
    if choice.only_job is None:
        if wait or overlap or worker:
            raise click.UsageError("--wait, --overlap and --worker go with one JOB")
        return change_jobs(client, "run", choice)
    execution = client.run_job(choice.only_job, overlap=overlap, worker=worker)
    if wait:
        with progress_while_waiting(client, fetch_execution(client, execution.id)):
            ended = client.wait_for_execution(execution.id, seconds(wait_timeout))
        print_outcome_and_exit(ended, output)
    else:
        show_item(execution, EXECUTION_FIELDS, output)
    return None


@command.command()
@_JOB
@prints_item(EXECUTION_FIELDS)
def retry(client: Client, job_id: str) -> ExecutionView:
    """Run the latest failed execution of a job again."""
    return client.retry_job(job_id)


@command.command()
@job_choice_options
@click.option("--stop-running", is_flag=True, help="Also stop what runs of them.")
@output_option
@with_client
def cancel(client: Client, stop_running: bool, output: str, **options: Any) -> None:
    """Cancel jobs: they have no further executions, and what runs goes on unless you say --stop-running.

    The jobs and their history stay; `tickwork job purge` deletes them.
    """
    choice = job_choice("cancel", options)
    if choice.only_job is None:
        return change_jobs(client, "cancel", choice, "cancel" if stop_running else None)
    job = client.cancel_job(choice.only_job, running="cancel" if stop_running else "leave")
    return show_item(job, _FIELDS, output)


@command.command("next")
@_JOB
@click.option("-n", "--count", type=click.IntRange(1, 100), default=5, show_default=True)
@prints_page(TIME_COLUMNS)
def next_(client: Client, job_id: str, count: int) -> Page[PreviewTime]:
    """Show when a job will run next."""
    return Page(_next_runs(client, client.get_job(job_id), count))


def _change(
    client: Client, action: JobAction, change: Callable[[str], JobView], output: str, options: dict[str, Any]
) -> None:
    choice = job_choice(action, options)
    if choice.only_job:
        show_item(change(choice.only_job), _FIELDS, output)
    else:
        change_jobs(client, action, choice)


def _show_with_next_runs(client: Client, job: JobView, output: str) -> None:
    if job.execution_id is not None:  # it is due one time
        say_what_one_time_jobs_keep(job.retention)
    if output != "table":
        return show_item(job, _FIELDS, output)
    runs = "\n".join(full(time.at) for time in _next_runs(client, job, _NEXT_RUNS))
    return print_fields({name: read(job) for name, read in _FIELDS.items()} | {"next run": runs})


def _next_runs(client: Client, job: JobView, count: int) -> list[PreviewTime]:
    if job.next_run_at is None:
        return []
    return client.preview(job.schedule, count=count).times
