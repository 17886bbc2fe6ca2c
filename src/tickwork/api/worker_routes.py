"""/workers: list and drain workers."""

from typing import Annotated

from msgspec import Meta

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import PageQuery, Text
from tickwork.api.route import Call, NoQuery, Route
from tickwork.model.access import Scope
from tickwork.model.field_types import Page, QueueName
from tickwork.model.public_ids import parse_worker_id
from tickwork.model.worker import WorkerFilter, WorkerSort, WorkerStatus, WorkerView

_MOST_LABELS = 10


class WorkerQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    status: WorkerStatus | None = None
    queue: Annotated[QueueName, Meta(description="that it serves")] | None = None
    task: Annotated[Text, Meta(description="that it offers")] | None = None
    label: (
        Annotated[
            tuple[Text, ...],
            Meta(
                max_length=_MOST_LABELS,
                description="NAME=VALUE, or NAME for any value; repeated, the worker has all of them",
            ),
        ]
        | None
    ) = None
    host: Text | None = None
    version: Text | None = None
    q: Annotated[Text, Meta(description="a part of its name, its host, a task or a label")] | None = None
    sort: WorkerSort = "-started_at"

    @property
    def filter(self) -> WorkerFilter:
        given = {name: getattr(self, name) for name in WorkerFilter._fields}
        return WorkerFilter(**{**given, "label": self.label or ()})


async def list_workers(call: Call[WorkerQuery, None]) -> Reply:
    """List workers, newest first or by name.

    All filters must match. A worker that has left is listed as `offline` for a day. A page with fewer items than
    `limit` is the last one.
    """
    query = call.query
    return json_reply(await call.node.workers.list(call.tenant_id, query.limit, query.cursor, query.filter))


async def get_worker(call: Call[NoQuery, None]) -> Reply:
    """Show a worker."""
    return json_reply(await call.node.workers.get(call.tenant_id, call.id(parse_worker_id)))


async def drain_worker(call: Call[NoQuery, None]) -> Reply:
    """Drain a worker: it takes no new executions, finishes those that it has, and leaves."""
    return json_reply(await call.node.workers.drain(call.caller, call.id(parse_worker_id)))


ROUTES = (
    Route("GET", "/v1/workers", list_workers, Scope.READ, Page[WorkerView], query=WorkerQuery),
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
)
