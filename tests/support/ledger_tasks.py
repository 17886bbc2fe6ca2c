"""What the workers of the fault tests run: `tickwork worker support.ledger_tasks:app`."""

import asyncio
import os
import time
from pathlib import Path

from support.ledger import written_down
from tickwork import App, Context

app = App()


@app.task(name="quick")
async def quick(*, ctx: Context) -> int:
    with written_down("quick", ctx):
        return os.getpid()


@app.task(name="slow")
async def slow(seconds: float, *, ctx: Context) -> int:
    with written_down("slow", ctx):
        await asyncio.sleep(seconds)
    return os.getpid()


@app.task(name="threaded")
def threaded(seconds: float, *, ctx: Context) -> int:
    with written_down("threaded", ctx):
        time.sleep(seconds)
    return os.getpid()


@app.task(name="gated")
async def gated(gate: str, *, ctx: Context) -> int:
    """Ends when the test makes the file."""
    with written_down("gated", ctx):
        while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240 (the test is another process)
            await asyncio.sleep(0.02)
    return os.getpid()


@app.task(name="stumbling")
async def stumbling(gate: str, *, ctx: Context) -> int:
    """Fails the first time; after that as gated."""
    if ctx.attempt == 1:
        raise RuntimeError("not yet")
    return await gated(gate, ctx=ctx)


@app.task(name="gated_thread")
def gated_thread(gate: str, *, ctx: Context) -> int:
    """Likewise, and nothing can stop it before that."""
    with written_down("gated_thread", ctx):
        while not Path(gate).exists():
            time.sleep(0.02)
    return os.getpid()
