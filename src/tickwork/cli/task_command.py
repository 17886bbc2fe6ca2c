"""List, declare, disable, enable and retire tasks."""

from typing import Any, Literal

import click

from tickwork.cli.option_types import json_value
from tickwork.cli.output import Columns, as_json
from tickwork.cli.print_or_watch_answer import prints_item, prints_list
from tickwork.client.sync_client import Client
from tickwork.model.field_types import Page
from tickwork.model.task import TaskView


def _parameters(task: TaskView) -> str | None:
    """A signature such as `name: type = default`, with a ? after an optional name without a default."""
    required = set(task.parameters.get("required", ()))
    properties: dict[str, Any] = task.parameters.get("properties", {})
    return ", ".join(_parameter(name, schema, name in required) for name, schema in properties.items())


def _parameter(name: str, schema: Any, required: bool) -> str:
    schema = schema if isinstance(schema, dict) else {}
    if "default" in schema:
        return f"{name}: {_type(schema)} = {as_json(schema['default']) or 'null'}"
    return f"{name}{'' if required else '?'}: {_type(schema)}"


def _type(schema: dict[str, Any]) -> str:
    kinds = schema.get("type") or [_type(option) for option in schema.get("anyOf", [])]
    if isinstance(kinds, str):
        return kinds
    return " | ".join(map(str, kinds)) or "any"


_COLUMNS: Columns[TaskView] = {
    "task": lambda task: task.name,
    "state": lambda task: task.state,
    "parameters": _parameters,
    "workers": lambda task: task.workers or "none",
    "use instead": lambda task: task.replacement,
    "description": lambda task: task.description,
}
_FIELDS: Columns[TaskView] = {
    **_COLUMNS,
    "defaults": lambda task: task.defaults,
    "offered": lambda task: task.offered_at,
    "disabled": lambda task: task.disabled_at,
    "disabled by": lambda task: task.disabled_by,
    "reason": lambda task: task.disabled_reason,
    "retired": lambda task: task.retired_at,
    "retired by": lambda task: task.retired_by,
}


@click.group()
def command() -> None:
    """List, declare, disable, enable and retire tasks."""


@command.command("list")
@prints_list(_COLUMNS)
def list_(client: Client) -> Page[TaskView]:
    """List tasks by name, with their state, their parameters and workers."""
    return client.list_tasks()


@command.command()
@click.argument("name")
@prints_item(_FIELDS)
def get(client: Client, name: str) -> TaskView:
    """Show a task."""
    return client.get_task(name)


@command.command()
@click.argument("name")
@click.option(
    "--parameters",
    type=json_value,
    metavar="JSON|@FILE|-",
    help="A JSON Schema of the payload.  [default: anything]",
)
@click.option("--description", help="What the task does.")
@click.option(
    "--defaults",
    type=json_value,
    metavar="JSON|@FILE|-",
    help="""What its jobs have if they leave it out: '{"queue": "mail", "timeout": "1m"}'.""",
)
@prints_item(_FIELDS)
def declare(client: Client, name: str, **declaration: Any) -> TaskView:
    """Declare a task before a worker offers it, so that jobs can be created for it.

    When a worker offers the task, what it says of the task replaces this.
    """
    return client.declare_task(name, **declaration)


@command.command()
@click.argument("name")
@click.option("--reason", help="Why; `execution why` shows it.")
@prints_item(_FIELDS)
def disable(client: Client, name: str, reason: str | None) -> TaskView:
    """Disable a task: its executions wait until it is enabled, running ones go on."""
    return client.disable_task(name, reason=reason)


@command.command()
@click.argument("name")
@prints_item(_FIELDS)
def enable(client: Client, name: str) -> TaskView:
    """Enable a disabled task."""
    return client.enable_task(name)


@command.command()
@click.argument("name")
@click.option("--replacement", metavar="TASK", help="The task to use instead; errors name it.")
@click.option(
    "--jobs",
    type=click.Choice(["keep", "cancel"]),
    default="keep",
    show_default=True,
    help="keep: its jobs go on; cancel: they have no further executions.",
)
@click.option("--undo", is_flag=True, help="Take the task back: it gets new jobs again.")
@prints_item(_FIELDS)
def retire(
    client: Client, name: str, replacement: str | None, jobs: Literal["keep", "cancel"], undo: bool
) -> TaskView:
    """Retire a task: new jobs of it are refused."""
    if undo and (replacement or jobs == "cancel"):
        raise click.UsageError("--undo goes without --replacement and --jobs")
    return client.retire_task(name, replacement=replacement, jobs=jobs, undo=undo)
