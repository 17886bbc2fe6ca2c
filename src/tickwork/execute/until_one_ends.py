"""Runs several duties of a worker at once, until one of them ends or fails; then none goes on."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def until_one_ends(*duties: Coroutine[Any, Any, None]) -> None:
    tasks = [asyncio.create_task(duty) for duty in duties]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
