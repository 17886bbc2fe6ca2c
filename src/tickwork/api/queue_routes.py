"""/queues: what waits where, and how much may go on at once."""

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import PageQuery
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.page import Page
from tickwork.model.queue import QueueSettings, QueueView


async def list_queues(call: Call[PageQuery, None]) -> Reply:
    """List queues by name, with what waits in each and its limits."""
    return json_reply(await call.node.queues.list(call.tenant_id, call.query.limit, call.query.cursor))


async def get_queue(call: Call[NoQuery, None]) -> Reply:
    """Look at a queue."""
    return json_reply(await call.node.queues.get(call.tenant_id, call.path["name"]))


async def set_queue(call: Call[NoQuery, QueueSettings]) -> Reply:
    """Set the limits of a queue, all of them.

    What is not named is not limited any more. A queue may be set before the first job names it; whether it is
    paused stays as it is.
    """
    return json_reply(await call.node.queues.set(call.tenant_id, call.path["name"], call.body))


async def pause_queue(call: Call[NoQuery, None]) -> Reply:
    """Hold a queue until it is resumed: nothing more of it is handed to workers.

    What workers hold goes on. They are handed work up to 250 ms ahead of its time: that may still start.
    """
    return json_reply(await call.node.queues.pause(call.tenant_id, call.path["name"]))


async def resume_queue(call: Call[NoQuery, None]) -> Reply:
    """Let a held queue go on."""
    return json_reply(await call.node.queues.resume(call.tenant_id, call.path["name"]))


_BODY = json_content(QueueSettings, example={"max_running": 10, "rate": "100/1m", "max_backlog": 1000})

ROUTES = (
    Route("GET", "/v1/queues", list_queues, Scope.READ, Page[QueueView], query=PageQuery),
    Route("GET", "/v1/queues/{name}", get_queue, Scope.READ, QueueView),
    Route("PUT", "/v1/queues/{name}", set_queue, Scope.WRITE, QueueView, body=_BODY),
    Route("POST", "/v1/queues/{name}/pause", pause_queue, Scope.WRITE, QueueView, problems=(CONFLICT,)),
    Route("POST", "/v1/queues/{name}/resume", resume_queue, Scope.WRITE, QueueView, problems=(CONFLICT,)),
)
