"""Builds the requests about workers and tasks: list them, and declare, disable, enable and retire tasks."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from tickwork.client.build_requests import Call, get, given, post
from tickwork.model.field_types import Page
from tickwork.model.task import TaskDefaults, TaskView
from tickwork.model.worker import WorkerSort, WorkerStatus, WorkerView


def list_workers(
    *,
    status: WorkerStatus | None = None,
    queue: str | None = None,
    task: str | None = None,
    label: str | Sequence[str] | None = None,
    host: str | None = None,
    version: str | None = None,
    q: str | None = None,
    sort: WorkerSort | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Page[WorkerView]]:
    """The workers that match all filters, newest first, including those that left recently. `label` is NAME=VALUE or
    NAME; of several, a worker has all."""
    return get("workers", answer=Page[WorkerView], query=locals())


def get_worker(worker_id: str) -> Call[WorkerView]:
    """The worker and the executions that it has."""
    return get("workers", worker_id, answer=WorkerView)


def list_tasks() -> Call[Page[TaskView]]:
    """The tasks with their state and parameters, and the workers that offer them."""
    return get("tasks", answer=Page[TaskView])


def get_task(name: str) -> Call[TaskView]:
    """The task as it is known: by its workers, or as it was declared."""
    return get("tasks", name, answer=TaskView)


def declare_task(
    name: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    description: str | None = None,
    defaults: TaskDefaults | Mapping[str, Any] | None = None,
) -> Call[TaskView]:
    """Describe a task before a worker offers it. `parameters` is a JSON Schema of the payload."""
    body = given({"parameters": parameters, "description": description, "defaults": defaults})
    return Call(method="PUT", path=("tasks", name), answer=TaskView, body=msgspec.json.encode(body))


def disable_task(name: str, *, reason: str | None = None) -> Call[TaskView]:
    """Disable a task: its executions wait until it is enabled."""
    return post("tasks", name, "disable", answer=TaskView, body=given({"reason": reason}))


def enable_task(name: str) -> Call[TaskView]:
    """Enable a disabled task."""
    return post("tasks", name, "enable", answer=TaskView)


def retire_task(
    name: str,
    *,
    replacement: str | None = None,
    jobs: Literal["keep", "cancel"] = "keep",
    undo: bool = False,
) -> Call[TaskView]:
    """Retire a task: new jobs of it are refused. Those that exist go on, or are cancelled. `undo` takes it back."""
    body = given({"replacement": replacement, "jobs": jobs, "undo": undo or None})
    return post("tasks", name, "retire", answer=TaskView, body=body)
