"""The query parameter `wait`: the response comes when an execution has ended, and the work stops if the client
disconnects first."""

import asyncio
from collections.abc import Awaitable
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.types import Receive

from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_body import ClientDisconnected
from tickwork.api.route import Call
from tickwork.api.server_sent_events import wait_for_disconnect
from tickwork.model.errors import Invalid, Unavailable
from tickwork.model.execution import ExecutionView
from tickwork.model.public_ids import parse_execution_id
from tickwork.model.quantities import parse_duration


async def cancelled_on_disconnect(receive: Receive, answer: Awaitable[Reply]) -> Reply:
    answering, disconnecting = (
        asyncio.ensure_future(answer),
        asyncio.ensure_future(wait_for_disconnect(receive)),
    )
    try:
        await asyncio.wait((answering, disconnecting), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise ClientDisconnected
        return answering.result()
    finally:
        answering.cancel()
        disconnecting.cancel()
        await asyncio.gather(answering, disconnecting, return_exceptions=True)


MAX_WAIT = 60.0

Wait = Annotated[
    str,
    Meta(
        max_length=64,
        description=f'how long to wait for the end, up to {MAX_WAIT:g} s: "20s"',
        extra={"kind": "duration"},
    ),
]


class WaitQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    wait: Wait | None = None


class _Created(msgspec.Struct, frozen=True):
    id: str
    execution_id: str | None = None


def check_wait(query: WaitQuery) -> None:
    """Called before any change: a request with an invalid wait must not create a job."""
    seconds_of(query)


def seconds_of(query: WaitQuery) -> float:
    try:
        seconds = parse_duration(query.wait or 0).total_seconds()
    except ValueError as error:
        raise Invalid.field("wait", str(error)) from None
    if seconds > MAX_WAIT:
        raise Invalid.field("wait", f"is {MAX_WAIT:g} s at most", "ask again afterwards")
    return seconds


async def with_ended_execution(call: Call[WaitQuery, Any], reply: Reply) -> Reply:
    """The response about an execution, once it has ended."""
    execution = await wait_until_ended(call, *parse_execution_id(_read(reply).id))
    return reply if execution is None else reply._replace(body=json_reply(execution).body)


async def with_execution(call: Call[WaitQuery, Any], reply: Reply) -> Reply:
    """The response about a new job, with its execution once that has ended."""
    name = _read(reply).execution_id
    execution = await wait_until_ended(call, *parse_execution_id(name)) if name else None
    if execution is None:
        return reply
    job = msgspec.json.decode(reply.body, type=dict[str, msgspec.Raw])
    return reply._replace(body=json_reply(job | {"execution": execution}).body)


async def wait_until_ended(
    call: Call[WaitQuery, Any], job: int, scheduled_for: datetime
) -> ExecutionView | None:
    """None if waiting is not possible: the request itself has succeeded and is answered."""
    node, tenant_id, seconds = call.node, call.tenant_id, seconds_of(call.query)
    try:
        execution = await node.waiting.until_ended(tenant_id, job, scheduled_for, seconds)
        if execution is None or execution.status.ended:
            return execution
        return await node.history.get(
            tenant_id, job, scheduled_for
        )  # this view also shows what blocks the execution
    except Unavailable:
        return None


def _read(reply: Reply) -> _Created:
    return msgspec.json.decode(reply.body, type=_Created)
