"""A ping: something that runs elsewhere and reports here, expected by a schedule with a grace."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from tickwork.model.field_types import Duration, Instant

PingStatusName = Literal["new", "ok", "late", "missing", "failed"]
PingKind = Literal["late", "missing", "failed", "recovered", "slow"]
SignalName = Literal["start", "success", "fail", "log"]
MOST_LOG = 10_000  # characters of a run's log that are kept: the last ones
RECENT_RUNS = 30  # that lists show, and that say what is usual
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"

PingName = Annotated[
    str,
    Meta(
        pattern=_NAME,
        description="up to 100 letters, digits, dots, dashes and underscores; a letter or digit first",
    ),
]
ChannelName = Annotated[str, Meta(pattern=_NAME, description="the name of a notification channel")]


class PingStatus(StrEnum):
    NEW = "new"  # nothing was heard or missed yet
    OK = "ok"
    LATE = "late"  # it has not come when it usually does; its grace is not over
    MISSING = "missing"
    FAILED = "failed"


class PingOutcome(StrEnum):
    SUCCESS = "success"
    FAILED = "failed"
    MISSING = "missing"


class Signal(NamedTuple):
    """What somebody says about a ping."""

    name: SignalName
    log: str = ""
    exit_code: int | None = None


class PingNotify(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which channels are told of what."""

    on: Annotated[list[PingKind], Meta(min_length=1, max_length=5)]
    to: Annotated[list[ChannelName], Meta(max_length=20)] = []  # none: nobody is told


class PingRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A ping as users write it: the body of PUT /pings/{name}."""

    schedule: str | dict[str, Any]
    timezone: Annotated[str, Meta(max_length=64)] | None = None
    grace: Duration = "5m"
    description: Annotated[str, Meta(min_length=1, max_length=2000)] | None = None
    notify: Annotated[list[PingNotify], Meta(max_length=20)] = []


class PingFilter(NamedTuple):
    status: PingStatus | None = None
    q: str | None = None  # a part of the name


class PingReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a signal may say besides its name: the body of POST /pings/{name}/success and the others."""

    log: Annotated[str, Meta(description="the end of it is kept")] = ""
    exit_code: Annotated[int, Meta(ge=0, le=255)] | None = None


class PingSpec(NamedTuple):
    """A valid ping, ready to be stored."""

    definition: bytes  # JSON: the request
    timing: str  # the canonical schedule
    grace: timedelta
    notify: bytes  # JSON


class PingRunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One of the latest runs, as lists show it."""

    number: int
    outcome: PingOutcome
    ended_at: Instant
    run_time: float | None  # seconds; null: its start was not reported


class PingRunView(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an expected run, or one that came unexpectedly."""

    number: int
    outcome: PingOutcome
    due_at: Instant | None  # null: it came when none was expected
    started_at: Instant | None  # null: its start was not reported
    ended_at: Instant  # of a missing one: when its grace was found to be over
    run_time: float | None  # seconds
    delay: float | None  # seconds from its due time to its start, or to its end if the start was not reported
    missed: int  # due times that a missing one stands for
    exit_code: int | None
    log: str | None  # kept for the latest runs


class PingStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Of the latest runs, up to a hundred."""

    runs: int
    success_share: float | None
    typical_run_time: float | None  # the median, in seconds
    p95_run_time: float | None
    typical_delay: float | None
    p95_delay: float | None


class PingView(msgspec.Struct, frozen=True, kw_only=True):
    """A ping as shown to users."""

    name: str
    status: PingStatus
    schedule: dict[str, Any]  # the canonical form
    schedule_words: str
    grace: float  # seconds
    description: str | None
    notify: list[PingNotify]
    expected_at: Instant | None  # null: its schedule has ended
    missing_at: Instant | None  # when its grace ends
    started_at: Instant | None  # of the run in progress
    log: str | None  # of the run in progress; null in lists
    last_heard_at: Instant | None
    last_success_at: Instant | None
    failing_since: Instant | None
    failures_in_a_row: int  # failed and missing ones
    recent_runs: list[PingRunSummary]  # the latest first
    statistics: PingStatistics | None  # null in lists
    url: str | None  # where its signals go, with its token; shown only when the token is made
    token_begins: str  # what is shown of the token later
    created_at: Instant
    updated_at: Instant


class DeletedPing(msgspec.Struct, frozen=True):
    """The name of a ping that is no more."""

    name: str


class PingState(NamedTuple):
    """What changes whenever a ping is heard of or missed."""

    status: PingStatus = PingStatus.NEW
    expected_at: datetime | None = None  # the due time that is awaited
    started_at: datetime | None = None
    log: str = ""
    told_late: bool = False  # of the due time that is awaited
    told_slow: bool = False  # of the run in progress
    late_after: timedelta | None = None  # the due time: later than usual; None: not known yet
    slow_after: timedelta | None = None  # the start: longer than usual
    missed_at: datetime | None = None  # the latest due time that was missed, until something is heard
    told_missing_at: datetime | None = None
    failing_since: datetime | None = None
    failures_in_a_row: int = 0
    last_heard_at: datetime | None = None
    last_success_at: datetime | None = None


class PingRun(NamedTuple):
    """A run that is about to be added to the history."""

    outcome: PingOutcome
    due_at: datetime | None
    started_at: datetime | None
    ended_at: datetime
    missed: int = 0
    exit_code: int | None = None
    log: str | None = None


class OutsidePingRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the cluster reports itself: the body of PUT /outside-ping."""

    url: Annotated[str, Meta(min_length=1, max_length=2048)]


class OutsidePingView(msgspec.Struct, frozen=True, kw_only=True):
    """Where the cluster reports itself every minute while it fires."""

    url: str | None  # null: it reports nowhere
    called_at: Instant | None
    answered_at: Instant | None  # the last time with success
    error: str | None  # of the last call
