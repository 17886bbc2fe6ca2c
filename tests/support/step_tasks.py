"""A task of five steps that can be killed at every point between them: `tickwork worker support.step_tasks:app`.

What happens to each step is written down beside Tickwork, one JSON line for each: that its effect has happened (`ran`),
that the task has its result (`returned`), and that the process is about to be killed (`dying`).
"""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Literal
from uuid import uuid4

import msgspec

from support.attempt_ledger import LEDGER_VARIABLE
from tickwork import App, Context

STEPS = 5
POINTS = range(STEPS * 4 + 1)  # before each step, in it before and after its effect, after it, and at the end
NEVER = -1

app = App()


class StepLine(msgspec.Struct, frozen=True):
    event: Literal["ran", "returned", "dying"]
    execution: str
    attempt: int
    step: int
    token: str = ""  # the result of the step: another one each time that it runs


class Walk:
    """One attempt on its way through the steps, which dies when it comes to a point. `deaths`: a point for each time
    that the execution is to die, in the order in which it comes to them."""

    def __init__(self, ctx: Context, deaths: list[int]) -> None:
        self.ctx = ctx
        died = sum(
            line.event == "dying" and line.execution == ctx.execution_id
            for line in lines(Path(os.environ[LEDGER_VARIABLE]))
        )
        self._death = deaths[died] if died < len(deaths) else NEVER

    def pass_by(self, point: int) -> None:
        if point == self._death:
            self._write("dying", min(point // 4, STEPS - 1))
            os.kill(os.getpid(), signal.SIGKILL)

    def effect(self, step: int) -> str:
        self.pass_by(4 * step + 1)
        token = uuid4().hex
        self._write("ran", step, token)
        self.pass_by(4 * step + 2)
        return token

    async def async_effect(self, step: int) -> str:
        await asyncio.sleep(0)
        return self.effect(step)

    def returned(self, step: int, token: str) -> None:
        self._write("returned", step, token)
        self.pass_by(4 * step + 3)

    def _write(self, event: Literal["ran", "returned", "dying"], step: int, token: str = "") -> None:
        """With one write to a file opened for appending, so that lines of many processes never mix."""
        line = StepLine(event, self.ctx.execution_id, self.ctx.attempt, step, token)
        file = os.open(os.environ[LEDGER_VARIABLE], os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, msgspec.json.encode(line) + b"\n")
        finally:
            os.close(file)


def _walk_blocking(ctx: Context, deaths: list[int], pause: float) -> list[str]:
    walk = Walk(ctx, deaths)
    tokens = []
    for step in range(STEPS):
        walk.pass_by(4 * step)
        tokens.append(ctx.step(f"step {step}", walk.effect, step))
        walk.returned(step, tokens[-1])
        ctx.checkpoint({"steps": step + 1})
        Event().wait(pause)
    walk.pass_by(POINTS[-1])
    return tokens


@app.task(name="on_worker")
async def on_worker(deaths: list[int], *, ctx: Context) -> list[str]:
    """Takes its worker with it."""
    walk = Walk(ctx, deaths)
    tokens = []
    for step in range(STEPS):
        walk.pass_by(4 * step)
        tokens.append(await ctx.step(f"step {step}", walk.async_effect, step))
        walk.returned(step, tokens[-1])
        await ctx.checkpoint({"steps": step + 1})
    walk.pass_by(POINTS[-1])
    return tokens


@app.task(name="in_child", process=True)
def in_child(deaths: list[int], *, ctx: Context) -> list[str]:
    """Takes its child process with it, and nothing else."""
    return _walk_blocking(ctx, deaths, 0)


@app.task(name="slowly")
def slowly(pause: float, *, ctx: Context) -> list[str]:
    """In a thread, while servers come and go."""
    return _walk_blocking(ctx, [], pause)


def lines(file: Path) -> Iterator[StepLine]:
    whole = file.read_bytes().rpartition(b"\n")[0]
    return (msgspec.json.decode(line, type=StepLine) for line in whole.splitlines())
