"""/dead-letters: list, redrive and discard executions that used up their attempts."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import Cursor, JobId, Limit, Text
from tickwork.api.route import Call, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.dead_letter import (
    CHUNK,
    DeadLetterChoice,
    DeadLetterFilter,
    DeadLetterView,
    Discarded,
    Redriven,
    RedrivePace,
)
from tickwork.model.error_group import parse_fingerprint
from tickwork.model.errors import BadId, FieldError, Invalid
from tickwork.model.execution import ExecutionKey
from tickwork.model.field_types import Instant, Page, QueueName
from tickwork.model.public_ids import parse_execution_id
from tickwork.model.quantities import parse_rate

_LATEST_START = timedelta(days=366)


class DeadLetterCondition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Selects the dead letters that match every field given. `error` is a type, with or without its module;
    `fingerprint` is that of a cause; `since` and `until` bound the time of failure."""

    task: Text | None = None
    queue: QueueName | None = None
    job: JobId | None = None
    error: Text | None = None
    fingerprint: Text | None = None
    since: Instant | None = None
    until: Instant | None = None


class DeadLetterQuery(DeadLetterCondition, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Limit = 50
    cursor: Cursor | None = None


class DiscardRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of `ids` and `filter`; `{"filter": {}}` means all."""

    ids: Annotated[list[Text], Meta(min_length=1, max_length=CHUNK)] | None = None
    filter: DeadLetterCondition | None = None


class Pace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How fast and how many."""

    rate: Annotated[str, Meta(max_length=40, description='a rate: "10/s", "100/1m"')] | None = None
    max: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000_000
    start_at: Instant | None = None


class RedriveRequest(Pace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of `ids` and `filter`; `{"filter": {}}` means all."""

    ids: Annotated[list[Text], Meta(min_length=1, max_length=CHUNK)] | None = None
    filter: DeadLetterCondition | None = None


async def list_dead_letters(call: Call[DeadLetterQuery, None]) -> Reply:
    """List dead letters, the latest failure first."""
    query = call.query
    wanted = await _filter(call, query)
    return json_reply(await call.node.dead_letters.list(call.tenant_id, wanted, query.limit, query.cursor))


async def redrive_dead_letters(call: Call[None, RedriveRequest]) -> Reply:
    """Run dead letters again, in the order in which they failed.

    Each is the same execution with new attempts, run with the current settings of its job; the overlap policy does not
    apply. With a `rate` they become ready one after the other, beginning at `start_at`. Dead letters of a cancelled job
    are refused and stay; those of a paused job wait until it is resumed. Large requests are processed in chunks of
    5,000, each committed separately unless the request has an Idempotency-Key.
    """
    choice, pace = await _choice(call, call.body), pace_of(call.body)
    return json_reply(await call.node.dead_letters.redrive(call.tenant_id, choice, pace))


async def discard_dead_letters(call: Call[None, DiscardRequest]) -> Reply:
    """Discard dead letters: they are no longer listed here, and stay in the history as failed."""
    choice = await _choice(call, call.body)
    return json_reply(await call.node.dead_letters.discard(call.tenant_id, choice))


async def _choice(call: Call[Any, Any], request: DiscardRequest | RedriveRequest) -> DeadLetterChoice:
    if (request.ids is None) == (request.filter is None):
        raise Invalid.field("ids", "give either ids or a filter", 'for all of them: {"filter": {}}')
    if request.filter is not None:
        return DeadLetterChoice(None, await _filter(call, request.filter))
    return DeadLetterChoice(_keys(call.tenant_id, request.ids or []))


def _keys(tenant_id: int, ids: list[str]) -> list[ExecutionKey]:
    keys: dict[ExecutionKey, None] = {}
    wrong: list[FieldError] = []
    for place, text in enumerate(ids):
        try:
            job, scheduled_for = parse_execution_id(text)
        except BadId as error:
            wrong.append(FieldError(f"ids[{place}]", error.errors[0].message))
        else:
            keys[ExecutionKey(tenant_id, scheduled_for, job)] = None
    if wrong:
        raise Invalid(wrong[:100])
    return list(keys)


async def _filter(call: Call[Any, Any], given: DeadLetterCondition) -> DeadLetterFilter:
    job = await call.job_in(given.job)
    fingerprint = parse_fingerprint(given.fingerprint) if given.fingerprint else None
    return DeadLetterFilter(given.task, given.queue, job, given.error, given.since, given.until, fingerprint)


def pace_of(request: Pace) -> RedrivePace:
    if request.start_at and request.start_at > datetime.now(UTC) + _LATEST_START:
        raise Invalid.field("start_at", "is more than a year ahead")
    if request.rate is None:
        return RedrivePace(request.start_at, most=request.max)
    try:
        return RedrivePace(request.start_at, parse_rate(request.rate).interval, request.max)
    except ValueError as error:
        raise Invalid.field("rate", str(error)) from None


_REDRIVE = json_content(RedriveRequest, example={"filter": {"task": "billing.charge"}, "rate": "100/1m"})
_DISCARD = json_content(DiscardRequest, example={"ids": ["e5-1k0avmtt23w"]})

ROUTES = (
    Route(
        "GET",
        "/v1/dead-letters",
        list_dead_letters,
        Scope.READ,
        Page[DeadLetterView],
        query=DeadLetterQuery,
        may_be_stale=True,
    ),
    Route("POST", "/v1/dead-letters/redrive", redrive_dead_letters, Scope.WRITE, Redriven, body=_REDRIVE),
    Route("POST", "/v1/dead-letters/discard", discard_dead_letters, Scope.WRITE, Discarded, body=_DISCARD),
)
