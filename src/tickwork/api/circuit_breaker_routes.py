"""/breakers: the circuit breakers of HTTP destinations that failed recently."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.circuit_breaker import BreakerView
from tickwork.model.field_types import Page


class ResetRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    destination: Annotated[str, Meta(min_length=1, max_length=2048)]


async def list_breakers(call: Call[NoQuery, None]) -> Reply:
    """List the circuit breakers of destinations that failed recently, open and half-open ones first."""
    return json_reply(Page(await call.node.breakers.list(call.tenant_id)))


async def reset_breaker(call: Call[NoQuery, ResetRequest]) -> Reply:
    """Close a circuit breaker manually: executions that wait for it may start, and the failure counts are reset."""
    return json_reply(await call.node.breakers.reset(call.tenant_id, call.body.destination))


_BODY = json_content(ResetRequest, example={"destination": "https://api.example.com"})

ROUTES = (
    Route("GET", "/v1/breakers", list_breakers, Scope.READ, Page[BreakerView]),
    Route(
        "POST",
        "/v1/breakers/reset",
        reset_breaker,
        Scope.WRITE,
        BreakerView,
        body=_BODY,
        problems=(CONFLICT,),
    ),
)
