"""Sends one call until it is answered: builds the request, decides about retries, and reads the answer.

No I/O here: `exchange` is a generator that yields what to do next (send a request, wait) and receives the result, so
that the sync and the async client share it.
"""

from collections.abc import Generator
from random import random
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx2
import msgspec

from tickwork.client.argument_types import Problem
from tickwork.client.build_requests import Answer, Call
from tickwork.client.deprecation_warning import warn_if_deprecated
from tickwork.client.find_server import CONNECT_TIMEOUT, TIMEOUT_DEFAULT
from tickwork.model.current_span_and_job_origin import current_traceparent
from tickwork.model.errors import (
    Conflict,
    Invalid,
    LeaseGone,
    NotAllowed,
    NotFound,
    QueueFull,
    Stale,
    StaleAttempt,
    TickworkError,
    Unavailable,
)

Result = TypeVar("Result")
Reply = httpx2.Response | httpx2.TransportError

RETRIES_DEFAULT = 4
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
_SIMPLE_ERRORS: dict[int, type[TickworkError]] = {
    401: NotAllowed,
    403: NotAllowed,
    409: Conflict,
    410: LeaseGone,
    412: Stale,
    429: Unavailable,
}
_OWN_TYPES: dict[str, type[TickworkError]] = {"queue-full": QueueFull, "stale-attempt": StaleAttempt}
_BUSY = frozenset({429, 502, 503, 504})
_IN_FLIGHT = 409  # with Retry-After: the server still works on an earlier copy of this request


class Pause(NamedTuple):
    seconds: float


class HttpRequest(NamedTuple):
    """The arguments of httpx2's request()."""

    method: str
    url: str
    params: dict[str, str | list[str]]
    headers: dict[str, str]
    content: bytes | None
    timeout: Any = httpx2.USE_CLIENT_DEFAULT


Steps = Generator[Pause | HttpRequest | Call[Any], Any, Result]


def exchange(call: Call[Answer], retries: int) -> Steps[Answer]:
    request = request_of(call)
    reply: Reply = yield request
    for number in range(retries):
        if not is_worth_retrying(call, reply):
            break
        yield Pause(pause_before(number, reply))
        reply = yield request
    return answer_of(call, reply)


def request_of(call: Call[Any]) -> HttpRequest:
    headers = {"Accept": "application/json", **call.headers}
    if traceparent := current_traceparent():
        headers["traceparent"] = traceparent
    if call.method == "POST":
        headers.setdefault("Idempotency-Key", uuid4().hex)
    if call.body is not None:
        headers["Content-Type"] = (
            "application/merge-patch+json" if call.method == "PATCH" else "application/json"
        )
    return HttpRequest(call.method, _path(call), call.query, headers, call.body, _timeout(call))


def _timeout(call: Call[Any]) -> Any:
    """A call that asks the server to wait gets that much more time."""
    if not call.waits:
        return httpx2.USE_CLIENT_DEFAULT
    return httpx2.Timeout(call.waits + TIMEOUT_DEFAULT, connect=CONNECT_TIMEOUT)


def _path(call: Call[Any]) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in call.path)


def is_worth_retrying(call: Call[Any], reply: Reply) -> bool:
    if isinstance(reply, httpx2.ConnectError | httpx2.ConnectTimeout):
        return True  # nothing was sent
    if not call.repeatable:
        return False
    if isinstance(reply, httpx2.TransportError):
        return not isinstance(reply, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError)
    return reply.status_code in _BUSY or _is_in_flight(reply)


def _is_in_flight(response: httpx2.Response) -> bool:
    return response.status_code == _IN_FLIGHT and "Retry-After" in response.headers


def pause_before(number: int, reply: Reply) -> float:
    wait = _FIRST_PAUSE * 2.0**number * (1 + random())  # noqa: S311 (spread, not secrecy)
    return min(max(wait, _retry_after(reply)), _LONGEST_PAUSE)


def _retry_after(reply: Reply) -> float:
    text = "" if isinstance(reply, httpx2.TransportError) else str(reply.headers.get("Retry-After", ""))
    return float(text) if text.isdigit() else 0.0


def answer_of(call: Call[Answer], reply: Reply) -> Answer:
    if isinstance(reply, httpx2.TransportError):
        raise Unavailable(
            f"no answer from {_server(reply.request)}: {reply or type(reply).__name__}"
        ) from reply
    warn_if_deprecated(call, reply)
    if not reply.is_success:
        raise _error(call, reply)
    try:
        return msgspec.json.decode(reply.content, type=call.answer)
    except msgspec.MsgspecError as error:
        raise TickworkError(
            f"{_server(reply.request)} does not answer like a Tickwork server: {error}"
        ) from None


def _error(call: Call[Any], response: httpx2.Response) -> TickworkError:
    problem = _problem(response)
    said = problem.detail or problem.title or f"{_server(response.request)} answered {response.status_code}"
    status = response.status_code
    if _is_in_flight(response):
        return Unavailable(said)
    if kind := _OWN_TYPES.get(problem.type.rpartition("/")[2]) or _SIMPLE_ERRORS.get(status):
        return kind(said)
    if status == httpx2.codes.NOT_FOUND:
        return _not_found(call)
    if response.is_server_error:
        return Unavailable(f"{said} (request {problem.request_id})" if problem.request_id else said)
    return Invalid(problem.fields) if problem.errors else Invalid.field("request", said)


def _not_found(call: Call[Any]) -> NotFound:
    kinds, *rest = call.path
    return NotFound(kinds.removesuffix("s"), rest[0]) if rest else NotFound("page", _path(call))


def _problem(response: httpx2.Response) -> Problem:
    try:
        return msgspec.json.decode(response.content, type=Problem)
    except msgspec.MsgspecError:
        return Problem()


def _server(request: httpx2.Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode()}"
