"""A distributed job scheduler: every due time runs exactly once, and the record is kept."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tickwork.client.async_client import AsyncClient
    from tickwork.client.sync_client import Client
    from tickwork.model.condition import Condition
    from tickwork.model.errors import (
        BadId,
        Conflict,
        FieldError,
        Invalid,
        KeyReused,
        LeaseGone,
        NotAllowed,
        NotFound,
        QueueFull,
        Stale,
        StaleAttempt,
        TickworkError,
        Unavailable,
        WrongSchema,
    )
    from tickwork.model.execution import ExecutionStatus
    from tickwork.model.job import JobStatus
    from tickwork.model.requires_limits_fair_share import FairShare, Limit, Requires
    from tickwork.model.task_context import Context
    from tickwork.model.task_exceptions import AttemptLost, Cancel, CheckpointError, NoRetry, Snooze
    from tickwork.sdk.app import App
    from tickwork.sdk.submit_task import Task
    from tickwork.sdk.submitted_job_handle import ExecutionFailed, Handle
    from tickwork.sdk.workflow import Step, Steps, gather

__version__ = "0.1.0"
__all__ = [
    "App",
    "AsyncClient",
    "AttemptLost",
    "BadId",
    "Cancel",
    "CheckpointError",
    "Client",
    "Condition",
    "Conflict",
    "Context",
    "ExecutionFailed",
    "ExecutionStatus",
    "FairShare",
    "FieldError",
    "Handle",
    "Invalid",
    "JobStatus",
    "KeyReused",
    "LeaseGone",
    "Limit",
    "NoRetry",
    "NotAllowed",
    "NotFound",
    "QueueFull",
    "Requires",
    "Snooze",
    "Stale",
    "StaleAttempt",
    "Step",
    "Steps",
    "Task",
    "TickworkError",
    "Unavailable",
    "WrongSchema",
    "__version__",
    "gather",
]

_HOMES = {
    "App": "tickwork.sdk.app",
    "AsyncClient": "tickwork.client.async_client",
    "AttemptLost": "tickwork.model.task_exceptions",
    "BadId": "tickwork.model.errors",
    "Cancel": "tickwork.model.task_exceptions",
    "CheckpointError": "tickwork.model.task_exceptions",
    "Client": "tickwork.client.sync_client",
    "Condition": "tickwork.model.condition",
    "Conflict": "tickwork.model.errors",
    "Context": "tickwork.model.task_context",
    "ExecutionFailed": "tickwork.sdk.submitted_job_handle",
    "ExecutionStatus": "tickwork.model.execution",
    "FairShare": "tickwork.model.requires_limits_fair_share",
    "FieldError": "tickwork.model.errors",
    "Handle": "tickwork.sdk.submitted_job_handle",
    "Invalid": "tickwork.model.errors",
    "JobStatus": "tickwork.model.job",
    "KeyReused": "tickwork.model.errors",
    "LeaseGone": "tickwork.model.errors",
    "Limit": "tickwork.model.requires_limits_fair_share",
    "NoRetry": "tickwork.model.task_exceptions",
    "NotAllowed": "tickwork.model.errors",
    "NotFound": "tickwork.model.errors",
    "QueueFull": "tickwork.model.errors",
    "Requires": "tickwork.model.requires_limits_fair_share",
    "Snooze": "tickwork.model.task_exceptions",
    "Stale": "tickwork.model.errors",
    "StaleAttempt": "tickwork.model.errors",
    "Step": "tickwork.sdk.workflow",
    "Steps": "tickwork.sdk.workflow",
    "Task": "tickwork.sdk.submit_task",
    "TickworkError": "tickwork.model.errors",
    "Unavailable": "tickwork.model.errors",
    "WrongSchema": "tickwork.model.errors",
    "gather": "tickwork.sdk.workflow",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: the command line must start quickly."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tickwork' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
