"""Code that will not stop, in a real worker process: what is said of it, and that the process is replaced."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.cluster import Program
from support.waiting import eventually
from tickwork.cli.server_command import listen, serving_http, url_of
from tickwork.client.async_client import AsyncClient
from tickwork.model.execution import ExecutionView
from tickwork.node import Node

TASKS = """
import asyncio
import os
import threading
import time
from pathlib import Path
from tickwork import App

app = App()

def wait_for(gate: str) -> None:
    while not Path(gate).exists():
        time.sleep(0.01)

@app.task(name="deaf")
def deaf() -> None:
    threading.Event().wait()

@app.task(name="stubborn")
async def stubborn() -> None:
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

@app.task(name="gated")
def gated(begun: str, gate: str) -> int:
    Path(begun).touch()
    wait_for(gate)
    return os.getpid()

@app.task(name="threads")
def threads() -> int:
    return sum(thread.name.startswith("tickwork task") for thread in threading.enumerate())
"""


CONNECTED = '"event": "connected"'
ONE_TRY = {"max_attempts": 1}


class Bench:
    def __init__(self, client: AsyncClient, worker: Program, folder: Path) -> None:
        self.client = client
        self.worker = worker
        self.folder = folder

    async def outcome(self, task: str, **job: Any) -> ExecutionView:
        created = await self.client.create_job(task=task, retry=ONE_TRY, **job)
        return await self.client.wait_for_job(created.id, timeout=30)

    async def begin_gated(self) -> str:
        """A task that runs until the gate opens."""
        begun = self.folder / "begun"
        payload = {"begun": str(begun), "gate": str(self.folder / "gate")}
        job = await self.client.create_job(task="gated", payload=payload, retry=ONE_TRY)
        await eventually(begun.exists, within=10, what="its beginning")
        return job.id

    async def until_replaced(self) -> None:
        await eventually(lambda: self.worker.log.count(CONNECTED) == 2, within=30, what="a fresh process")


@pytest.fixture
async def bench(node: Node, tmp_path: Path) -> AsyncIterator[Bench]:
    (tmp_path / "stuck_tasks.py").write_text(TASKS)
    with listen("127.0.0.1", 0) as listener:
        url = url_of(listener)
        worker = Program(
            "worker",
            ["worker", "stuck_tasks:app", "--slots", "4", "--server", url],
            says=CONNECTED,
            env={"TICKWORK_API_KEY": node.first_key or ""},
            folder=tmp_path,
        )
        async with serving_http(node, listener), AsyncClient(url, node.first_key) as client:
            await worker.start()
            yield Bench(client, worker, tmp_path)
            worker.clean_up()


@pytest.mark.parametrize("task", ["deaf", "stubborn"])
async def test_it_is_reported_at_its_timeout_and_its_process_is_replaced_by_a_fresh_one(bench, task):
    ended = await bench.outcome(task, timeout=0.2)
    assert (ended.status, ended.error.type) == ("failed", "Timeout")
    assert ended.error.message.endswith("its code was told to stop but still runs in the worker")
    await bench.until_replaced()
    assert bench.worker.exit_code is None
    assert (await bench.outcome("threads")).result == 1  # its own
    assert bench.worker.log.count("the worker's process is replaced") == 1


async def test_what_runs_beside_it_is_finished_first_and_what_comes_waits_for_the_fresh_one(bench):
    beside = await bench.begin_gated()
    await bench.outcome("deaf", timeout=0.2)
    await eventually(lambda: "process is replaced" in bench.worker.log, within=10, what="the notice")
    waiting = await bench.client.create_job(task="threads", retry=ONE_TRY)
    (bench.folder / "gate").touch()
    finished = await bench.client.wait_for_job(beside, timeout=30)
    assert (finished.status, finished.attempt) == ("completed", 1)
    assert (await bench.client.wait_for_job(waiting.id, timeout=30)).status == "completed"
    assert bench.worker.log.count(CONNECTED) == 2


async def test_a_worker_that_is_told_to_stop_leaves_it_behind(bench):
    await bench.begin_gated()
    await bench.outcome("stubborn", timeout=0.2)
    await eventually(lambda: "process is replaced" in bench.worker.log, within=10, what="the notice")
    await eventually(lambda: _asked_again(bench.worker), within=30, what="the end")
    assert bench.worker.exit_code == 0
    assert bench.worker.log.count(CONNECTED) == 1


def _asked_again(worker: Program) -> bool:
    if worker.exit_code is None:
        worker.send(signal.SIGTERM)
        return False
    return True
