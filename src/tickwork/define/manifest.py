"""The jobs that an App declares by its tasks' schedules."""

from typing import Any

from msgspec import structs

from tickwork.define.registry import App
from tickwork.define.task import Task
from tickwork.model.errors import Invalid
from tickwork.model.job import JobRequest


def declared_jobs(app: App) -> list[JobRequest]:
    """To be created when a worker starts. Each has a key, so however many workers do it, it stays one job."""
    return [_declared_job(task, task.declared) for task in app.tasks.values() if task.declared]


def _declared_job(task: Task[..., Any], declared: JobRequest) -> JobRequest:
    try:
        payload = task.request_for().payload
    except TypeError as error:
        hint = "give the parameter a default, or submit the job with .on(…)"
        raise Invalid.field(task.name, f"is run by its schedule without arguments: {error}", hint) from None
    return structs.replace(declared, payload=payload)
