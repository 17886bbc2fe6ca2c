"""List workflows: jobs that depend on each other."""

from typing import Any

import click
import msgspec

from tickwork.cli.output import Columns, output_option, page_options
from tickwork.cli.print_or_watch_answer import show_list, watch_option
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.workflow_list import WorkflowView


def _states(workflow: WorkflowView) -> str:
    """Such as `2 failed, 7 completed`."""
    counts = msgspec.structs.asdict(workflow.states)
    words = {name: "not run" if name == "none" else name for name in counts}
    return ", ".join(f"{count:,} {words[name]}" for name, count in counts.items() if count)


_COLUMNS: Columns[WorkflowView] = {
    "first job": lambda workflow: workflow.job_id,
    "name": lambda workflow: workflow.name or workflow.key or workflow.task,
    "jobs": lambda workflow: f"{workflow.jobs:,}{'+' if workflow.truncated else ''}",
    "states": _states,
    "due": lambda workflow: workflow.scheduled_for,
}


@click.group()
def command() -> None:
    """List workflows: jobs that depend on each other."""


@command.command("list")
@page_options
@watch_option
@output_option
@with_client
def list_(client: Client, output: str, watch: float | None, **page: Any) -> None:
    """List workflows, newest first, with the states of their latest round; `tickwork job tree` shows one."""
    show_list(lambda: client.list_workflows(**page), _COLUMNS, output, watch)
