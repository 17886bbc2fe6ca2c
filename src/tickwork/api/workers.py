"""/workers: who runs the work."""

from tickwork.api.call import Call
from tickwork.api.query import PageQuery
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import NoQuery, Route
from tickwork.model.ids import parse_worker_id
from tickwork.model.page import Page
from tickwork.model.tenancy import Scope
from tickwork.model.worker import WorkerView


async def list_workers(call: Call[PageQuery, None]) -> Reply:
    """List workers."""
    return json_reply(await call.node.workers.list(call.tenant_id, call.query.limit, call.query.cursor))


async def get_worker(call: Call[NoQuery, None]) -> Reply:
    """Look at a worker."""
    return json_reply(await call.node.workers.get(call.tenant_id, call.id(parse_worker_id)))


ROUTES = (
    Route("GET", "/v1/workers", list_workers, Scope.READ, Page[WorkerView], query=PageQuery),
    Route("GET", "/v1/workers/{id}", get_worker, Scope.READ, WorkerView),
)
