"""The tasks that the scenarios run. They record in ledgers what ran, and when."""

import asyncio
import os
import time
from pathlib import Path

from tickwork.bench.run_ledger import LEDGER_FOLDER, Ledger
from tickwork.model.public_ids import parse_job_id, to_micros
from tickwork.model.task_context import Context
from tickwork.sdk.app import App
from tickwork.trigger.jitter import share_of

URGENT = "urgent"  # the folder for the ledgers of urgent jobs
SPREAD = 1  # seconds over which the due times of bench.spread are spread

app = App()


class _LazyLedger:
    """A ledger that the first execution opens, because importing the tasks must do nothing."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._ledger: Ledger | None = None

    @property
    def ledger(self) -> Ledger:
        if self._ledger is None:
            self._ledger = Ledger.create(Path(os.environ[LEDGER_FOLDER], self._folder))
        return self._ledger


_all = _LazyLedger("")
_urgent = _LazyLedger(URGENT)


@app.task(name="bench.count")
async def count(n: int) -> None:
    _all.ledger.count(n)


@app.task(name="bench.stamp")
async def stamp(n: int, *, ctx: Context) -> None:
    """Counts, and records how late it began."""
    _record(_all.ledger, n, to_micros(ctx.scheduled_for))


@app.task(name="bench.urgent")
async def urgent(n: int, seconds: float = 0.0, *, ctx: Context) -> None:
    _record(_urgent.ledger, n, to_micros(ctx.scheduled_for))
    if seconds:
        await asyncio.sleep(seconds)


@app.task(name="bench.spread")
async def spread(n: int, *, ctx: Context) -> None:
    """For jobs with a jitter of a second: the jitter decides when they are due."""
    at = to_micros(ctx.scheduled_for)
    _record(_all.ledger, n, at + share_of(parse_job_id(ctx.job_id), at, SPREAD * 1_000_000))


@app.task(name="bench.linger", timeout="10m")
async def linger(n: int, seconds: float, *, ctx: Context) -> None:
    ledger = _all.ledger
    _record(ledger, n, to_micros(ctx.scheduled_for))
    await asyncio.sleep(seconds)
    ledger.record_end()


def _record(ledger: Ledger, number: int, due: int) -> None:
    """The database runs on this machine, so both use the same clock."""
    late = time.time_ns() // 1000 - due
    ledger.count(number)
    ledger.record_lateness(late)
