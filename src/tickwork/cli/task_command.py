"""List the tasks that workers offer, with their parameters."""

from typing import Any

import click

from tickwork.cli.find_server import with_client
from tickwork.cli.output import Columns, as_json, output_option
from tickwork.cli.refreshing_list import show_list, watch_option
from tickwork.client.sync_client import Client
from tickwork.model.worker import TaskView


def _parameters(task: TaskView) -> str | None:
    """As in a signature: name: type = default, with a ? if it is optional and has no default."""
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
@watch_option
@output_option
@with_client
def list_(client: Client, output: str, watch: float | None) -> None:
    """List tasks by name, with their parameters and workers."""
    show_list(client.list_tasks, _COLUMNS, output, watch)
