"""What an attempt of an execution ran with: its job as it was then, or the payload that somebody gave to it."""

from typing import Any, Literal, NamedTuple

import msgspec

from tickwork.model.access import Author
from tickwork.model.field_types import Instant
from tickwork.model.http_target import HttpTargetView
from tickwork.model.job_change_record import ChangeAuthor

InputSource = Literal["job", "earlier version", "retry"]


class ExecutionInput(msgspec.Struct, frozen=True, kw_only=True):
    """What an attempt ran with, or will run with if it has not begun."""

    execution_id: str
    attempt: int
    source: (
        InputSource  # of the payload: the job as it is now, the job before it was edited, or who retried it
    )
    version: int  # of the job that it had
    current_version: int  # of the job now
    task: str
    payload: Any  # JSON; a server writes it as msgspec.Raw, unread
    http: HttpTargetView | None  # with marks in place of secrets
    is_kept: bool = True  # False: the job was edited so often since that the payload is no longer known
    given_by: ChangeAuthor | None = None  # who retried it with this payload
    given_at: Instant | None = None


class ExecutionRetry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to run an execution again."""

    payload: Any | msgspec.UnsetType = (
        msgspec.UNSET
    )  # not given: that of the job, or of an earlier retry with one


class RetryPayload(NamedTuple):
    """A payload that somebody gives to an execution when retrying it."""

    payload: bytes
    author: Author | None
