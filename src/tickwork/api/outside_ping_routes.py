"""/outside-ping: where the cluster reports itself, so that somebody outside notices if all of it is down."""

from tickwork.api.problem import NOT_FOUND
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import DEFAULT_TENANT, Caller, Scope
from tickwork.model.errors import NotAllowed
from tickwork.model.ping import OutsidePingRequest, OutsidePingView


async def get_outside_ping(call: Call[NoQuery, None]) -> Reply:
    """Show where the cluster reports itself, and what the last report came to.

    The key must be an admin key of the tenant `default`.
    """
    _check_operator(call.caller)
    return json_reply(await call.node.outside_ping.view())


async def set_outside_ping(call: Call[NoQuery, OutsidePingRequest]) -> Reply:
    """Let the cluster report itself to a URL: a GET every minute while it fires and is well.

    Give it the URL of a service that tells you when the calls stop. One of the nodes makes the call, under the rules
    for HTTP jobs. The key must be an admin key of the tenant `default`.
    """
    _check_operator(call.caller)
    return json_reply(await call.node.outside_ping.set(call.body.url))


async def delete_outside_ping(call: Call[NoQuery, None]) -> Reply:
    """Let the cluster report itself nowhere. The key must be an admin key of the tenant `default`."""
    _check_operator(call.caller)
    return json_reply(await call.node.outside_ping.delete())


def _check_operator(caller: Caller) -> None:
    if caller.tenant != DEFAULT_TENANT:
        raise NotAllowed(f"the cluster serves every tenant; use a key of the tenant {DEFAULT_TENANT}")


_BODY = json_content(OutsidePingRequest, example={"url": "https://hc-ping.com/…"})

ROUTES = (
    Route("GET", "/v1/outside-ping", get_outside_ping, Scope.ADMIN, OutsidePingView),
    Route("PUT", "/v1/outside-ping", set_outside_ping, Scope.ADMIN, OutsidePingView, body=_BODY),
    Route(
        "DELETE", "/v1/outside-ping", delete_outside_ping, Scope.ADMIN, OutsidePingView, problems=(NOT_FOUND,)
    ),
)
