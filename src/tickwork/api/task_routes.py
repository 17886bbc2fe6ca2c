"""/tasks: list, declare, disable, enable and retire tasks."""

from typing import Any

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import SENT_SLASH, Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.field_types import Page
from tickwork.model.task import DisableRequest, RetireRequest, TaskDeclaration, TaskView


async def list_tasks(call: Call[NoQuery, None]) -> Reply:
    """List tasks with their state, their parameters and the workers that offer them."""
    return json_reply(Page(await call.node.tasks.list(call.tenant_id)))


async def get_task(call: Call[NoQuery, None]) -> Reply:
    """Show a task."""
    return json_reply(await call.node.tasks.get(call.tenant_id, _name(call)))


async def declare_task(call: Call[NoQuery, TaskDeclaration]) -> Reply:
    """Declare a task before a worker offers it, so that jobs can be created for it.

    Their payloads are checked by the schema in `parameters`. When a worker offers the task, what it says of the task
    replaces this. Repeating a declaration changes nothing.
    """
    return json_reply(await call.node.tasks.declare(call.tenant_id, _name(call), call.body))


async def disable_task(call: Call[NoQuery, DisableRequest]) -> Reply:
    """Disable a task until it is enabled: no more of its executions are given to workers, within a second.

    Executions that workers already have continue. The others wait, and say so in `why`.
    """
    return json_reply(await call.node.tasks.disable(call.caller, _name(call), call.body.reason))


async def enable_task(call: Call[NoQuery, None]) -> Reply:
    """Enable a disabled task."""
    return json_reply(await call.node.tasks.enable(call.tenant_id, _name(call)))


async def retire_task(call: Call[NoQuery, RetireRequest]) -> Reply:
    """Retire a task: new jobs of it are refused, with the name of its `replacement`.

    Jobs that exist go on. With `"jobs": "cancel"` they are cancelled in the background, and what runs ends as usual.
    `"undo": true` takes the task back.
    """
    return json_reply(await call.node.tasks.retire(call.caller, _name(call), call.body))


def _name(call: Call[NoQuery, Any]) -> str:
    return call.path["name"].replace(SENT_SLASH, "/")


_DECLARE = json_content(
    TaskDeclaration,
    example={
        "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
        "defaults": {"queue": "mail", "timeout": "1m"},
    },
)
_DISABLE = json_content(
    DisableRequest, example={"reason": "sends everything twice"}, default=DisableRequest()
)
_RETIRE = json_content(
    RetireRequest, example={"replacement": "mail.send", "jobs": "keep"}, default=RetireRequest()
)

ROUTES = (
    Route("GET", "/v1/tasks", list_tasks, Scope.READ, Page[TaskView]),
    Route("GET", "/v1/tasks/{name}", get_task, Scope.READ, TaskView),
    Route(
        "PUT", "/v1/tasks/{name}", declare_task, Scope.WRITE, TaskView, body=_DECLARE, problems=(CONFLICT,)
    ),
    Route("POST", "/v1/tasks/{name}/disable", disable_task, Scope.WRITE, TaskView, body=_DISABLE),
    Route("POST", "/v1/tasks/{name}/enable", enable_task, Scope.WRITE, TaskView),
    Route("POST", "/v1/tasks/{name}/retire", retire_task, Scope.WRITE, TaskView, body=_RETIRE),
)
