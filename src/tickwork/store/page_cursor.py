"""Where the next page of a list begins, as a text that means nothing to anybody else.

A cursor names its list, so that one of another list is a mistake and not a strange page. It comes from outside: only
numbers that the database can take are let in.
"""

import base64
from typing import Annotated, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from tickwork.model.channel import ChannelName
from tickwork.model.errors import Invalid
from tickwork.model.field_types import QueueName
from tickwork.model.ping import PingName

_Id = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_WorkerId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_Number = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_Time = Annotated[int, Meta(ge=0, le=253_402_300_799_999_999)]  # microseconds since 1970, up to the year 9999

_Priority = Annotated[int, Meta(ge=-1, le=2**15 - 1)]  # -1: before all


class JobPlace(NamedTuple):
    list: Literal["jobs"]
    id: _Id


class NextRunPlace(NamedTuple):
    list: Literal["jobs by next run"]
    time: _Time
    rule: _Id
    priority: _Priority
    job: _Id


class WorkflowPlace(NamedTuple):
    list: Literal["workflows"]
    id: _Id


class HealthPlace(NamedTuple):
    list: Literal["jobs by health"]
    rank: Annotated[int, Meta(ge=0, le=3)]  # of the health, what needs attention most first
    id: _Id


class ChangePlace(NamedTuple):
    list: Literal["changes"]
    number: _Id


class ExecutionPlace(NamedTuple):
    list: Literal["executions"]
    time: _Time
    job: _Id


class WorkerPlace(NamedTuple):
    list: Literal["workers"]
    id: _WorkerId


class WorkerNamePlace(NamedTuple):
    list: Literal["workers by name"]
    name: Annotated[str, Meta(max_length=200, pattern=r"^[^\x00]*$")]
    id: _WorkerId


class BackfillPlace(NamedTuple):
    list: Literal["backfills"]
    id: _Id


class DeadLetterPlace(NamedTuple):
    list: Literal["dead letters"]
    failed_at: _Time
    time: _Time
    job: _Id


class ErrorGroupPlace(NamedTuple):
    list: Literal["errors"]
    last_seen: _Time
    fingerprint: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class NotificationPlace(NamedTuple):
    list: Literal["notifications"]
    id: _Id


class LogPlace(NamedTuple):
    list: Literal["log"]
    attempt: _Number
    line: _Number


class QueuePlace(NamedTuple):
    list: Literal["queues"]
    name: QueueName


class ChannelPlace(NamedTuple):
    list: Literal["channels"]
    name: ChannelName


class PingPlace(NamedTuple):
    list: Literal["pings"]
    name: PingName


class PingRunPlace(NamedTuple):
    list: Literal["ping runs"]
    number: _Id


class UpcomingPlace(NamedTuple):
    list: Literal["upcoming"]
    time: _Time
    rule: _Id
    priority: _Priority
    job: _Id


Place = (
    JobPlace
    | NextRunPlace
    | HealthPlace
    | WorkflowPlace
    | ChangePlace
    | ExecutionPlace
    | WorkerPlace
    | WorkerNamePlace
    | BackfillPlace
    | DeadLetterPlace
    | ErrorGroupPlace
    | NotificationPlace
    | LogPlace
    | QueuePlace
    | ChannelPlace
    | PingPlace
    | PingRunPlace
    | UpcomingPlace
)
_Place = TypeVar("_Place", bound=Place)


def encode_cursor(place: Place | None) -> str | None:
    """None: there is no next page."""
    if place is None:
        return None
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(place)).decode().rstrip("=")


def decode_cursor(cursor: str, kind: type[_Place]) -> _Place:
    try:
        packed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return msgspec.msgpack.decode(packed, type=kind)
    except (ValueError, msgspec.MsgspecError):
        raise Invalid.field(
            "cursor", "is not one that this list gave", "take next_cursor of the page before"
        ) from None
