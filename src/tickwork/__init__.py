"""A distributed job scheduler: every due time runs exactly once, and the record is kept."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tickwork.client.asynchronous import AsyncClient
    from tickwork.client.sync import Client
    from tickwork.define.handle import ExecutionFailed, Handle
    from tickwork.define.registry import App
    from tickwork.define.task import Task
    from tickwork.define.workflow import Step, Steps, gather
    from tickwork.model.context import Context
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
    from tickwork.model.steering import Cancel, NoRetry, Snooze
    from tickwork.model.terms import FairShare, Limit, Requires

__version__ = "0.1.0"
__all__ = [
    "App",
    "AsyncClient",
    "BadId",
    "Cancel",
    "Client",
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
    "App": "tickwork.define.registry",
    "AsyncClient": "tickwork.client.asynchronous",
    "BadId": "tickwork.model.errors",
    "Cancel": "tickwork.model.steering",
    "Client": "tickwork.client.sync",
    "Conflict": "tickwork.model.errors",
    "Context": "tickwork.model.context",
    "ExecutionFailed": "tickwork.define.handle",
    "ExecutionStatus": "tickwork.model.execution",
    "FairShare": "tickwork.model.terms",
    "FieldError": "tickwork.model.errors",
    "Handle": "tickwork.define.handle",
    "Invalid": "tickwork.model.errors",
    "JobStatus": "tickwork.model.job",
    "KeyReused": "tickwork.model.errors",
    "LeaseGone": "tickwork.model.errors",
    "Limit": "tickwork.model.terms",
    "NoRetry": "tickwork.model.steering",
    "NotAllowed": "tickwork.model.errors",
    "NotFound": "tickwork.model.errors",
    "QueueFull": "tickwork.model.errors",
    "Requires": "tickwork.model.terms",
    "Snooze": "tickwork.model.steering",
    "Stale": "tickwork.model.errors",
    "StaleAttempt": "tickwork.model.errors",
    "Step": "tickwork.define.workflow",
    "Steps": "tickwork.define.workflow",
    "Task": "tickwork.define.task",
    "TickworkError": "tickwork.model.errors",
    "Unavailable": "tickwork.model.errors",
    "WrongSchema": "tickwork.model.errors",
    "gather": "tickwork.define.workflow",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: the command line must start quickly."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tickwork' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
