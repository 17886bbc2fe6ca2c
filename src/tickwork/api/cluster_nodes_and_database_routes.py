"""/cluster: the nodes and their database, for operators."""

import msgspec

from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route
from tickwork.model.access import DEFAULT_TENANT, Scope
from tickwork.model.cluster import ClusterView
from tickwork.model.errors import NotAllowed


async def get_cluster(call: Call[NoQuery, None]) -> Reply:
    """Show the server nodes and the state of their database.

    Nodes report themselves every 5 seconds. A node that was not seen for 20 seconds, or that looked for nothing due for
    so long, is `silent`; after an hour it is no longer listed. The cluster serves every tenant, so the key must be an
    admin key of the tenant `default`.
    """
    if call.caller.tenant != DEFAULT_TENANT:
        raise NotAllowed(f"the cluster serves every tenant; use a key of the tenant {DEFAULT_TENANT}")
    await call.node.pause.read()
    state = call.node.pause.state
    view = msgspec.structs.replace(
        await call.node.cluster.view(),
        paused=state.paused,
        restored=state.restored,
        backed_up_at=state.backed_up_at,
        archive=await call.node.archive.state(),
        metrics_read_at=call.node.metrics.read_at,
    )
    return json_reply(view)


ROUTES = (Route("GET", "/v1/cluster", get_cluster, Scope.ADMIN, ClusterView),)
