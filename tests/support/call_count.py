"""How much work something is, counted in calls of functions: the same on every machine, unlike seconds."""

import sys
from collections.abc import Callable
from typing import Any

MOST_CALLS = 300_000  # of one question about time: some tens of milliseconds


class TooMuch(BaseException):
    """Not to be caught by what is measured, which might never end."""


def calls(work: Callable[[], object], most: int = MOST_CALLS) -> int:
    """How many functions are called, those written in C included. Ends what calls too many."""
    count = 0

    def on_event(_: object, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        if count > most:
            raise TooMuch(f"more than {most} calls")

    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
