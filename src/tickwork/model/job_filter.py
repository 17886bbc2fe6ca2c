"""Which jobs a list shows, in which order, and how many there are."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from tickwork.model.errors import FieldError
from tickwork.model.field_types import Page
from tickwork.model.job import JobStatus, JobView, Priority
from tickwork.model.job_health import Health
from tickwork.model.search_words import words_of

# Newest or oldest first; the soonest due first, only those that will run again; those that need attention first.
Sort = Literal["-created_at", "created_at", "next_run_at", "health"]
JobCountKind = Literal["exact", "estimate"]
_MOST_WORDS = 20


class JobFilter(NamedTuple):
    """What the jobs of a list have in common."""

    status: JobStatus | None = None
    health: Health | None = None
    task: str | None = None  # with .* at the end: all tasks that begin so
    queue: str | None = None
    priority: Priority | None = None
    tag: tuple[str, ...] = ()  # all of them
    owner: str | None = None
    recurring: bool | None = None
    q: str | None = None  # words of name, key, task, tags and description
    key: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    due_after: datetime | None = None
    due_before: datetime | None = None
    sort: Sort = "-created_at"

    @property
    def task_prefix(self) -> str | None:
        """`reports.` for `reports.*`"""
        return self.task[:-1] if self.task and self.task.endswith(".*") else None

    @property
    def exact_task(self) -> str | None:
        return None if self.task_prefix else self.task


EVERY_JOB = JobFilter()


class JobCount(msgspec.Struct, frozen=True):
    """How many jobs match."""

    value: int
    kind: Literal["exact", "estimate", "at least"]


class JobPage(Page[JobView], frozen=True):
    """One page of jobs. It is full, or the last one."""

    count: JobCount | None = None


def filter_errors(wanted: JobFilter) -> Iterator[FieldError]:
    """What a type cannot say about a filter."""
    if wanted.q is not None and not 0 < len(words_of(wanted.q)) <= _MOST_WORDS:
        yield FieldError("q", f"has no words, or more than {_MOST_WORDS}", "words are letters and digits")
    if "*" in (wanted.task_prefix or wanted.exact_task or ""):
        yield FieldError("task", "has a * that is not at the end of a prefix", "all under reports: reports.*")
