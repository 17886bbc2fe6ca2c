"""/jobs/batch: many jobs at once, all or none."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from tickwork.api.body import DEEPEST, MEBIBYTE, UNREADABLE, broken, decode, is_storable
from tickwork.api.call import Call
from tickwork.api.problem import CONFLICT, QUEUE_FULL
from tickwork.api.reply import JSON, Reply, json_reply
from tickwork.api.route import Content, NoQuery, Route
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.fault import refuse_any
from tickwork.model.job import CreatedJob, JobRequest
from tickwork.model.tenancy import Scope

NDJSON = "application/x-ndjson"
LIMIT = 32 * MEBIBYTE
MOST_JOBS = 10_000
_TOO_MANY = f"a batch holds at most {MOST_JOBS:,} jobs"
_array = msgspec.json.Decoder(list[msgspec.Raw])
_request = msgspec.json.Decoder(JobRequest)
_requests = msgspec.json.Decoder(list[JobRequest])


class CreatedJobs(msgspec.Struct, frozen=True):
    """The jobs in the order in which they were sent."""

    items: list[CreatedJob]


class _Piece(NamedTuple):
    text: bytes
    line: int


async def create_job_batch(call: Call[NoQuery, list[JobRequest]]) -> Reply:
    """Create up to 10,000 jobs, all or none.

    Send a JSON array, or one JSON object per line as application/x-ndjson.
    """
    try:
        created = await call.node.jobs.create_many(call.tenant_id, call.body)
    except Invalid as error:
        raise _with_index(error) if len(call.body) == 1 else error from None
    return json_reply(CreatedJobs(created), 201)


def read_batch(raw: bytes, media: str) -> list[JobRequest]:
    """In one go; job by job, which takes three times as long, when something is wrong and must be named."""
    with suppress(*UNREADABLE):
        requests = _request.decode_lines(raw) if media == NDJSON else _requests.decode(raw)
        if 0 < len(requests) <= MOST_JOBS and is_storable(raw, DEEPEST if media == NDJSON else DEEPEST + 1):
            return requests
    return _read_piece_by_piece(raw, media)


def _read_piece_by_piece(raw: bytes, media: str) -> list[JobRequest]:
    pieces = _lines(raw) if media == NDJSON else _elements(raw)
    if not pieces:
        raise Invalid.field("", "a batch holds at least one job")
    if len(pieces) > MOST_JOBS:
        raise Invalid.field("", f"{_TOO_MANY}, not {len(pieces):,}", "send several batches")
    requests: list[JobRequest] = []
    refuse_any(_read_into(requests, pieces))
    return requests


def _read_into(requests: list[JobRequest], pieces: Sequence[_Piece]) -> Iterator[FieldError]:
    for index, piece in enumerate(pieces):
        try:
            requests.append(decode(piece.text, _request, piece.line))
        except Invalid as error:
            yield from _with_index(error, index).errors


def _elements(raw: bytes) -> list[_Piece]:
    try:
        return [_Piece(bytes(element), 1) for element in _array.decode(raw)]
    except msgspec.ValidationError:
        raise Invalid.field("", "must be a list of jobs", f"one object per line is {NDJSON}") from None
    except UNREADABLE as error:
        raise broken(raw, error) from None


def _lines(raw: bytes) -> list[_Piece]:
    return [_Piece(line, number) for number, line in enumerate(raw.split(b"\n"), 1) if line.strip()]


def _with_index(error: Invalid, index: int = 0) -> Invalid:
    """The paths of one job's errors as paths in the batch."""
    return Invalid([bad._replace(path=f"[{index}].{bad.path}".rstrip(".")) for bad in error.errors])


_EXAMPLE = [
    {"task": "reports.weekly", "schedule": "0 9 * * MON"},
    {"http": {"url": "https://example.com/hook"}},
]
_BODY = Content(list[JobRequest], read_batch, (JSON, NDJSON), LIMIT, _EXAMPLE)

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
