"""`make soak`: a steady load for hours, a kill every 15 seconds, and at the end the count of what was lost or doubled.

TICKWORK_SOAK_MINUTES (120) and TICKWORK_SOAK_RATE (1000 executions a second) change it; all goes to build/soak.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import asyncpg

from support.docs_page import ROOT
from support.execution_history import unfinished
from support.soak.soak_check import check, prepare
from support.soak.soak_installation import SoakInstallation
from support.soak.soak_load import SoakLoad
from support.soak.soak_report import publish
from support.soak.soak_watch import Minute, SoakWatch

_KILL_EVERY = 15.0  # seconds
_SAMPLE_EVERY = 5.0
_CREATED_PER_SECOND = 300  # jobs, on a busy machine
_QUIET_WITHIN = 600.0
_FOLDER = ROOT / "build" / "soak"


def _say(words: str) -> None:
    sys.stdout.write(f"{datetime.now(UTC):%H:%M:%S}  {words}\n")
    sys.stdout.flush()


async def soak(rate: int, minutes: float, folder: Path) -> list[str]:
    installation = SoakInstallation(folder / "data")
    await installation.start()
    try:
        load = await _begin(installation, rate, minutes)
        watch = SoakWatch(installation, folder / "minutes.csv")
        await _run(installation, watch, load)
        _say("the load has ended: waiting for the rest")
        await _until_quiet(installation)
        await watch.end_minute()
        await installation.stop()
        _say("holding the ledgers against the tables")
        checked = await _checked(installation, load)
        return publish(folder, load, watch.minutes, watch.pauses(), checked)
    finally:
        await installation.stop()
        await installation.stop_postgres()


async def _begin(installation: SoakInstallation, rate: int, minutes: float) -> SoakLoad:
    lead = timedelta(seconds=5 + rate * 10 / _CREATED_PER_SECOND)
    load = SoakLoad((datetime.now(UTC) + lead).replace(microsecond=0), rate, minutes)
    _say(f"creating {load.jobs:,} jobs, due {load.executions:,} times")
    async with installation.client as client:
        await client.create_jobs(load.requests)
    if datetime.now(UTC) > load.begin:
        raise RuntimeError("creating the jobs took longer than expected: the first ones were already due")
    await asyncio.sleep((load.begin - datetime.now(UTC)).total_seconds())
    return load


async def _run(installation: SoakInstallation, watch: SoakWatch, load: SoakLoad) -> None:
    async def end_minute() -> None:
        _say(_told(await watch.end_minute(), load))

    async def sample() -> None:
        watch.sample()

    async def kill() -> None:
        await installation.kill_next()

    with suppress(TimeoutError):
        async with (
            asyncio.timeout((load.end - datetime.now(UTC)).total_seconds()),
            asyncio.TaskGroup() as loops,
        ):
            loops.create_task(_every(_KILL_EVERY, kill, shift=_KILL_EVERY / 2))
            loops.create_task(_every(_SAMPLE_EVERY, sample))
            loops.create_task(_every(60.0, end_minute))
    await installation.postgres.resume()  # the time may have ended between a kill and the start


async def _every(seconds: float, step: Callable[[], Awaitable[Any]], shift: float = 0.0) -> None:
    """The first time after so many seconds less the shift."""
    begun, number = monotonic() - shift, 0
    while True:
        number += 1
        await asyncio.sleep(max(begun + number * seconds - monotonic(), 0))
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):  # PostgreSQL is away just now
            await step()


async def _until_quiet(installation: SoakInstallation) -> None:
    deadline = monotonic() + _QUIET_WITHIN
    async with installation.admin() as admin:
        while left := await unfinished(admin):
            if monotonic() > deadline:
                _say(f"{left:,} executions did not end within {_QUIET_WITHIN:g} seconds")
                return
            await asyncio.sleep(0.5)


async def _checked(installation: SoakInstallation, load: SoakLoad) -> dict[str, Any]:
    async with installation.admin() as admin:
        await prepare(admin, load, installation.ledger_folder, installation.kills)
        violations, figures = await check(admin)
    return {"violations": violations, "surprises": installation.surprises, **figures}


def _told(minute: Minute, load: SoakLoad) -> str:
    return (
        f"minute {minute.minute} of {load.minutes:g}: {minute.completed:,} completed, {minute.kills} kills, late p50 "
        f"{minute.late_p50:.0f} ms, p99 {minute.late_p99:.0f} ms, max {minute.late_max:.0f} ms; memory: server "
        f"{minute.server:.0f}, worker {minute.worker:.0f}, postgres {minute.postgres:.0f}, harness "
        f"{minute.harness:.0f} MB; tables {minute.tables:.0f}, history {minute.history:.0f} MB"
    )


def main() -> None:
    rate = int(os.environ.get("TICKWORK_SOAK_RATE") or 1000)
    minutes = float(os.environ.get("TICKWORK_SOAK_MINUTES") or 120)
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _FOLDER.mkdir(parents=True)
    findings = asyncio.run(soak(rate, minutes, _FOLDER))
    _say((_FOLDER / "soak.md").read_text())
    _say((_FOLDER / "figures.json").read_text())
    shutil.rmtree(_FOLDER / "data", ignore_errors=not findings)
    sys.exit("\n".join(findings) or 0)


if __name__ == "__main__":
    main()
