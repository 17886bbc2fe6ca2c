"""What a look at the status URL of an HTTP target means: the target still works, is done, or has failed."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec

from tickwork.model.execution import AttemptOutcome
from tickwork.model.status_poll import PollUntil
from tickwork.model.worker_protocol import Failure

_LONGEST_VALUE = 200
_RETRIED = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_CLIENT_ERROR = 4


class Polled(NamedTuple):
    """What one look at the status has shown."""

    kind: AttemptOutcome | None = None  # None: the target still works
    result: bytes | None = None
    failure: Failure | None = None
    wait: float = 0.0  # seconds that the target asks for before the next look


def value_at(path: str, result: bytes) -> Any:
    """The value at the path of an answer, which is kept as {"status": …, "body": …}; None if there is none."""
    value = msgspec.json.decode(result)
    for step in path.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def judge_answer(until: PollUntil | None, status: int, result: bytes, wait: float) -> Polled:
    """What a successful answer of the status URL means."""
    if until is None:
        return (
            Polled(wait=wait) if status == HTTPStatus.ACCEPTED else Polled(AttemptOutcome.COMPLETED, result)
        )
    value = value_at(until.path, result)
    if _is_among(value, until.done):
        return Polled(AttemptOutcome.COMPLETED, result)
    if _is_among(value, until.failed):
        said = msgspec.json.encode(value).decode()[:_LONGEST_VALUE]
        return Polled(AttemptOutcome.FAILED, failure=Failure("TargetFailed", f"{until.path} is {said}"))
    return Polled(wait=wait)


def judge_failure(failure: Failure) -> Polled:
    """What it means that the status could not be read. If the target says that the status does not exist, the attempt
    has failed. Anything else may pass: the target is asked again until its time is over."""
    status = failure.type.removeprefix("Http")
    is_refused = status.isdecimal() and int(status) // 100 == _CLIENT_ERROR and int(status) not in _RETRIED
    if is_refused or not failure.retry:
        return Polled(AttemptOutcome.FAILED, failure=failure)
    return Polled(wait=failure.retry_after)


def _is_among(value: Any, values: Sequence[Any]) -> bool:
    """As JSON compares: 1 is not true."""
    return any(value == each and isinstance(value, bool) is isinstance(each, bool) for each in values)
