"""/errors: failures grouped by cause; redrive or discard all dead letters of one cause."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tickwork.api.dead_letter_routes import Pace, pace_of
from tickwork.api.problem import NOT_FOUND, Refusal
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import Cursor, Limit, Text
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.dead_letter import Discarded, Redriven
from tickwork.model.error_group import ErrorGroupView, parse_fingerprint
from tickwork.model.errors import Invalid
from tickwork.model.field_types import Page


class ErrorQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    task: Text | None = None
    error: Annotated[Text, Meta(description="the type of the error, with or without its module")] | None = (
        None
    )
    limit: Limit = 50
    cursor: Cursor | None = None


async def list_errors(call: Call[ErrorQuery, None]) -> Reply:
    """List failures grouped by cause, the cause seen last first.

    Failures have one cause if they agree in task, type of error, place in your code, and message apart from its numbers
    and ids.
    """
    query = call.query
    page = await call.node.error_groups.list(
        call.tenant_id, query.task, query.error, query.limit, query.cursor
    )
    return json_reply(page)


async def get_error(call: Call[NoQuery, None]) -> Reply:
    """Show the failures of one cause."""
    return json_reply(await call.node.error_groups.get(call.tenant_id, _fingerprint(call)))


async def redrive_error(call: Call[NoQuery, Pace]) -> Reply:
    """Run all dead letters of one cause again, at a rate if one is given."""
    redriven = await call.node.error_groups.redrive(call.tenant_id, _fingerprint(call), pace_of(call.body))
    return json_reply(redriven)


async def discard_error(call: Call[NoQuery, None]) -> Reply:
    """Discard all dead letters of one cause. They stay in the history as failed."""
    return json_reply(await call.node.error_groups.discard(call.tenant_id, _fingerprint(call)))


def _fingerprint(call: Call[NoQuery, Any]) -> int:
    try:
        return parse_fingerprint(call.path["fingerprint"])
    except Invalid as invalid:
        raise Refusal(NOT_FOUND, invalid.errors[0].message) from None


_REDRIVE = json_content(Pace, example={"rate": "100/1m"}, default=Pace())

ROUTES = (
    Route(
        "GET",
        "/v1/errors",
        list_errors,
        Scope.READ,
        Page[ErrorGroupView],
        query=ErrorQuery,
        may_be_stale=True,
    ),
    Route("GET", "/v1/errors/{fingerprint}", get_error, Scope.READ, ErrorGroupView),
    Route("POST", "/v1/errors/{fingerprint}/redrive", redrive_error, Scope.WRITE, Redriven, body=_REDRIVE),
    Route("POST", "/v1/errors/{fingerprint}/discard", discard_error, Scope.WRITE, Discarded),
)
