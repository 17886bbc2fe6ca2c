"""Changes that conflict start again; other failures are passed on."""

import asyncpg
import pytest

from tickwork.model.errors import Conflict, Unavailable
from tickwork.store.lock_schedule_rules import ConcurrentChange, retry_on_conflict


def busy(cause: Exception) -> Unavailable:
    error = Unavailable("the database is busy")
    error.__cause__ = cause
    return error


class Change:
    """Fails with each of the errors in turn, then is done."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)

    async def __call__(self) -> str:
        if self._errors:
            raise self._errors.pop(0)
        return "done"


async def test_a_change_that_conflicts_starts_again() -> None:
    deadlock = asyncpg.DeadlockDetectedError("deadlock detected")
    change = Change(ConcurrentChange(), deadlock, busy(deadlock), asyncpg.UniqueViolationError("twice"))
    assert await retry_on_conflict(change) == "done"


async def test_a_database_that_is_away_is_not_a_conflict() -> None:
    with pytest.raises(Unavailable):
        await retry_on_conflict(Change(busy(ConnectionResetError())))


async def test_a_change_that_conflicts_again_and_again_is_given_up() -> None:
    with pytest.raises(Conflict, match="try again"):
        await retry_on_conflict(Change(*(ConcurrentChange() for _ in range(1000))))
