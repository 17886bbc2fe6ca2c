"""Waiting for something that other processes do."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

import pytest

Found = TypeVar("Found")

_PAUSE = 0.02


async def eventually(
    look: Callable[[], Found | Awaitable[Found]], *, within: float, what: str = "it"
) -> Found:
    """The first answer that is true of looking again and again."""
    deadline = monotonic() + within
    while True:
        answer = look()
        found = await answer if inspect.isawaitable(answer) else answer
        if found:
            return found
        if monotonic() > deadline:
            pytest.fail(f"{what} did not happen within {within:g} seconds; the last answer was {found!r}")
        await asyncio.sleep(_PAUSE)
