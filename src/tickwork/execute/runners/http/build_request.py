"""An attempt as an HTTP request, with its signature."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import msgspec
from yarl import URL

from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.model.current_span_and_job_origin import current_traceparent
from tickwork.model.http_secrets import secret_texts
from tickwork.model.http_target import HttpTarget, destination_of, target_errors
from tickwork.model.public_ids import execution_id, from_micros, job_id
from tickwork.model.quantities import parse_duration
from tickwork.model.rest_worker import ParentResult
from tickwork.model.status_poll import StatusPoll
from tickwork.model.task_context import read_outcomes
from tickwork.model.webhook_signature import sign
from tickwork.model.worker_protocol import Failure, Run

_WITHOUT_CONTENT = frozenset({"GET", "HEAD", "DELETE"})  # content has no meaning in these (RFC 9110, 9.3)
_read_json = msgspec.json.Decoder(HttpTarget).decode


class Call(NamedTuple):
    """The part of a request that is the same for every attempt of a job."""

    method: str
    url: URL
    host: str
    destination: str
    headers: Mapping[str, str]
    has_content: bool
    sends_parents: bool  # beside the payload
    hidden: tuple[str, ...]  # secrets to remove from responses and errors
    calls_back: bool  # an answer 202 means that the target reports later how the attempt ends
    heartbeat: float | None  # seconds: the target must report at least this often then
    poll: StatusPoll | None  # an answer 202 means that its status URL is asked how the attempt ends


class Callback(NamedTuple):
    """Where the target of one attempt reports, if it finishes later."""

    url: str
    token: str

    def headers(self) -> dict[str, str]:
        return {"tickwork-callback-url": self.url, "tickwork-callback-token": self.token}


@lru_cache(maxsize=1024)
def read_call(target: bytes) -> Call:
    try:
        read = _read_json(target)
    except msgspec.DecodeError as error:
        raise _bad_target(str(error)) from error
    if errors := target_errors(read):
        raise _bad_target("; ".join(f"{error.path}: {error.message}" for error in errors))
    url = URL(read.url, encoded=True)  # as the user wrote it: quoting it again would break a signed query
    host = url.raw_host or ""
    has_content = read.method not in _WITHOUT_CONTENT
    return Call(
        read.method,
        url,
        host,
        destination_of(read.url),
        read.headers,
        has_content,
        read.send_parents,
        secret_texts(read),
        read.completion == "callback",
        None if read.heartbeat is None else parse_duration(read.heartbeat).total_seconds(),
        read.poll,
    )


def _bad_target(message: str) -> AttemptFailed:
    return AttemptFailed(Failure("BadTarget", message, retry=False))


def status_call(call: Call, url: URL) -> Call:
    """The call of a status URL. Headers of the job go only to the destination that they were given for."""
    destination = destination_of(str(url))
    headers = call.headers if destination == call.destination else {}
    return call._replace(
        method="GET",
        url=url,
        host=url.raw_host or "",
        destination=destination,
        headers=headers,
        has_content=False,
    )


def content_of(call: Call, run: Run) -> bytes:
    if not call.has_content:
        return b""
    if not call.sends_parents:
        return run.payload
    try:
        outcomes = read_outcomes(run.parents)
    except ValueError as error:
        raise AttemptFailed(Failure("NoParentResults", str(error), retry=False)) from None
    parents = msgspec.json.encode([ParentResult(*msgspec.structs.astuple(outcome)) for outcome in outcomes])
    return b'{"payload":%b,"parents":%b}' % (run.payload, parents)


def headers_of(
    call: Call, run: Run, content: bytes, secrets: Sequence[str], timestamp: int, *, tracing: bool = False
) -> dict[str, str]:
    """`tracing`: the target continues a trace only if that is sampled here."""
    execution = execution_id(run.job, from_micros(run.at))
    headers = {
        **call.headers,
        "webhook-id": execution,
        "webhook-timestamp": str(timestamp),
        "tickwork-job": job_id(run.job),
        "tickwork-scheduled-for": from_micros(run.at).isoformat().replace("+00:00", "Z"),
        "tickwork-attempt": str(run.attempt),
        "traceparent": current_traceparent() or _traceparent(execution, run.attempt, sampled=not tracing),
    }
    if call.has_content:
        headers["content-type"] = "application/json"
    if secrets:
        headers["webhook-signature"] = sign(secrets, execution, timestamp, content)
    return headers


def _traceparent(execution: str, attempt: int, *, sampled: bool) -> str:
    """One trace for all attempts at an execution, one span for each, though nothing of it is recorded here."""
    trace = blake2b(execution.encode(), digest_size=16).hexdigest()
    span = blake2b(f"{execution}.{attempt}".encode(), digest_size=8).hexdigest()
    return f"00-{trace}-{span}-{sampled:02x}"
