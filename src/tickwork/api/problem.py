"""The problem types of RFC 9457 that the API answers with, and the translation of errors into them."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import structlog

from tickwork.api.reply import Headers, Reply, json_reply
from tickwork.model.errors import (
    Conflict,
    FieldError,
    Invalid,
    KeyReused,
    LeaseGone,
    NotAllowed,
    NotFound,
    QueueFull,
    Stale,
    StaleAttempt,
    Unavailable,
)
from tickwork.model.explain_type_errors import MOST_ERRORS

MEDIA = "application/problem+json"
TYPES_PATH = "/docs/problems"
TRY_AGAIN = {"retry-after": "2"}  # seconds
_UNAVAILABLE_DETAIL = "the server cannot use its database just now"  # the error itself is for the log only
_log = structlog.get_logger()


class ProblemType(NamedTuple):
    slug: str
    status: int
    title: str
    explanation: str

    @property
    def uri(self) -> str:
        return f"{TYPES_PATH}/{self.slug}"


BROKEN_BODY = ProblemType(
    "broken-body",
    400,
    "The body cannot be read",
    "The body is not valid JSON, or there is one where none belongs. `detail` says where the mistake is.",
)
BROKEN_HEAD = ProblemType(
    "broken-head",
    400,
    "The head of the request cannot be read",
    "The request is not HTTP, or its head is ambiguous: it has no `Host`, or repeats a header that may appear only "
    "once.",
)
UNAUTHENTICATED = ProblemType(
    "unauthenticated",
    401,
    "A valid API key is needed",
    "Send `Authorization: Bearer KEY`. The key may be missing, mistyped, expired or revoked. A browser may have to "
    "sign in again.",
)
INVALID_CALLBACK_TOKEN = ProblemType(
    "invalid-callback-token",
    401,
    "The token is not that of this callback",
    "Send the value of the header `tickwork-callback-token` that came with the request of this attempt, as "
    "`Authorization: Bearer TOKEN`. Every attempt has its own.",
)
NOT_ALLOWED = ProblemType(
    "not-allowed",
    403,
    "The key may not do this",
    "The key is valid but lacks the scope named in `detail`. `admin` includes every other scope, "
    "`write` includes `read`.",
)
CROSS_SITE = ProblemType(
    "cross-site-request",
    403,
    "The request may come from another site",
    "A request with the cookie of a session, other than GET, needs the header `tickwork-csrf: 1`, and must come from a "
    "page of this server. Programs send an API key instead.",
)
NOT_FOUND = ProblemType(
    "not-found",
    404,
    "Not found",
    "Nothing with that id or path exists for the tenant of this key.",
)
WRONG_METHOD = ProblemType(
    "wrong-method",
    405,
    "This path does not take that method",
    "The `Allow` header lists the methods that this path takes.",
)
TIMED_OUT = ProblemType(
    "request-timeout",
    408,
    "The request did not arrive in time",
    "The head must arrive within 20 seconds. The body has another 20 seconds, and one more for every 16 KiB.",
)
CONFLICT = ProblemType(
    "conflict",
    409,
    "The current state does not allow this",
    "For example, a job with that key exists, the job has ended, or the first request with this `Idempotency-Key` "
    "is still in progress. In the last case there is a `Retry-After` header.",
)
STALE_ATTEMPT = ProblemType(
    "stale-attempt",
    409,
    "The attempt is not yours",
    "The attempt has ended, was cancelled, or was given to another worker after the lease of yours expired. Drop it: "
    "repeating the report changes nothing.",
)
LEASE_GONE = ProblemType(
    "lease-gone",
    410,
    "The lease of the worker is gone",
    "The worker sent no heartbeat within its lease, and its attempts were given to others. Stop all of them and "
    "register again.",
)
STALE = ProblemType(
    "stale-version",
    412,
    "It was changed since you read it",
    "`If-Match` does not name the current version. Read the job again and repeat the change "
    "with the new `ETag`.",
)
TOO_LARGE = ProblemType(
    "body-too-large",
    413,
    "The body is too large",
    "A request may hold 1 MiB and 50,000 values; a batch of jobs 32 MiB and 250,000 values, each of its jobs as much "
    "as a request. Store large data elsewhere and put its address in the payload.",
)
WRONG_MEDIA = ProblemType(
    "unsupported-media-type",
    415,
    "The media type of the body is not supported",
    "Send JSON with `Content-Type: application/json`, not compressed. "
    "A batch may also be `application/x-ndjson`, a patch `application/merge-patch+json`.",
)
INVALID = ProblemType(
    "invalid-request",
    422,
    "The request is not valid",
    "`errors` names every bad field with its path, what is wrong, and a hint.",
)
KEY_REUSED = ProblemType(
    "idempotency-key-reused",
    422,
    "The idempotency key belongs to another request",
    "The same `Idempotency-Key` was used with another method, path or body. Each request needs its own.",
)
TOO_MANY_SIGN_INS = ProblemType(
    "too-many-sign-ins",
    429,
    "Too many failed attempts to sign in",
    "Ten attempts to sign in from your address failed within a minute. Try again after `Retry-After` seconds.",
)
TOO_MANY_SIGNALS = ProblemType(
    "too-many-signals",
    429,
    "Too many signals of a ping",
    "The URL of a ping takes 60 requests a minute at each server. Try again after `Retry-After` seconds.",
)
QUEUE_FULL = ProblemType(
    "queue-full",
    429,
    "The queue is full",
    "The number of executions that wait in the queue has reached its `max_backlog`. Nothing was created. Repeat the "
    "request after `Retry-After` seconds.",
)
HEAD_TOO_LARGE = ProblemType(
    "head-too-large",
    431,
    "The head of the request is too large",
    "The address and the headers of a request may take 64 KiB in all, in at most 100 headers.",
)
INTERNAL = ProblemType(
    "internal-error",
    500,
    "Something went wrong on the server",
    "This is a fault of the server. Its log has the reason under the `request_id`.",
)
UNAVAILABLE = ProblemType(
    "unavailable",
    503,
    "The server cannot answer just now",
    "The database cannot be reached or cannot store anything at the moment, or too many large requests came at "
    "once. `detail` names the cause, such as a full disk. Repeat the request after `Retry-After` seconds; with the "
    "same `Idempotency-Key` it takes effect only once.",
)
TOO_MANY_CONNECTIONS = ProblemType(
    "too-many-connections",
    503,
    "The server has no connection to spare",
    "`max_connections` connections are open, and all of them are busy. Repeat the request after "
    "`Retry-After` seconds.",
)

PROBLEM_TYPES = (
    BROKEN_BODY,
    BROKEN_HEAD,
    UNAUTHENTICATED,
    INVALID_CALLBACK_TOKEN,
    NOT_ALLOWED,
    CROSS_SITE,
    NOT_FOUND,
    WRONG_METHOD,
    TIMED_OUT,
    CONFLICT,
    STALE_ATTEMPT,
    LEASE_GONE,
    STALE,
    TOO_LARGE,
    WRONG_MEDIA,
    INVALID,
    KEY_REUSED,
    TOO_MANY_SIGN_INS,
    TOO_MANY_SIGNALS,
    QUEUE_FULL,
    HEAD_TOO_LARGE,
    INTERNAL,
    UNAVAILABLE,
    TOO_MANY_CONNECTIONS,
)


_KINDS: dict[type[Exception], ProblemType] = {
    NotFound: NOT_FOUND,
    Stale: STALE,  # before Conflict, which is its base class
    StaleAttempt: STALE_ATTEMPT,
    LeaseGone: LEASE_GONE,
    Conflict: CONFLICT,
    NotAllowed: NOT_ALLOWED,
}


class BadField(msgspec.Struct, frozen=True):
    """One bad field: where it is, what is wrong, and what would be right."""

    path: str
    message: str
    hint: str | None


class Problem(msgspec.Struct, frozen=True):
    """Why a request was not fulfilled (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[BadField]
    request_id: str


class Refusal(Exception):
    """Ends the work on a request and becomes its response."""

    def __init__(
        self,
        kind: ProblemType,
        detail: str,
        errors: Sequence[FieldError] = (),
        headers: Headers | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.errors, self.headers = kind, detail, errors, headers or {}

    def reply(self, request_id: str) -> Reply:
        problem = Problem(
            type=self.kind.uri,
            title=self.kind.title,
            status=self.kind.status,
            detail=self.detail,
            errors=[BadField(*error) for error in self.errors],
            request_id=request_id,
        )
        return json_reply(problem, self.kind.status, {**self.headers, "content-type": MEDIA})


def refusal_for(error: Exception, request_id: str, **place: str) -> Refusal:
    """The response to an error. An unexpected one is logged, and the client gets only the request id to find it by."""
    refusal = _expected_refusal(error)
    if refusal is None:
        _log.error("request failed", request_id=request_id, **place, exc_info=error)
        refusal = Refusal(INTERNAL, "the server's log has the reason under this request_id")
    return refusal


def _expected_refusal(error: Exception) -> Refusal | None:
    if isinstance(error, Refusal):
        return error
    if isinstance(error, Invalid):
        kind = KEY_REUSED if isinstance(error, KeyReused) else INVALID
        return Refusal(kind, _summary(error.errors), error.errors)
    if isinstance(error, Unavailable):
        cause = f": it {error.cause}" if error.cause else ""
        return Refusal(UNAVAILABLE, f"{_UNAVAILABLE_DETAIL}{cause}", headers=TRY_AGAIN)
    if isinstance(error, QueueFull):
        return Refusal(QUEUE_FULL, str(error), headers=TRY_AGAIN)
    kinds = (kind for errors, kind in _KINDS.items() if isinstance(error, errors))
    return next((Refusal(kind, str(error)) for kind in kinds), None)


def _summary(errors: Sequence[FieldError]) -> str:
    if len(errors) == 1:
        return f"{errors[0].path}: {errors[0].message}" if errors[0].path else errors[0].message
    if len(errors) >= MOST_ERRORS:
        return f"{len(errors)} fields are wrong, perhaps more; `errors` names those"
    return f"{len(errors)} fields are wrong; `errors` names them"
