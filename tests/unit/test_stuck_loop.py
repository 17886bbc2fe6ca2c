"""A step that does not return is a problem of its loop, and of no other."""

import asyncio

from support.metric_samples import sample
from support.waiting import eventually
from tickwork.loop import Loops


async def test_a_loop_that_is_stuck_in_a_step_is_named_until_the_step_returns():
    released, begun = asyncio.Event(), asyncio.Event()

    async def wait_for_release() -> bool:
        begun.set()
        await released.wait()
        return False

    async def do_nothing() -> bool:
        return False

    loops = Loops()
    loops.add("fire", wait_for_release, every=60, stuck_after=0)
    loops.add("claim", do_nothing, every=60, stuck_after=0)
    loops.start()
    await begun.wait()
    ((name, problem),) = loops.problems()
    assert name == "fire"
    assert problem == "has been in one step for 0 seconds"
    assert sample("tickwork_loop_step_age_seconds", loop="fire") > 0
    assert sample("tickwork_loop_step_age_seconds", loop="claim") == 0
    released.set()
    await eventually(lambda: not list(loops.problems()), within=5)
    await loops.stop()


async def test_a_step_that_takes_long_is_no_problem_before_the_bound_of_its_loop():
    released, begun = asyncio.Event(), asyncio.Event()

    async def wait_for_release() -> bool:
        begun.set()
        await released.wait()
        return False

    loops = Loops()
    loops.add("maintain partitions", wait_for_release, every=60, stuck_after=600)
    loops.start()
    await begun.wait()
    assert list(loops.problems()) == []
    released.set()
    await loops.stop()
