"""A flood of the same leaves few lines, and none of it unsaid."""

import asyncio

from tickwork.log_rate_limit import LogRateLimit

SOON = 0.01


async def test_a_flood_is_summed_up_in_one_line() -> None:
    said: asyncio.Queue[str] = asyncio.Queue()
    limit = LogRateLimit(said.put_nowait, "attempt failed", per_kind=5, period=SOON)
    admitted = sum(limit.admits("ValueError") for _ in range(4_317))
    assert admitted == 5
    assert await said.get() == "attempt failed: and 4,312 more like it in the last 0.01 s"
    assert limit.admits("ValueError")  # in the next period


async def test_one_kind_does_not_hide_another() -> None:
    limit = LogRateLimit(lambda _: None, "attempt failed", per_kind=2, total=3)
    assert [limit.admits("a") for _ in range(3)] == [True, True, False]
    assert limit.admits("b")
    assert not limit.admits("c")  # however many kinds there are, they are few lines together


async def test_nothing_is_said_of_what_was_not_left_out() -> None:
    said: list[str] = []
    limit = LogRateLimit(said.append, "attempt failed")
    assert limit.admits()
    limit.end_period()
    assert said == []
