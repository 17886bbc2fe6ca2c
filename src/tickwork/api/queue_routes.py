"""/queues: list queues with their depth, set their limits, pause and resume them."""

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import PageQuery
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.field_types import Page
from tickwork.model.queue import QueueSettings, QueueView


async def list_queues(call: Call[PageQuery, None]) -> Reply:
    """List queues by name, with their depth and limits."""
    return json_reply(await call.node.queues.list(call.tenant_id, call.query.limit, call.query.cursor))


async def get_queue(call: Call[NoQuery, None]) -> Reply:
    """Show a queue."""
    return json_reply(await call.node.queues.get(call.tenant_id, call.path["name"]))


async def set_queue(call: Call[NoQuery, QueueSettings]) -> Reply:
    """Set all limits of a queue, and its priority among the queues.

    A limit that is left out is removed, and the priority becomes `normal`. Limits may be set before the first job names
    the queue; a paused queue stays paused.
    """
    return json_reply(await call.node.queues.set(call.tenant_id, call.path["name"], call.body))


async def pause_queue(call: Call[NoQuery, None]) -> Reply:
    """Pause a queue until it is resumed: no more of its executions are given to workers.

    Executions that workers already have continue. Workers get executions up to 250 ms early: those may still start.
    """
    return json_reply(await call.node.queues.pause(call.tenant_id, call.path["name"]))


async def resume_queue(call: Call[NoQuery, None]) -> Reply:
    """Resume a paused queue."""
    return json_reply(await call.node.queues.resume(call.tenant_id, call.path["name"]))


_BODY = json_content(QueueSettings, example={"max_running": 10, "rate": "100/1m", "priority": "high"})

ROUTES = (
    Route("GET", "/v1/queues", list_queues, Scope.READ, Page[QueueView], query=PageQuery),
    Route("GET", "/v1/queues/{name}", get_queue, Scope.READ, QueueView),
    Route("PUT", "/v1/queues/{name}", set_queue, Scope.WRITE, QueueView, body=_BODY),
    Route("POST", "/v1/queues/{name}/pause", pause_queue, Scope.WRITE, QueueView, problems=(CONFLICT,)),
    Route("POST", "/v1/queues/{name}/resume", resume_queue, Scope.WRITE, QueueView, problems=(CONFLICT,)),
)
