"""What the workers of the fault tests run: `tickwork worker support.ledger_tasks:app`."""

import asyncio
import os
import signal
import time
from pathlib import Path
from threading import Event

from support.attempt_ledger import written_down
from support.kept_steps import write_step
from tickwork import App, Cancel, Context, NoRetry, Snooze

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
        Event().wait(seconds)  # unlike sleep, it works under a faked clock
    return os.getpid()


@app.task(name="in_process", process=True)
def in_process(seconds: float, *, ctx: Context) -> int:
    with written_down("in_process", ctx):
        Event().wait(seconds)
    return os.getpid()


@app.task(name="failing")
async def failing(times: int, *, ctx: Context) -> int:
    """Fails that often, as far as its number of attempts tells."""
    with written_down("failing", ctx):
        if ctx.attempt <= times:
            raise RuntimeError("not yet")
    return os.getpid()


@app.task(name="hopeless")
async def hopeless(*, ctx: Context) -> None:
    with written_down("hopeless", ctx):
        raise NoRetry("of no use")


@app.task(name="snoozing")
async def snoozing(times: int, *, ctx: Context) -> int:
    with written_down("snoozing", ctx):
        if ctx.attempt <= times:
            raise Snooze("1s")
    return os.getpid()


@app.task(name="stepping")
async def stepping(steps: int, *, ctx: Context) -> int:
    """With a log line, the progress and a checkpoint for each step."""
    with written_down("stepping", ctx):
        for step in range(steps):
            ctx.log.info("step %d", step)
            ctx.progress(step / steps, f"step {step}")
            await ctx.step(f"step {step}", asyncio.to_thread, os.getpid)
    return os.getpid()


@app.task(name="graph step")
async def graph_step(
    script: str, retries: int, n: int, seconds: float = 0.0, element: int | None = None, *, ctx: Context
) -> dict[str, object]:
    """Does what the node of a graph is to do, after it has failed so often. The element of a list changes nothing."""
    with written_down("graph step", ctx):
        await asyncio.sleep(seconds)
        if ctx.attempt <= retries:
            raise RuntimeError("not yet")
        if script == "fails":
            raise NoRetry("of no use")
        if script == "is cancelled":
            raise Cancel("enough")
    return {"n": n, "list": [*range(n)]}


@app.task(name="storing_steps")
async def storing_steps(steps: int, seconds: float, *, ctx: Context) -> int:
    """Keeps what it has done."""

    async def step(name: str) -> int:
        write_step("ran", name, ctx)
        await asyncio.sleep(seconds)
        return ctx.attempt

    with written_down("storing_steps", ctx):
        for number in range(steps):
            await ctx.step(f"step {number}", step, f"step {number}")
            write_step("stored", f"step {number}", ctx)
    return os.getpid()


@app.task(name="dying", process=True)
def dying(times: int, *, ctx: Context) -> int:
    """Takes its child process with it, and nothing else."""
    with written_down("dying", ctx):
        if ctx.attempt <= times:
            os._exit(1)
    return os.getpid()


@app.task(name="poison")
async def poison(*, ctx: Context) -> None:
    """Takes its worker with it."""
    with written_down("poison", ctx):
        os.kill(os.getpid(), signal.SIGKILL)


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
