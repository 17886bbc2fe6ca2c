"""/workers and /tasks: list and drain workers, list the tasks that they offer."""

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import PageQuery
from tickwork.api.route import Call, NoQuery, Route
from tickwork.model.access import Scope
from tickwork.model.field_types import Page
from tickwork.model.public_ids import parse_worker_id
from tickwork.model.task import TaskView
from tickwork.model.worker import WorkerView


async def list_workers(call: Call[PageQuery, None]) -> Reply:
    """List workers."""
    return json_reply(await call.node.workers.list(call.tenant_id, call.query.limit, call.query.cursor))


async def get_worker(call: Call[NoQuery, None]) -> Reply:
    """Show a worker."""
    return json_reply(await call.node.workers.get(call.tenant_id, call.id(parse_worker_id)))


async def drain_worker(call: Call[NoQuery, None]) -> Reply:
    """Drain a worker: it takes no new executions, finishes those that it has, and leaves."""
    return json_reply(await call.node.workers.drain(call.caller, call.id(parse_worker_id)))


async def list_tasks(call: Call[NoQuery, None]) -> Reply:
    """List tasks with their parameters and the workers that offer them."""
    return json_reply(Page(await call.node.tasks.list(call.tenant_id)))


ROUTES = (
    Route("GET", "/v1/workers", list_workers, Scope.READ, Page[WorkerView], query=PageQuery),
    Route("GET", "/v1/workers/{id}", get_worker, Scope.READ, WorkerView),
    Route(
        "POST",
        "/v1/workers/{id}/drain",
        drain_worker,
        Scope.WORKER,
        WorkerView,
        problems=(CONFLICT,),
        keeps_answer=False,
    ),
    Route("GET", "/v1/tasks", list_tasks, Scope.READ, Page[TaskView]),
)
