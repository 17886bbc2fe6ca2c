"""A schedule after parsing: one instant or a recurring timing, and its preview."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice, takewhile
from typing import Any, NamedTuple, Protocol

import msgspec

from tickwork.model.field_types import Instant

MOST_RUNS = 10_000  # the most that max_runs may be: due times are counted one by one
KINDS = ("at", "in", "cron", "every", "rrule", "text", "fields", "any")  # a schedule object has exactly one


class Timing(Protocol):
    """The due times of one recurring schedule."""

    @property
    def canonical(self) -> dict[str, Any]:
        """A schedule object with exactly one kind and every option that is not the default. Parsing it
        gives the same timing; two schedules that mean the same have the same canonical form."""

    @property
    def words(self) -> str:
        """The schedule in plain English, such as "every weekday at 09:00 (Europe/Paris)"."""

    @property
    def jitter(self) -> timedelta:
        """Each job runs up to this much later than its due time."""

    @property
    def max_runs(self) -> int | None:
        """How many due times a job has in all."""

    def __hash__(self) -> int: ...

    def next_after(self, after: datetime) -> datetime | None:
        """The first due time strictly after the given instant, in UTC; None when there is none."""

    def due_times(self, after: datetime) -> Iterator[datetime]:
        """All due times after the given instant, in order."""


class Once(NamedTuple):
    """Due one time: at the given instant, or at once when that is None."""

    at: datetime | None
    words: str


class Recurring(NamedTuple):
    """Due again and again. The text is the canonical form as JSON with sorted keys: it names the rule."""

    text: str
    timing: Timing


Schedule = Once | Recurring


def describe_once(at: datetime) -> tuple[dict[str, Any], str]:
    """The canonical form of a single due time, and its words."""
    text = at.isoformat().replace("+00:00", "Z")
    return {"at": text}, f"once at {text}"


@lru_cache(maxsize=1024)  # the jobs of a batch have the same schedule and are created at one instant
def nth_due_time(timing: Timing, after: datetime, runs: int) -> datetime | None:
    """The n-th due time after `after`, where n is `runs`; None when there are fewer."""
    return next(islice(timing.due_times(after), min(runs, MOST_RUNS) - 1, None), None)


def count_between(timing: Timing, after: datetime, until: datetime) -> int:
    """How many due times lie after `after` and not after `until`. Counting stops at MOST_RUNS."""
    between = takewhile(lambda due: due <= until, timing.due_times(after))
    return sum(1 for _ in islice(between, MOST_RUNS))


class PreviewTime(msgspec.Struct, frozen=True):
    at: Instant
    local: str  # as the clocks of the schedule's zone show it
    note: str | None = None  # such as a clock change
    viewer: str | None = None  # as the clocks of the viewer's zone show it


class Preview(msgspec.Struct, frozen=True):
    canonical: dict[str, Any]
    words: str
    times: list[PreviewTime]
    warnings: list[str] = []
