"""A loop that waits for work takes no step while there is none, and one at once when it is woken."""

import asyncio

from support.waiting import eventually
from tickwork.loop import Loops


class _Work:
    """What the look for work finds, and how often each loop has stepped."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.looks = 0
        self.steps = 0

    async def look(self) -> set[str]:
        self.looks += 1
        if "away" in self.found:
            raise OSError("the database is away")
        return self.found

    async def step(self) -> bool:
        self.steps += 1
        return False

    async def two_looks(self) -> None:
        before = self.looks
        await eventually(lambda: self.looks >= before + 2, within=10)


async def _loops(work: _Work) -> Loops:
    loops = Loops()
    loops.look_for_work_in(work.look)
    loops.add("backfill", work.step, every=0.01, only_with_work=True)
    await loops.step("look for work")
    loops.start()
    return loops


async def test_a_loop_without_work_takes_no_step_until_there_is_some():
    work = _Work()
    loops = await _loops(work)
    await work.two_looks()
    assert work.steps == 0
    assert loops.success_age("backfill") < 5
    work.found = {"backfill"}
    await eventually(lambda: work.steps > 1, within=10)
    await loops.stop()


async def test_a_loop_without_work_takes_a_step_when_it_is_woken():
    work = _Work()
    loops = await _loops(work)
    loops.wake("backfill")
    await eventually(lambda: work.steps == 1, within=10)
    await loops.stop()


async def test_loops_ask_by_themselves_while_the_look_for_work_fails():
    work = _Work()
    loops = await _loops(work)
    work.found = {"away"}
    await eventually(lambda: work.steps > 0, within=10)
    await loops.stop()


async def test_a_step_that_says_that_there_is_more_is_repeated_at_once():
    work, steps = _Work(), 0
    done = asyncio.Event()

    async def step() -> bool:
        nonlocal steps
        steps += 1
        if steps == 3:
            done.set()
        return steps < 3

    loops = Loops()
    loops.look_for_work_in(work.look)
    loops.add("notify", step, every=60, only_with_work=True)
    await loops.step("look for work")
    loops.start()
    loops.wake("notify")
    async with asyncio.timeout(10):
        await done.wait()
    await loops.stop()
    assert steps == 3
