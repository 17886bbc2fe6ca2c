"""Answers that take a while: nobody goes on working for a client that is gone."""

import asyncio
from collections.abc import Awaitable

from starlette.types import Receive

from tickwork.api.body import Gone
from tickwork.api.reply import Reply
from tickwork.api.stream import gone


async def unless_gone(receive: Receive, answer: Awaitable[Reply]) -> Reply:
    answering, leaving = asyncio.ensure_future(answer), asyncio.ensure_future(gone(receive))
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise Gone
        return answering.result()
    finally:
        answering.cancel()
        leaving.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)
