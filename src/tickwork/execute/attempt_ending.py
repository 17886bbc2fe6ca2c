"""How an attempt ended: what its code returned or raised, as a value that can be sent to the server."""

import traceback
from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec

from tickwork.model.errors import TIMEOUT
from tickwork.model.execution import RESULT_LIMIT, AttemptOutcome
from tickwork.model.python_values_to_json import encode
from tickwork.model.retry_policy import error_name
from tickwork.model.task_exceptions import AttemptLost, Cancel, NoRetry, Snooze
from tickwork.model.worker_protocol import Accepted, Failure


class AttemptFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class AttemptHeld(Exception):
    """The attempt did not start: the circuit breaker of its destination is open."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AttemptPostponed(Exception):
    """The attempt did not start, for this reason, and does not count."""

    def __init__(self, seconds: float, reason: Failure) -> None:
        super().__init__(reason.message)
        self.seconds = seconds
        self.reason = reason


class AttemptAccepted(Exception):
    """The HTTP target has the attempt now, and reports later how it ends."""

    def __init__(self, accepted: Accepted) -> None:
        super().__init__("the target reports later")
        self.accepted = accepted


_MESSAGE_LIMIT = 4_000
_TRACEBACK_LIMIT = 16_000
_MAX_KINDS = 10


class Ending(msgspec.Struct, array_like=True, frozen=True):
    kind: AttemptOutcome
    result: bytes | None = None
    failure: Failure | None = None
    snooze: float = 0.0
    reason: str | None = None
    accepted: Accepted | None = None


_STILL_RUNS = "its code was told to stop but still runs in the worker"
_COMPLETED = Ending(AttemptOutcome.COMPLETED)


def ending_of_value(value: Any) -> Ending:
    """Completed with a value that is encoded as JSON."""
    if value is None:
        return _COMPLETED
    try:
        return ending_of_json(encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        return failed("BadResult", f"the result cannot be written as JSON: {error}", retry=False)


def ending_of_json(result: bytes | None) -> Ending:
    if result is not None and len(result) > RESULT_LIMIT:
        size = f"{len(result)} bytes of JSON; the limit is {RESULT_LIMIT}"
        return failed(
            "ResultTooLarge", f"the result has {size}: store it elsewhere and return where", retry=False
        )
    return Ending(AttemptOutcome.COMPLETED, result)


def ending_of_error(error: BaseException) -> Ending:
    if ending := _ending_of_http_call(error):
        return ending
    match error:
        case Snooze():
            return Ending(AttemptOutcome.SNOOZED, snooze=error.seconds)
        case Cancel():
            return cancelled(_message(error) or "the task cancelled itself")
        case AttemptFailed():
            return Ending(AttemptOutcome.FAILED, failure=error.failure)
        case AttemptLost():
            return Ending(AttemptOutcome.LOST, reason=_message(error))
    failure = Failure(
        error_name(type(error)),
        _message(error),
        _trace(error),
        retry=not isinstance(error, NoRetry),
        kinds=_kinds(error),
    )
    return Ending(AttemptOutcome.FAILED, failure=failure)


def _ending_of_http_call(error: BaseException) -> Ending | None:
    """For what only an HTTP call can end with."""
    match error:
        case AttemptPostponed():
            return Ending(AttemptOutcome.SNOOZED, snooze=error.seconds, failure=error.reason)
        case AttemptAccepted():
            return Ending(AttemptOutcome.ACCEPTED, accepted=error.accepted)
        case AttemptHeld():
            failure = Failure("CircuitOpen", error.reason)
            return Ending(AttemptOutcome.HELD, failure=failure, reason=error.reason)
    return None


def ending_of_call(call: Callable[[], Any]) -> Ending:
    try:
        return ending_of_value(call())
    except BaseException as error:  # noqa: BLE001 (even SystemExit is only the end of this attempt)
        return ending_of_error(error)


def unchanged(ending: Ending) -> Ending:
    return ending


def failed(kind: str, message: str, *, retry: bool = True) -> Ending:
    return Ending(AttemptOutcome.FAILED, failure=Failure(kind, message, retry=retry))


def timed_out(seconds: float) -> Ending:
    message = f"did not end within {seconds:g} s"
    return Ending(AttemptOutcome.FAILED, failure=Failure(TIMEOUT, message, kinds=["TimeoutError"]))


def cancelled(reason: str) -> Ending:
    return Ending(AttemptOutcome.CANCELLED, reason=reason)


def still_running(ending: Ending) -> Ending:
    """The same ending, saying that the code was told to stop and did not. A loss stays as it is: with a reason it would
    be nobody's fault, and not count."""
    if ending.kind is AttemptOutcome.LOST:
        return ending
    replace = msgspec.structs.replace
    if ending.failure:
        return replace(
            ending, failure=replace(ending.failure, message=f"{ending.failure.message}; {_STILL_RUNS}")
        )
    return replace(ending, reason="; ".join(filter(None, (ending.reason, _STILL_RUNS))))


def _kinds(error: BaseException) -> list[str]:
    """The class of the error and its base classes."""
    classes = (kind for kind in type(error).__mro__ if kind not in (BaseException, object))
    return [error_name(kind) for kind in islice(classes, _MAX_KINDS)]


def _message(error: BaseException) -> str:
    try:
        return str(error)[:_MESSAGE_LIMIT]
    except Exception as unprintable:  # noqa: BLE001 (whatever a user's __str__ raises)
        return f"its message cannot be shown: {type(unprintable).__name__}"


def _trace(error: BaseException) -> str:
    """The traceback without our own frames; if it is long, its end, where the cause is."""
    trace = error.__traceback__
    while trace and trace.tb_next and trace.tb_frame.f_globals.get("__name__", "").startswith(__package__):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))[-_TRACEBACK_LIMIT:]
