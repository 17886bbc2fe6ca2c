"""/v1/callbacks/EXECUTION: where the target of an HTTP job reports that it finishes later.

Each attempt has its own token, which its target was sent with the request. It opens nothing else, and an API key does
not open these.
"""

from datetime import datetime
from typing import Any, NamedTuple

from tickwork.api.auth import bearer
from tickwork.api.problem import INVALID_CALLBACK_TOKEN, NOT_FOUND, STALE_ATTEMPT, UNAVAILABLE, Refusal
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, Content, Handler, NoQuery, Route, json_content
from tickwork.model.checkpoint import CheckpointView
from tickwork.model.errors import BadId
from tickwork.model.http_callback_reports import (
    CallbackCheckpoint,
    CallbackComplete,
    CallbackFail,
    CallbackHeartbeat,
    CallbackProgress,
    KeptAttempt,
)
from tickwork.model.public_ids import execution_id, parse_execution_id
from tickwork.model.rest_worker import ReportedAttempt


async def heartbeat_of_target(call: Call[NoQuery, CallbackHeartbeat]) -> Reply:
    """Keep an attempt of an HTTP job that finishes later: the target still works on it.

    The answer says when the attempt is taken away unless another report comes.
    """
    return json_reply(await call.node.callbacks.heartbeat(*_admit(call), call.body))


async def progress_of_target(call: Call[NoQuery, CallbackProgress]) -> Reply:
    """Report the progress of an HTTP job that finishes later, and what its target logged. Counts as a heartbeat.

    Lines are numbered within their attempt, beginning with `first_line`, so that repeated lines are stored once.
    """
    return json_reply(await call.node.callbacks.progress(*_admit(call), call.body))


async def checkpoint_of_target(call: Call[NoQuery, CallbackCheckpoint]) -> Reply:
    """Store what the target of an HTTP job has done, for the attempts after this one. Counts as a heartbeat.

    A step is stored once: repeating it changes nothing, and another result under its name is refused. A state replaces
    those of the attempt with a lower `number`.
    """
    return json_reply(await call.node.callbacks.checkpoint(*_admit(call), call.body))


async def recall_by_target(call: Call[NoQuery, None]) -> Reply:
    """Show the target of an HTTP job what the attempts of its execution have stored."""
    return json_reply(await call.node.callbacks.recall(*_admit(call)))


async def complete_by_target(call: Call[NoQuery, CallbackComplete]) -> Reply:
    """Report that an HTTP job that finishes later has completed, with its result."""
    return json_reply(await call.node.callbacks.complete(*_admit(call), call.body))


async def fail_by_target(call: Call[NoQuery, CallbackFail]) -> Reply:
    """Report that an HTTP job that finishes later has failed. It is retried by its retry policy, unless `retry` is
    false."""
    return json_reply(await call.node.callbacks.fail(*_admit(call), call.body))


class _Admitted(NamedTuple):
    job: int
    scheduled_for: datetime
    attempt: int


def _admit(call: Call[Any, Any]) -> _Admitted:
    """Whoever has no token of this execution does not learn whether it exists."""
    try:
        job, scheduled_for = parse_execution_id(call.path["id"])
    except BadId:
        raise _refusal() from None
    token = bearer(call.headers.get(b"authorization", b""))
    attempt = call.node.callbacks.tokens.attempt(execution_id(job, scheduled_for), token)
    if attempt is None:
        raise _refusal()
    return _Admitted(job, scheduled_for, attempt)


def _refusal() -> Refusal:
    challenge = {"www-authenticate": 'Bearer realm="tickwork callback", error="invalid_token"'}
    detail = "send the token of this execution's attempt as `Authorization: Bearer TOKEN`"
    return Refusal(INVALID_CALLBACK_TOKEN, detail, headers=challenge)


_PROBLEMS = (INVALID_CALLBACK_TOKEN, NOT_FOUND, STALE_ATTEMPT, UNAVAILABLE)


def _route(word: str, handler: Handler, response: Any, body: Content) -> Route:
    return Route(
        "POST",
        f"/v1/callbacks/{{id}}/{word}",
        handler,
        None,
        response,
        body=body,
        problems=_PROBLEMS,
        keeps_answer=False,
    )


_PROGRESS = {"fraction": 0.4, "message": "4 of 10", "log": ["sent 4"], "first_line": 0}
_CHECKPOINT = {"steps": [{"name": "print", "result": {"pages": 12}}], "state": {"page": 4}, "number": 1}
_FAIL = {"error": {"type": "OutOfPaper", "message": "the tray is empty"}, "retry_after": "10m"}

ROUTES = (
    _route(
        "heartbeat",
        heartbeat_of_target,
        KeptAttempt,
        json_content(CallbackHeartbeat, example={"attempt": 1}, default=CallbackHeartbeat()),
    ),
    _route(
        "progress", progress_of_target, ReportedAttempt, json_content(CallbackProgress, example=_PROGRESS)
    ),
    _route(
        "checkpoint",
        checkpoint_of_target,
        ReportedAttempt,
        json_content(CallbackCheckpoint, example=_CHECKPOINT),
    ),
    Route("GET", "/v1/callbacks/{id}/checkpoint", recall_by_target, None, CheckpointView, problems=_PROBLEMS),
    _route(
        "complete",
        complete_by_target,
        ReportedAttempt,
        json_content(CallbackComplete, example={"result": {"pages": 12}}, default=CallbackComplete()),
    ),
    _route("fail", fail_by_target, ReportedAttempt, json_content(CallbackFail, example=_FAIL)),
)
