"""Attempts that wait for their due time."""

from types import SimpleNamespace
from typing import Any

import pytest

from support.worker_clock import WorkerClock
from tickwork.execute.clock import DatabaseClock
from tickwork.execute.start_attempts_when_due import DueTimer


@pytest.fixture
def started() -> list[str]:
    return []


@pytest.fixture
def due_timer(time: WorkerClock, started: list[str]) -> DueTimer:
    return DueTimer(DatabaseClock(time), lambda due: started.extend(str(each) for each in due))


class _Attempt(SimpleNamespace):
    def __str__(self) -> str:
        return str(self.name)


def _attempt(name: str, at: int) -> Any:
    return _Attempt(name=name, run=SimpleNamespace(not_before=at))


async def test_no_attempt_starts_before_its_due_time(
    due_timer: DueTimer, time: WorkerClock, started: list[str]
) -> None:
    due_timer.put(_attempt("later", 2_000_000))
    due_timer.put(_attempt("sooner", 1_000_000))
    due_timer.start_due()
    assert started == []
    time.now = 1.0
    due_timer.start_due()
    assert started == ["sooner"]
    time.now = 2.0
    due_timer.start_due()
    assert started == ["sooner", "later"]


async def test_attempts_start_by_due_time_and_then_in_order_of_arrival(
    due_timer: DueTimer, time: WorkerClock, started: list[str]
) -> None:
    for name, at in [("c", 2), ("a", 1), ("d", 2), ("b", 1), ("e", 2)]:
        due_timer.put(_attempt(name, at))
    time.now = 1.0
    due_timer.start_due()
    assert started == ["a", "b", "c", "d", "e"]


async def test_clear_removes_all_attempts(due_timer: DueTimer, time: WorkerClock, started: list[str]) -> None:
    due_timer.put(_attempt("a", 1))
    due_timer.clear()
    due_timer.put(_attempt("b", 1))
    time.now = 1.0
    due_timer.start_due()
    assert started == ["b"]
