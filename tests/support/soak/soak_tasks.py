"""What the workers of a soak run: `tickwork worker support.soak.soak_tasks:app`.

A worker writes one line when an attempt begins and one when it is over, into a file of its own: event, job, due time,
attempt, process, time. Times are microseconds."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tickwork import App, Context
from tickwork.model.public_ids import parse_job_id, to_micros

LEDGER_FOLDER = "TICKWORK_SOAK_LEDGER"
BEGUN, ENDED, FAILED, STOPPED = "begun", "ended", "failed", "stopped"

app = App()


@app.task(name="soak.quick")
async def quick(*, ctx: Context) -> None:
    with _written_down(ctx):
        pass


@app.task(name="soak.slow")
async def slow(seconds: float, *, ctx: Context) -> None:
    with _written_down(ctx):
        await asyncio.sleep(seconds)


@app.task(name="soak.stumbling")
async def stumbling(*, ctx: Context) -> None:
    """Fails the first time."""
    with _written_down(ctx):
        if ctx.attempt == 1:
            raise RuntimeError("not yet")


@contextmanager
def _written_down(ctx: Context) -> Iterator[None]:
    _write(BEGUN, ctx)
    try:
        yield
    except Exception:
        _write(FAILED, ctx)
        raise
    except BaseException:
        _write(STOPPED, ctx)
        raise
    _write(ENDED, ctx)


def _write(event: str, ctx: Context) -> None:
    """With one write: whoever is killed leaves whole lines."""
    at = time.time_ns() // 1000
    line = f"{event},{parse_job_id(ctx.job_id)},{to_micros(ctx.scheduled_for)},{ctx.attempt},{os.getpid()},{at}\n"
    os.write(_ledger(), line.encode())


@cache
def _ledger() -> int:
    """Opened by the first attempt, because importing the tasks must do nothing."""
    file = Path(os.environ[LEDGER_FOLDER], f"{time.time_ns()}-{os.getpid()}.csv")
    return os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
