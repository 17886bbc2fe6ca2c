"""Retention: for how long, and how many of a job's ended executions are kept, where that is less than all history."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.model.errors import FieldError
from tickwork.model.field_types import Duration
from tickwork.model.quantities import parse_duration

SHORTEST_AGE, LONGEST_AGE = timedelta(hours=1), timedelta(days=3650)
MOST_KEPT = 10_000  # they are counted again and again


class Retention(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How much is kept. With both, what is beyond one of them is deleted."""

    age: Annotated[Duration, Meta(description="for how long executions are kept after their end")] | None = (
        None
    )
    last: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MOST_KEPT,
                description="how many of a recurring job's latest executions are kept; says nothing for a one-time job",
            ),
        ]
        | None
    ) = None

    def view(self) -> "RetentionView":
        return RetentionView(parse_duration(self.age).total_seconds() if self.age else None, self.last)


class RetentionView(msgspec.Struct, frozen=True):
    """How much is kept, as shown to users, in seconds."""

    age: float | None
    last: int | None

    @property
    def period(self) -> timedelta | None:
        return None if self.age is None else timedelta(seconds=self.age)


class TenantRetention(msgspec.Struct, frozen=True, kw_only=True):
    """What the jobs of a tenant keep unless they or their queues say otherwise, and how long history is kept at all."""

    age: float | None
    last: int | None
    history_days: int


def retention_errors(retention: Retention | None, path: str = "retention") -> Iterator[FieldError]:
    """`path`: of the object in the request; empty if it is the whole request."""
    if retention is None:
        return
    if retention.age is None and retention.last is None:
        yield FieldError(path, "says nothing", 'give an age such as "7d", a number as last, or both')
    elif retention.age is not None:
        yield from _age_errors(retention.age, f"{path}.age" if path else "age")


def _age_errors(age: Duration, path: str) -> Iterator[FieldError]:
    try:
        period = parse_duration(age)
    except ValueError as error:
        yield FieldError(path, str(error))
        return
    if not SHORTEST_AGE <= period <= LONGEST_AGE:
        yield FieldError(path, f"is between 1 hour and {LONGEST_AGE.days} days")
