"""/workflows: the graphs of jobs that depend on each other."""

from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import PageQuery
from tickwork.api.route import Call, Route
from tickwork.model.access import Scope
from tickwork.model.field_types import Page
from tickwork.model.workflow_list import WorkflowView


async def list_workflows(call: Call[PageQuery, None]) -> Reply:
    """List workflows, newest first, with the state of the latest round of each.

    Each is told by the oldest of its jobs that depends on no other; `GET /jobs/{id}/graph` shows all of it. A page can
    have fewer items than `limit`; the list ends where `next_cursor` is null.
    """
    return json_reply(await call.node.workflows.page(call.tenant_id, call.query.limit, call.query.cursor))


ROUTES = (
    Route(
        "GET",
        "/v1/workflows",
        list_workflows,
        Scope.READ,
        Page[WorkflowView],
        query=PageQuery,
        may_be_stale=True,
    ),
)
