"""`tickwork up` with a worker and the built dashboard, for tests in a browser."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from support.ready_cluster import copy_ready_cluster
from tickwork.api.dashboard_pages import HOW_TO_BUILD, is_built

TASKS = '''
import asyncio
from pathlib import Path
from typing import Literal

from tickwork import App, Context, NoRetry

app = App()


@app.task(name="greet")
def greet(name: str, times: int = 1, loud: bool = False, options: dict | None = None) -> str:
    """Says hello to somebody."""
    return " ".join([f"Hello {name}!"] * times)


@app.task(name="count")
async def count(steps: int = 200, pause: float = 0.1, *, ctx: Context) -> int:
    """Counts, with a log line and the progress at each step."""
    for step in range(steps):
        ctx.log.info("step %d of %d", step, steps)
        ctx.progress(step / steps, f"step {step}")
        await asyncio.sleep(pause)
    return steps


@app.task(name="work")
def work(step: str = "") -> str:
    """One step of a workflow."""
    return step


@app.task(name="need_file")
def need_file(path: str) -> str:
    """Fails for good while a file is missing."""
    if not Path(path).exists():
        raise NoRetry(f"{path} is missing")
    return "found"


@app.task(name="fail")
def fail(message: str = "it broke") -> None:
    """Fails for good."""
    raise NoRetry(message)
'''


class DashboardServer(NamedTuple):
    url: str
    key: str
    folder: Path


@contextmanager
def dashboard_server(folder: Path, what: str = "tasks:app") -> Iterator[DashboardServer]:
    """Runs the tasks above, or `--demo`, and the command `echo`, until the block ends. Its files are in the folder."""
    if not is_built():
        raise RuntimeError(HOW_TO_BUILD)
    (folder / "tasks.py").write_text(TASKS)
    copy_ready_cluster(folder / "data")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TICKWORK_")}
    options = ["--port", "0", "--data-dir", "data", "--allow-command", "echo"]
    command = [sys.executable, "-m", "tickwork.cli", "up", what, *options]
    with (folder / "up.log").open("w+") as log:
        up = subprocess.Popen(
            command, cwd=folder, env=clean, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert up.stderr
        url = ""
        for line in up.stderr:
            log.write(line)
            url = line.split()[1].removesuffix("/v1") if line.startswith("  API ") else url
            if line.startswith("  worker "):
                break
        drain = subprocess.Popen(["cat"], stdin=up.stderr, stdout=log)
        try:
            yield DashboardServer(url, (folder / "data" / "admin.key").read_text().strip(), folder)
        finally:
            up.terminate()
            up.wait()
            drain.wait()
            up.stderr.close()
