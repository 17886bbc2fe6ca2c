"""Commands as an operator runs them: a worker without Python, and what is left when it is killed."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from support.cluster import KEY, Program
from support.command_bench import is_gone
from support.waiting import eventually
from tickwork.cli.server_command import listen, serving_http, url_of
from tickwork.client.async_client import AsyncClient
from tickwork.execute.runners.contained.worker_cgroup import open_own_cgroup
from tickwork.model.execution import ExecutionStatus
from tickwork.node import Node

SOON = 60.0
CONNECTED = '"event": "connected"'


class Bench:
    def __init__(self, url: str, key: str, client: AsyncClient, folder: Path) -> None:
        self.url = url
        self.key = key
        self.client = client
        self.folder = folder
        self.worker = self.program("worker")

    def program(self, name: str) -> Program:
        return Program(
            name,
            ["worker", "--allow-command", "job-*", "--server", self.url, "--name", name],
            says=CONNECTED,
            env={
                "TICKWORK_API_KEY": self.key,
                "TICKWORK_LOG_FORMAT": "json",
                "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
            },
            folder=self.folder,
        )

    def script(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def pids(self, name: str) -> list[int]:
        path = self.folder / name
        return [int(word) for word in path.read_text().split()] if path.exists() else []

    async def tickwork(self, *words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tickwork.cli", *words),
            env={**os.environ, "TICKWORK_URL": self.url, "TICKWORK_API_KEY": self.key},
            cwd=self.folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return output.decode()


@pytest.fixture
async def bench(node: Node, tmp_path: Path) -> AsyncIterator[Bench]:
    key = node.first_key or KEY
    with listen("127.0.0.1", 0) as listener:
        async with serving_http(node, listener, 100), AsyncClient(url_of(listener), key) as client:
            bench = Bench(url_of(listener), key, client, tmp_path)
            yield bench
            bench.worker.clean_up()


async def test_the_command_line_creates_runs_and_shows_a_command(bench: Bench) -> None:
    bench.script("job-backup", 'echo "backing up $1 to $BUCKET"')
    await bench.worker.start()
    assert "job-*" in bench.worker.log
    made = await bench.tickwork(
        *("job", "create", "-o", "json", "--env", "BUCKET=b1", "--command", "--", "job-backup", "--full")
    )
    job = json.loads(made)
    ended = await bench.client.wait_for_job(job["id"], timeout=SOON)
    assert (ended.status, ended.result) == (ExecutionStatus.COMPLETED, {"exit_code": 0})
    assert "backing up --full to b1" in await bench.tickwork("execution", "logs", ended.id)
    assert "of CPU time and" in await bench.tickwork("execution", "get", ended.id)
    assert "job-backup --full" in await bench.tickwork("job", "get", job["id"])
    assert "job-*" in await bench.tickwork("worker", "list")


async def test_a_worker_that_is_killed_leaves_nothing_running(bench: Bench) -> None:
    """Neither the command, nor what it has moved to another session, nor the supervisor, however deaf."""
    bench.script(
        "job-long",
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >>pids; while :; do sleep 1; done' &\n"
        "echo $$ >>pids; echo $PPID >>pids; while :; do sleep 1; done",
    )
    await bench.worker.start()
    await bench.client.create_job(
        command=["job-long"], cwd=str(bench.folder), retry={"max_attempts": 1}, on_worker_lost="fail"
    )
    pids = await eventually(lambda: pids if len(pids := bench.pids("pids")) == 3 else None, within=SOON)
    bench.worker.kill()
    await eventually(lambda: all(map(is_gone, pids)), within=SOON, what="the end of all")


async def test_a_worker_that_is_stopped_at_once_leaves_nothing_running(bench: Bench) -> None:
    bench.script("job-long", "trap '' TERM; echo $$ >>pids; while :; do sleep 1; done")
    await bench.worker.start()
    await bench.client.create_job(command=["job-long"], cwd=str(bench.folder), retry={"max_attempts": 1})
    pids = await eventually(lambda: bench.pids("pids"), within=SOON)
    bench.worker.send(signal.SIGTERM)
    await eventually(lambda: "worker drains" in bench.worker.log, within=SOON)
    bench.worker.send(signal.SIGTERM)
    await bench.worker.ended()
    await eventually(lambda: all(map(is_gone, pids)), within=SOON, what="the end of all")


async def test_a_drained_worker_finishes_its_command(bench: Bench) -> None:
    bench.script("job-slow", "echo $$ >pids; until [ -e go ]; do sleep 0.1; done")
    await bench.worker.start()
    job = await bench.client.create_job(command=["job-slow"], cwd=str(bench.folder))
    await eventually(lambda: bench.pids("pids"), within=SOON)
    bench.worker.send(signal.SIGTERM)
    await eventually(lambda: "worker drains" in bench.worker.log, within=SOON)
    (bench.folder / "go").touch()
    assert (await bench.client.wait_for_job(job.id, timeout=SOON)).status is ExecutionStatus.COMPLETED
    assert await bench.worker.ended() == 0


async def test_what_a_killed_worker_and_supervisor_left_in_a_cgroup_ends_at_the_next_start(
    bench: Bench,
) -> None:
    if open_own_cgroup() is None:
        pytest.skip("this machine lets nobody make cgroups here")
    bench.script(
        "job-lost", "setsid sh -c 'echo $$ >>pids; while :; do sleep 1; done' & echo $PPID >>parent; wait"
    )
    await bench.worker.start()
    await bench.client.create_job(command=["job-lost"], cwd=str(bench.folder), retry={"max_attempts": 1})
    pids = await eventually(lambda: bench.pids("pids"), within=SOON)
    (supervisor,) = await eventually(lambda: bench.pids("parent"), within=SOON)
    psutil.Process(bench.worker.pid).suspend()
    os.kill(supervisor, signal.SIGKILL)
    bench.worker.kill()
    assert not is_gone(pids[0])
    again = bench.program("again")
    try:
        await again.start()
        await eventually(lambda: is_gone(pids[0]), within=SOON, what="the end of what was left")
    finally:
        again.clean_up()
