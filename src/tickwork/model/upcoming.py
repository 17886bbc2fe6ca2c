"""What is coming: the due times of all jobs in a range, one by one or counted."""

from typing import NamedTuple

import msgspec

from tickwork.model.field_types import Instant, Page


class DueFilter(NamedTuple):
    """Whose due times are wanted: of jobs that fit all that is given."""

    job: int | None = None
    task: str | None = None
    queue: str | None = None
    tag: str | None = None

    @property
    def needs_look(self) -> bool:
        """Whether due times have to be looked at one by one."""
        return bool(self.task or self.queue or self.tag)


ALL_DUE = DueFilter()


class DueTime(msgspec.Struct, frozen=True, kw_only=True):
    """A time at which a job is due."""

    at: Instant
    job_id: str
    name: str | None
    task: str
    queue: str


class DueTimePage(Page[DueTime], frozen=True):
    """Due times in order. A page that is neither full nor the last one says how far it has looked."""

    searched_until: Instant | None = None  # all due times before this one are known


class DueTimeCount(msgspec.Struct, frozen=True):
    """How many due times there are from this time until the next one of the list."""

    at: Instant
    count: int
    task: str | None = None  # if wanted by task
    queue: str | None = None  # if wanted by queue


class DueTimeCounts(msgspec.Struct, frozen=True):
    """How many due times there are in each step of a range."""

    items: list[DueTimeCount]
    estimate: bool = False  # some jobs or due times were too many to be counted one by one
    searched_until: Instant | None = None  # not all due times from here on are in the counts
