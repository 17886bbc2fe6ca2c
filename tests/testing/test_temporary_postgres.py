"""PostgreSQL for a run of tests, and what is left of it."""

import subprocess
import sys
from pathlib import Path

import psutil

from support.waiting import eventually

START = """
import asyncio
from tickwork.testing import TemporaryPostgres

postgres = TemporaryPostgres()
asyncio.run(postgres.start())
print(postgres._folder.name, flush=True)
input()
"""


def killed_run() -> tuple[Path, psutil.Process]:
    """The folder and the server that it had."""
    with subprocess.Popen(
        [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        folder = Path(run.stdout.readline().strip())
        server = psutil.Process(int((folder / "postgres" / "postmaster.pid").read_text().split()[0]))
        run.kill()
    return folder, server


async def test_nothing_is_left_when_the_run_is_killed() -> None:
    folder, server = killed_run()
    await eventually(lambda: not folder.exists() and not server.is_running(), within=60, what="the clean-up")
