"""What the target of an HTTP job reports while it works, after it has answered 202: the bodies are those of REST
workers, except that the attempt may be left out, because the token names it.

    request ──▶ 202 ──▶ progress, checkpoint, heartbeat … ──▶ complete or fail
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tickwork.model.field_types import Duration, Instant
from tickwork.model.rest_worker import (
    AttemptNumber,
    CheckpointReport,
    CompleteReport,
    ErrorReport,
    FailReport,
    LogLine,
    ProgressReport,
    StateNumber,
    StepReports,
)

_LARGEST = 2**31 - 1


class CallbackHeartbeat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The target is still working on the attempt."""

    attempt: AttemptNumber | None = None


class CallbackProgress(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far the target has come, what it logged since, or both. It counts as a heartbeat."""

    attempt: AttemptNumber | None = None
    fraction: Annotated[float, Meta(ge=0, le=1)] | None = None
    message: Annotated[str, Meta(max_length=1000)] | None = None
    log: Annotated[list[LogLine], Meta(max_length=1000)] = []
    first_line: Annotated[int, Meta(ge=0, le=_LARGEST // 2)] = (
        0  # number of the first line within the attempt
    )

    def of(self, attempt: int) -> ProgressReport:
        return ProgressReport(
            attempt=attempt,
            fraction=self.fraction,
            message=self.message,
            log=self.log,
            first_line=self.first_line,
        )


class CallbackCheckpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Steps that the target has done, a new state, or both, for later attempts. It counts as a heartbeat."""

    attempt: AttemptNumber | None = None
    steps: StepReports = []
    state: Any | UnsetType = UNSET  # JSON
    number: StateNumber | None = None  # which state of the attempt this is, from 1; needed with a state

    def of(self, attempt: int) -> CheckpointReport:
        return CheckpointReport(attempt=attempt, steps=self.steps, state=self.state, number=self.number)


class CallbackComplete(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The target has done what the attempt asked for."""

    attempt: AttemptNumber | None = None
    result: Any = None

    def of(self, attempt: int) -> CompleteReport:
        return CompleteReport(attempt, self.result)


class CallbackFail(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The target could not do what the attempt asked for."""

    attempt: AttemptNumber | None = None
    error: ErrorReport
    retry: bool = True  # false: trying again is useless
    retry_after: Duration = 0.0  # not sooner than this

    def of(self, attempt: int) -> FailReport:
        return FailReport(attempt=attempt, error=self.error, retry=self.retry, retry_after=self.retry_after)


class KeptAttempt(msgspec.Struct, frozen=True):
    """An attempt that its target keeps: the answer to a heartbeat."""

    id: str
    attempt: int
    deadline: (
        Instant | None
    )  # when it is taken away unless a report comes; None while its 202 is being recorded
