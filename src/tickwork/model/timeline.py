"""The time line: what ran and what is due, for a few jobs or tasks, beside the slots that it takes."""

from typing import Literal

import msgspec

from tickwork.model.field_types import Instant

MOST_ROWS = 50
RowKind = Literal["job", "task"]
BarState = Literal["completed", "failed", "cancelled", "skipped", "running", "retrying", "pending", "due"]


class TimelineBar(msgspec.Struct, frozen=True, kw_only=True, rename={"begin": "from"}):
    """An execution, or several of one row that are close to each other."""

    state: BarState  # of the worst of them; due: to come
    begin: Instant
    until: Instant | None = None  # null: it has not ended
    counts: dict[BarState, int]  # how many executions of each state
    execution_id: str | None = None  # if it is a single execution


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    """What ran and what is due of one job, or of one task."""

    id: str  # of the job, or the name of the task
    name: str | None
    key: str | None
    task: str
    failing: bool  # its last execution failed for good
    run_time: float | None  # seconds that a run usually takes
    next_at: Instant | None
    complete_since: Instant | None  # there is too much before this time; null: all of the range is shown
    complete_until: Instant | None  # likewise after this time
    bars: list[TimelineBar]


class SlotsInUse(msgspec.Struct, frozen=True, kw_only=True, rename={"begin": "from"}):
    """How many slots are in use, or wanted, in a part of the range."""

    begin: Instant
    until: Instant
    slots: float


class Shortage(msgspec.Struct, frozen=True, kw_only=True, rename={"begin": "from"}):
    """A time in which more executions want a slot than there are slots."""

    begin: Instant
    until: Instant  # when the last of those that have to wait starts
    wanted: int  # the most at once
    slots: int
    delay: float  # seconds by which the last one starts late


class TimelineView(msgspec.Struct, frozen=True, kw_only=True, rename={"begin": "from"}):
    """Past, now and future of a few jobs or tasks: those that fail, then the busiest."""

    at: Instant  # now
    begin: Instant
    until: Instant
    by: RowKind
    rows: list[TimelineRow]
    more: int  # jobs or tasks that were found, too, and have no row
    slots: int  # of workers; HTTP jobs need none
    busy: list[SlotsInUse]  # the past: on average
    wanted: list[SlotsInUse]  # the future: the most at once
    shortages: list[Shortage]
    due_known_until: Instant | None  # after this time `wanted` is an average; null: never
