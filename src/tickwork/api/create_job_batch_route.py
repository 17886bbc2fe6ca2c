"""/jobs/batch: create many jobs in one request, all or none. Reads the batch within limits of size and count."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

import msgspec

from tickwork.api.create_job_trace_span import definition_span
from tickwork.api.problem import CONFLICT, QUEUE_FULL, TOO_LARGE, Refusal
from tickwork.api.reply import JSON, NDJSON, Reply, json_reply
from tickwork.api.request_body import MAX_BODY_BYTES, MEBIBYTE, RawBody, broken_json, decode, is_storable
from tickwork.api.request_body import MAX_VALUES as MAX_JOB_VALUES
from tickwork.api.route import Call, Content, NoQuery, Route
from tickwork.model.access import Scope
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.explain_type_errors import raise_if_any
from tickwork.model.job import CreatedJob, JobRequest
from tickwork.model.json_limits import JSON_ERRORS, MAX_DEPTH

MAX_BATCH_BYTES = 32 * MEBIBYTE
MAX_JOBS = 10_000
MAX_VALUES = 250_000
_MAX_LINES = 2 * MAX_JOBS
_MAX_BYTES_AT_ONCE = MEBIBYTE  # bytes of a JSON array that is decoded as a whole
_MAX_GROUP_BYTES = 128 * 1024  # bytes of a larger one, or of lines, decoded in one step
_BLANK = re.compile(rb"\s*+")
_TOO_MANY = f"a batch holds at most {MAX_JOBS:,} jobs"
_array = msgspec.json.Decoder(list[msgspec.Raw])
_request = msgspec.json.Decoder(JobRequest)
_requests = msgspec.json.Decoder(list[JobRequest])


class CreatedJobs(msgspec.Struct, frozen=True):
    """The jobs in the order in which they were sent."""

    items: list[CreatedJob]


class _Piece(NamedTuple):
    text: memoryview  # a view of the body, which is not copied
    place: int
    line: int


async def create_job_batch(call: Call[NoQuery, list[JobRequest]]) -> Reply:
    """Create up to 10,000 jobs, all or none.

    Send a JSON array, or one JSON object per line as application/x-ndjson.
    """
    count = {"messaging.batch.message_count": len(call.body)}
    try:
        with definition_span(call, "create", None, count) as traceparent:
            created = await call.node.jobs.create_many(call.tenant_id, call.body, call.requester(traceparent))
    except Invalid as error:
        raise _with_index(error) if len(call.body) == 1 else error from None
    return json_reply(CreatedJobs(created), 201)


def read_batch(raw: RawBody, media: str) -> list[JobRequest]:
    """The batch is checked against its limits first. Then it is decoded group by group, so that no single step takes
    long. A group with a mistake is decoded job by job, which takes three times as long but names the bad fields."""
    storable = is_storable(raw, MAX_DEPTH if media == NDJSON else MAX_DEPTH + 1, MAX_VALUES)
    texts = None if media == NDJSON else _elements(raw)
    if texts and storable and len(raw) <= _MAX_BYTES_AT_ONCE and _are_bounded(texts):
        with suppress(*JSON_ERRORS):
            return _requests.decode(raw)
    pieces = _lines(raw) if texts is None else _pieces(texts)
    if not pieces:
        raise Invalid.field("", "a batch holds at least one job")
    if len(pieces) > MAX_JOBS:
        raise Invalid.field("", f"{_TOO_MANY}, not {len(pieces):,}", "send several batches")
    requests: list[JobRequest] = []
    raise_if_any(chain.from_iterable(_read_into(requests, group, storable) for group in _groups(pieces)))
    return requests


def _read_into(requests: list[JobRequest], group: Sequence[_Piece], storable: bool) -> Iterator[FieldError]:
    if storable and len(group) > 1:
        with suppress(*JSON_ERRORS):
            decoded = _requests.decode(b"[" + b",".join([piece.text for piece in group]) + b"]")
            if len(decoded) == len(group):  # a line with two objects is a mistake
                requests += decoded
                return
    for piece in group:
        try:
            requests.append(decode(bytes(piece.text), _request, piece.line))
        except Invalid as error:
            yield from _with_index(error, piece.place).errors


def _groups(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    group: list[_Piece] = []
    size = 0
    for piece in pieces:
        if group and size + len(piece.text) > _MAX_GROUP_BYTES:
            yield group
            group, size = [], 0
        if len(piece.text) > MAX_BODY_BYTES:
            raise Refusal(
                TOO_LARGE, f"[{piece.place}]: a job may hold at most {MAX_BODY_BYTES // MEBIBYTE} MiB"
            )
        group.append(piece)
        size += len(piece.text)
    yield group


def _are_bounded(texts: Sequence[msgspec.Raw]) -> bool:
    """Not too many, and none with too many values: each value takes at least one byte."""
    return len(texts) <= MAX_JOBS and max(map(len, texts)) <= MAX_JOB_VALUES


def _pieces(texts: Iterable[msgspec.Raw]) -> list[_Piece]:
    return [_Piece(memoryview(text), index, 1) for index, text in enumerate(texts)]


def _elements(raw: RawBody) -> list[msgspec.Raw]:
    try:
        return _array.decode(raw)
    except msgspec.ValidationError:
        raise Invalid.field("", "must be a list of jobs", f"one object per line is {NDJSON}") from None
    except JSON_ERRORS as error:
        raise broken_json(raw, error) from None


def _lines(raw: RawBody) -> list[_Piece]:
    """The lines that are not blank."""
    if raw.count(b"\n") > _MAX_LINES:
        raise Invalid.field(
            "", f"a batch holds at most {_MAX_LINES:,} lines, blank ones too", "leave those out"
        )
    whole, pieces, end = memoryview(raw), list[_Piece](), -1
    for line in range(1, raw.count(b"\n") + 2):
        start, end = end + 1, raw.find(b"\n", end + 1)
        text = whole[start : end if end >= 0 else None]
        if not _BLANK.fullmatch(text):
            pieces.append(_Piece(text, len(pieces), line))
    return pieces


def _with_index(error: Invalid, index: int = 0) -> Invalid:
    """Prefixes the paths of a job's errors with its place in the batch."""
    return Invalid([bad._replace(path=f"[{index}].{bad.path}".rstrip(".")) for bad in error.errors])


_EXAMPLE = [
    {"task": "reports.weekly", "schedule": "0 9 * * MON"},
    {"http": {"url": "https://example.com/hook"}},
]
_BODY = Content(list[JobRequest], read_batch, (JSON, NDJSON), MAX_BATCH_BYTES, _EXAMPLE)

ROUTES = (
    Route(
        "POST",
        "/v1/jobs/batch",
        create_job_batch,
        Scope.WRITE,
        CreatedJobs,
        201,
        body=_BODY,
        problems=(CONFLICT, QUEUE_FULL),
    ),
)
