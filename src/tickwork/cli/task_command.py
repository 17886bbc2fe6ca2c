"""List the tasks that workers offer, with their parameters."""

from typing import Any

import click

from tickwork.cli.output import Columns, as_json
from tickwork.cli.print_or_watch_answer import prints_list
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
    "parameters": _parameters,
    "workers": lambda task: task.workers or "none",
    "description": lambda task: task.description,
}


@click.group()
def command() -> None:
    """List the tasks that workers offer, with their parameters."""


@command.command("list")
@prints_list(_COLUMNS)
def list_(client: Client) -> Page[TaskView]:
    """List tasks by name, with their parameters and workers."""
    return client.list_tasks()
