"""Waiting for something that other processes do."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from time import monotonic, sleep
from typing import Any, TypeVar, overload

import pytest

Found = TypeVar("Found")

_PAUSE = 0.02


@overload
async def eventually(look: Callable[[], Awaitable[Found]], *, within: float, what: str = ...) -> Found: ...
@overload
async def eventually(look: Callable[[], Found], *, within: float, what: str = ...) -> Found: ...
async def eventually(look: Callable[[], Any], *, within: float, what: str = "it") -> Any:
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


def eventually_without_loop(look: Callable[[], Found], *, within: float = 60, what: str = "it") -> Found:
    """The same for tests that drive a browser, and so are no coroutines."""
    deadline = monotonic() + within
    while not (found := look()):
        if monotonic() > deadline:
            pytest.fail(f"{what} did not happen within {within:g} seconds; the last answer was {found!r}")
        sleep(_PAUSE)
    return found
