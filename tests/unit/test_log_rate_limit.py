"""Of many similar lines a few are logged, with the number of the rest."""

import asyncio

from tickwork.log_rate_limit import LogRateLimit

SOON = 0.01


async def test_lines_over_the_limit_are_counted_in_one_line() -> None:
    logged: asyncio.Queue[str] = asyncio.Queue()
    limit = LogRateLimit(logged.put_nowait, "attempt failed", per_kind=5, period=SOON)
    admitted = sum(limit.admits("ValueError") for _ in range(4_317))
    assert admitted == 5
    assert await logged.get() == "attempt failed: and 4,312 more like it in the last 0.01 s"
    assert limit.admits("ValueError")  # in the next period


async def test_one_kind_does_not_hide_another() -> None:
    limit = LogRateLimit(lambda _: None, "attempt failed", per_kind=2, total=3)
    assert [limit.admits("a") for _ in range(3)] == [True, True, False]
    assert limit.admits("b")
    assert not limit.admits("c")  # the total is limited over all kinds


async def test_logs_no_summary_if_no_line_was_left_out() -> None:
    logged: list[str] = []
    limit = LogRateLimit(logged.append, "attempt failed")
    assert limit.admits()
    limit.end_period()
    assert logged == []
