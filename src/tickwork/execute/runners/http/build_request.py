"""An attempt as an HTTP request, with its signature.

Signatures are those of Standard Webhooks, version v1: HMAC-SHA256 over id, timestamp and body. Receivers accept a
request if any one of its signatures is valid. Signing with the old and the new secret for a while changes a secret
without a failed delivery.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
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
from tickwork.model.worker_protocol import Failure, Run

_PREFIX = "whsec_"
_SHORTEST, _LONGEST = 24, 64  # bytes

_WITHOUT_CONTENT = frozenset({"GET", "HEAD", "DELETE"})  # content has no meaning in these (RFC 9110, 9.3)


def sign(secrets: Iterable[str], message_id: str, timestamp: int, body: bytes) -> str:
    """The value of the webhook-signature header: one signature for each secret."""
    content = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    return " ".join("v1," + _digest(parse_secret(secret), content) for secret in secrets)


def parse_secret(secret: str) -> bytes:
    """The key in a secret; ValueError says what it must look like and never repeats it."""
    try:
        key = b64decode(secret.removeprefix(_PREFIX), validate=True) if secret.startswith(_PREFIX) else b""
    except ValueError:
        key = b""
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise ValueError(f"a signing secret is {_PREFIX} and {_SHORTEST} to {_LONGEST} bytes in base 64")
    return key


def _digest(key: bytes, content: bytes) -> str:
    return b64encode(hmac.digest(key, content, "sha256")).decode()


_read_json = msgspec.json.Decoder(HttpTarget).decode


class Call(NamedTuple):
    """The part of a request that is the same for every attempt of a job."""

    method: str
    url: URL
    host: str
    destination: str
    headers: Mapping[str, str]
    has_content: bool
    hidden: tuple[str, ...]  # secrets to remove from responses and errors


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
        read.method, url, host, destination_of(read.url), read.headers, has_content, secret_texts(read)
    )


def _bad_target(message: str) -> AttemptFailed:
    return AttemptFailed(Failure("BadTarget", message, retry=False))


def content_of(call: Call, run: Run) -> bytes:
    return run.payload if call.has_content else b""


def headers_of(
    call: Call, run: Run, secrets: Sequence[str], timestamp: int, *, tracing: bool = False
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
        headers["webhook-signature"] = sign(secrets, execution, timestamp, content_of(call, run))
    return headers


def _traceparent(execution: str, attempt: int, *, sampled: bool) -> str:
    """One trace for all attempts at an execution, one span for each, though nothing of it is recorded here."""
    trace = blake2b(execution.encode(), digest_size=16).hexdigest()
    span = blake2b(f"{execution}.{attempt}".encode(), digest_size=8).hexdigest()
    return f"00-{trace}-{span}-{sampled:02x}"
