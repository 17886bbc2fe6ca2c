"""Imports the user's App by its path, "module:app"."""

import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Protocol, TypeGuard, runtime_checkable

from tickwork.model.errors import Invalid
from tickwork.model.task import TaskDefinition


@runtime_checkable
class Application(Protocol):
    @property
    def definitions(self) -> Mapping[str, TaskDefinition]: ...


def load_app(path: str) -> Application:
    """Import it from the current folder or from sys.path. Errors of the user's own code pass through."""
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise Invalid.field(
            "app", f"{path!r} does not say where the App is", "write MODULE:NAME, such as tasks:app"
        )
    return _find_app(_import(module_name), attribute)


def _import(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module exists, but something that it imports does not
        hint = f"start in the folder that contains {name.partition('.')[0]}.py"
        raise Invalid.field("app", f"there is no module {name!r} in {here}", hint) from None


def _find_app(module: ModuleType, attribute: str) -> Application:
    app = getattr(module, attribute, None)
    if _is_app(app):
        return app
    names = [name for name, value in vars(module).items() if _is_app(value)]
    close = get_close_matches(attribute, names, n=1, cutoff=0)
    problem = "is not an App" if hasattr(module, attribute) else "does not exist"
    hint = f"did you mean {module.__name__}:{close[0]}?" if close else "create one: app = tickwork.App()"
    raise Invalid.field("app", f"{module.__name__}:{attribute} {problem}", hint)


def _is_app(value: object) -> TypeGuard[Application]:
    return isinstance(value, Application) and not isinstance(value, type)
