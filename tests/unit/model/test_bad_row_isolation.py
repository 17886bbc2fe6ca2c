"""One that fails keeps no other from being done; many that fail are no accident of theirs."""

from collections.abc import Sequence
from unittest.mock import Mock

import pytest

from tickwork import loop as service
from tickwork.loop import LoopCondition, Outage
from tickwork.model.bad_row_isolation import BadRowIsolation, is_row_error
from tickwork.model.errors import Unavailable


class Desk:
    """Does numbers, but none of the bad ones."""

    def __init__(self, *bad: int, error: type[Exception] = ValueError) -> None:
        self.bad = bad
        self.error = error
        self.done: list[int] = []
        self.aside: list[int] = []
        self.tries = 0

    async def do(self, items: Sequence[int]) -> None:
        self.tries += 1
        if set(items) & set(self.bad):
            raise self.error("bad")
        self.done += items

    async def do_one(self, item: int) -> None:
        await self.do([item])

    async def put_aside(self, item: int, _: Exception) -> None:
        self.aside.append(item)


async def test_what_goes_well_is_done_at_once() -> None:
    desk = Desk()
    await BadRowIsolation("test").run_batch(range(1000), desk.do, desk.put_aside)
    assert (desk.tries, len(desk.done), desk.aside) == (1, 1000, [])


async def test_the_bad_ones_are_found_in_halves_and_all_others_are_done() -> None:
    desk = Desk(3, 700)
    await BadRowIsolation("test").run_batch(range(1000), desk.do, desk.put_aside)
    assert (sorted({*desk.done, *desk.aside}), desk.aside) == ([*range(1000)], [3, 700])
    assert desk.tries < 50


async def test_a_database_that_is_away_or_broken_is_nobodys_fault() -> None:
    desk = Desk(3, error=Unavailable)
    with pytest.raises(Unavailable):
        await BadRowIsolation("test").run_batch(range(10), desk.do, desk.put_aside)
    assert desk.aside == []
    missing_table, bad_data = RuntimeError(), RuntimeError()
    missing_table.sqlstate, bad_data.sqlstate = "42P01", "22P02"  # type: ignore[attr-defined]
    assert [is_row_error(error) for error in (missing_table, bad_data)] == [False, True]


async def test_when_many_fail_no_more_are_set_aside_until_later() -> None:
    now = 0.0
    desk = Desk(*range(30))
    isolation = BadRowIsolation("test", lambda: now)
    with pytest.raises(ValueError, match="bad"):
        await isolation.run_each(range(31), desk.do_one, desk.put_aside)
    assert (desk.aside, desk.done) == ([*range(20)], [30])
    now = 61.0
    await isolation.run_each(range(20, 31), desk.do_one, desk.put_aside)
    assert desk.aside == [*range(30)]


async def test_a_loop_is_in_trouble_from_the_third_failure_on_until_one_step_goes_well() -> None:
    condition = LoopCondition("test", Outage())
    for _ in range(2):
        condition.failed(ValueError("the password is hunter2"))
        assert condition.problem() is None
    condition.failed(ValueError("the password is hunter2"))
    assert condition.problem() == "failed 3 times in a row, last with ValueError"
    condition.succeeded()
    assert condition.problem() is None


def test_a_database_that_was_away_for_a_moment_is_no_trouble_of_the_loop() -> None:
    condition = LoopCondition("test", Outage())
    for _ in range(10):
        condition.failed(Unavailable("away"))
    assert condition.problem() is None


async def test_what_fails_again_and_again_is_logged_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Mock()
    monkeypatch.setattr(service, "_log", log)
    condition = LoopCondition("test", Outage())
    for _ in range(100):
        condition.failed(ValueError("again"))
    assert [call.args for call in log.error.call_args_list] == [("step failed",)]
