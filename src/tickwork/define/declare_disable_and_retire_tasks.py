"""Tasks as users see, declare, disable and retire them."""

import builtins

import msgspec
import structlog

from tickwork.define.compile_job import schema_error
from tickwork.loop import Wake
from tickwork.model.access import Caller
from tickwork.model.errors import Conflict, FieldError, Invalid, NotFound
from tickwork.model.json_limits import json_error
from tickwork.model.task import (
    BUILT_IN_TASKS,
    RetireRequest,
    TaskDeclaration,
    TaskName,
    TaskView,
    default_errors,
)
from tickwork.store.port.task import TaskStore

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
_MOST_BYTES = 256 * 1024  # of a schema


class Tasks:
    def __init__(self, store: TaskStore, wake: Wake) -> None:
        self._store = store
        self._wake = wake

    async def list(self, tenant_id: int) -> builtins.list[TaskView]:
        return await self._store.tasks(tenant_id)

    async def get(self, tenant_id: int, name: str) -> TaskView:
        return await self._store.task(tenant_id, _known(name))

    async def declare(self, tenant_id: int, name: str, declaration: TaskDeclaration) -> TaskView:
        """Describe a task before a worker offers it. What workers say of it counts from then on."""
        if errors := [*_declaration_errors(name, declaration)]:
            raise Invalid(errors)
        if not await self._store.declare(tenant_id, name, declaration):
            raise Conflict(
                f"workers offer the task {name} and describe it otherwise: what they say counts, "
                "so change their code, or drain them first"
            )
        return await self._store.task(tenant_id, name)

    async def disable(self, caller: Caller, name: str, reason: str | None) -> TaskView:
        """Hand over no more executions of it, on any node within a second. Those that workers have still run."""
        by = caller.key_name or "an API key"
        await self._store.disable(caller.tenant_id, _known(name), by, reason)
        _log.info("task disabled", task=name, tenant_id=caller.tenant_id, by=by, reason=reason)
        self._wake.read_dispatch_settings()
        return await self._store.task(caller.tenant_id, name)

    async def enable(self, tenant_id: int, name: str) -> TaskView:
        await self._store.enable(tenant_id, _known(name))
        _log.info("task enabled", task=name, tenant_id=tenant_id)
        self._wake.read_dispatch_settings()
        return await self._store.task(tenant_id, name)

    async def retire(self, caller: Caller, name: str, request: RetireRequest) -> TaskView:
        """Accept no new jobs for it. A loop cancels those that exist, if that is asked for."""
        if request.undo:
            await self._store.take_back(caller.tenant_id, _known(name))
            return await self._store.task(caller.tenant_id, name)
        if request.replacement == name:
            raise Invalid.field("replacement", "is the task itself", "name the task to use instead")
        if request.jobs == "cancel" and name.endswith(".*"):
            hint = "cancel them with POST /v1/jobs/bulk, then retire it"
            raise Invalid.field("jobs", "cannot be told from those of other tasks by this name", hint)
        await self._store.retire(
            caller.tenant_id,
            _known(name),
            caller.key_name or "an API key",
            request.replacement,
            cancels_jobs=request.jobs == "cancel",
        )
        _log.info("task retired", task=name, tenant_id=caller.tenant_id, jobs=request.jobs)
        return await self._store.task(caller.tenant_id, name)


def _known(name: str) -> str:
    """A name that no task can have is not found."""
    if not _is_name(name):
        raise NotFound("task", name[:80])
    return name


def _is_name(name: str) -> bool:
    try:
        msgspec.convert(name, TaskName)
    except msgspec.ValidationError:
        return False
    return True


def _declaration_errors(name: str, declaration: TaskDeclaration) -> builtins.list[FieldError]:
    errors = [error._replace(path=f"defaults.{error.path}") for error in default_errors(declaration.defaults)]
    if not _is_name(name):
        errors.append(FieldError("name", f"{name[:80]!r} is not the name of a task", "1 to 200 characters"))
    if name in BUILT_IN_TASKS:
        errors.append(FieldError("name", f"{name!r} is the name of a built-in task", "choose another"))
    schema = msgspec.json.encode(declaration.parameters)
    if problem := json_error(schema, _MOST_BYTES) or schema_error(schema.decode()):
        errors.append(FieldError("parameters", problem, "a JSON Schema of the payload"))
    return errors
