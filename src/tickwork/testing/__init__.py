"""The public test kit: run tasks in place, or on a real server whose time the test moves."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tickwork.testing.clock import SettableClock
    from tickwork.testing.manual_node import StillBusy
    from tickwork.testing.manual_server import AsyncManualServer, ManualServer
    from tickwork.testing.run_in_place import LoggedLine, TaskRun, run_task, run_task_async
    from tickwork.testing.scripted_worker import ScriptedWorker
    from tickwork.testing.temporary_postgres import TemporaryPostgres

__all__ = [
    "AsyncManualServer",
    "LoggedLine",
    "ManualServer",
    "ScriptedWorker",
    "SettableClock",
    "StillBusy",
    "TaskRun",
    "TemporaryPostgres",
    "run_task",
    "run_task_async",
]

_HOMES = {
    "AsyncManualServer": "manual_server",
    "LoggedLine": "run_in_place",
    "ManualServer": "manual_server",
    "ScriptedWorker": "scripted_worker",
    "SettableClock": "clock",
    "StillBusy": "manual_node",
    "TaskRun": "run_in_place",
    "TemporaryPostgres": "temporary_postgres",
    "run_task": "run_in_place",
    "run_task_async": "run_in_place",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: pytest loads the plugin in this package even in runs that use no fixture."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tickwork.testing' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"tickwork.testing.{_HOMES[name]}"), name)
    return value
