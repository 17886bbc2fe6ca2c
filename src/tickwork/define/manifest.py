"""The jobs that an App declares by its tasks' schedules."""

from typing import Any

from msgspec import structs

from tickwork.define.registry import App
from tickwork.define.signature import definition_error
from tickwork.define.task import Task
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.job import JobRequest


def declared_jobs(app: App) -> list[JobRequest]:
    """To be created when a worker starts. Each has a key, so however many workers do it, it stays one job. Invalid
    names every task that cannot be run so."""
    jobs: list[JobRequest] = []
    errors: list[FieldError] = []
    for task in app.tasks.values():
        if task.declared:
            try:
                jobs.append(_declared_job(task, task.declared))
            except Invalid as invalid:
                errors.extend(invalid.errors)
    if errors:
        raise Invalid(errors)
    return jobs


def _declared_job(task: Task[..., Any], declared: JobRequest) -> JobRequest:
    try:
        payload = task.request_for().payload
    except TypeError as error:
        hint = "give the parameter a default, or submit the job with .on(…)"
        wrong = FieldError("schedule", f"it is run by its schedule without arguments: {error}", hint)
        raise definition_error(task.function, [wrong]) from None
    return structs.replace(declared, payload=payload)
