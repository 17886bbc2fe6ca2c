"""/retention: how much of the history of its jobs a tenant keeps."""

from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.retention import Retention, TenantRetention


async def get_retention(call: Call[NoQuery, None]) -> Reply:
    """Show how much history is kept of your jobs, unless they or their queues say otherwise.

    `history_days` is how long the installation keeps it: nothing is kept for longer.
    """
    return json_reply(await call.node.retention.get(call.tenant_id))


async def set_retention(call: Call[NoQuery, Retention]) -> Reply:
    """Set how much history is kept of each of your jobs, unless the job or its queue says otherwise.

    `age` is for how long executions are kept after their end, `last` how many of a job's latest ones are kept at most.
    What is left out is not limited: `{}` keeps all. What is beyond is deleted soon, for good.
    """
    return json_reply(await call.node.retention.set(call.tenant_id, call.body))


_BODY = json_content(Retention, example={"age": "7d", "last": 1000})

ROUTES = (
    Route("GET", "/v1/retention", get_retention, Scope.READ, TenantRetention),
    Route("PUT", "/v1/retention", set_retention, Scope.ADMIN, TenantRetention, body=_BODY),
)
