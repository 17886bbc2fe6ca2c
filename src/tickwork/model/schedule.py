"""When: every way of saying it is compiled to one canonical form."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

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
        """Up to how much later than due each job is run."""

    @property
    def max_runs(self) -> int | None:
        """How many due times a job has in all."""

    def next_after(self, after: datetime) -> datetime | None:
        """The first due time strictly after the given instant, in UTC; None when there is none."""


class Once(NamedTuple):
    """Due one time: at the given instant, or at once when that is None."""

    at: datetime | None
    words: str


class Recurring(NamedTuple):
    """Due again and again. The text is the canonical form as JSON with sorted keys: it names the rule."""

    text: str
    timing: Timing


Schedule = Once | Recurring


def described_once(at: datetime) -> tuple[dict[str, Any], str]:
    """The canonical form of a single due time, and its words."""
    text = at.isoformat().replace("+00:00", "Z")
    return {"at": text}, f"once at {text}"


def last_of(timing: Timing, after: datetime, runs: int) -> datetime | None:
    """The due time that is the so many-th from then on; None when there are not that many."""
    due: datetime | None = after
    for _ in range(runs):
        if due is None:
            return None
        due = timing.next_after(due)
    return due


def count_between(timing: Timing, after: datetime, until: datetime) -> int:
    """How many due times lie after the one instant and not after the other."""
    count, due = 0, timing.next_after(after)
    while due and due <= until:
        count, due = count + 1, timing.next_after(due)
    return count
