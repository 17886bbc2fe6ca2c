"""A distributed job scheduler: every due time runs exactly once, and the record is kept."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tickwork.client.asynchronous import AsyncClient
    from tickwork.client.sync import Client
    from tickwork.define.handle import ExecutionFailed
    from tickwork.define.registry import App
    from tickwork.define.workflow import gather
    from tickwork.model.context import Context
    from tickwork.model.steering import Cancel, NoRetry, Snooze
    from tickwork.model.terms import FairShare, Limit, Requires

__version__ = "0.1.0"
__all__ = [
    "App",
    "AsyncClient",
    "Cancel",
    "Client",
    "Context",
    "ExecutionFailed",
    "FairShare",
    "Limit",
    "NoRetry",
    "Requires",
    "Snooze",
    "__version__",
    "gather",
]

_HOMES = {
    "App": "tickwork.define.registry",
    "AsyncClient": "tickwork.client.asynchronous",
    "Cancel": "tickwork.model.steering",
    "Client": "tickwork.client.sync",
    "Context": "tickwork.model.context",
    "ExecutionFailed": "tickwork.define.handle",
    "FairShare": "tickwork.model.terms",
    "Limit": "tickwork.model.terms",
    "NoRetry": "tickwork.model.steering",
    "Requires": "tickwork.model.terms",
    "Snooze": "tickwork.model.steering",
    "gather": "tickwork.define.workflow",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: the command line must start quickly."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tickwork' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
