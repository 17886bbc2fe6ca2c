"""The example of a REST worker: POSIX sh and curl, against real servers."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

from support.cluster import KEY, Cluster, Program
from support.waiting import eventually
from tickwork.client.async_client import AsyncClient
from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.model.public_ids import parse_worker_id
from tickwork.model.worker import WorkerView

WORKER = Path(__file__).parents[2] / "examples" / "shell-worker" / "worker.sh"
SOON = 30.0
TASKS = {
    "echo": "cat",
    "say": r"""printf 'one "quoted" \\ \t tab\nline two \303\251 \377 \001'""",
    "list": "echo '[1, {\"a\": null}]'",
    "half": "printf '{\"a\": '",
    "broken": "echo 'it \"broke\"' >&2; exit 3",
    "about": 'printf "%s %s" "$TICKWORK_EXECUTION_ID" "$TICKWORK_ATTEMPT"',
    "patient": """
        echo "$$" >>"$FOLDER/begun"
        until [ -e "$FOLDER/go" ]; do sleep 0.1; done
        echo done all the same""",
    "deaf": """
        trap '' TERM
        echo "$$" >>"$FOLDER/begun"
        until [ -e "$FOLDER/go" ]; do sleep 0.1; done""",
}

Start = Callable[..., "ShellWorker"]


class ShellWorker:
    def __init__(self, url: str, folder: Path, **env: str) -> None:
        self._log = folder / "shell.log"
        settings = {
            "TICKWORK_URL": url,
            "TICKWORK_API_KEY": KEY,
            "FOLDER": str(folder),
            "NAME": "shell",
            **env,
        }
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                ["sh", str(WORKER), str(folder / "tasks")],
                env={"PATH": os.environ["PATH"], "TMPDIR": str(folder), **settings},
                cwd=folder,
                stderr=log,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def clean_up(self) -> None:
        family = (
            psutil.Process(self.process.pid).children(recursive=True) if self.process.poll() is None else []
        )
        self.process.kill()
        self.process.wait()
        for process in family:
            if process.is_running():
                process.kill()
        print(self.log)  # noqa: T201


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks").mkdir()
    for name, text in TASKS.items():
        task = tmp_path / "tasks" / name
        task.write_text(f"#!/bin/sh\n{text}\n")
        task.chmod(0o755)
    (tmp_path / "tasks" / "notes.txt").write_text("not a task\n")
    return tmp_path


@pytest.fixture
async def cluster_of_one(database_url: str, folder: Path) -> AsyncIterator[Cluster]:
    cluster = Cluster(database_url, folder)
    await cluster.add_server()
    yield cluster
    cluster.clean_up()


@pytest.fixture
def server(cluster_of_one: Cluster) -> Program:
    return cluster_of_one.servers[0]


@pytest.fixture
async def client(cluster_of_one: Cluster) -> AsyncIterator[AsyncClient]:
    async with cluster_of_one.client() as client:
        yield client


@pytest.fixture
def start(cluster_of_one: Cluster, folder: Path) -> Iterator[Start]:
    started: list[ShellWorker] = []

    def start_worker(**env: str) -> ShellWorker:
        worker = ShellWorker(cluster_of_one.urls[0], folder, **env)
        started.append(worker)
        return worker

    yield start_worker
    for worker in started:
        worker.clean_up()


async def its_worker(client: AsyncClient) -> WorkerView:
    """The one that lives."""

    async def look() -> WorkerView | None:
        workers = (await client.list_workers()).items
        return next((each for each in workers if each.name == "shell" and each.ended_at is None), None)

    return await eventually(look, within=SOON, what="the registration of the worker")


async def run(client: AsyncClient, task: str, **fields: Any) -> ExecutionView:
    """The execution of a new job, once it has ended."""
    await its_worker(client)
    job = await client.create_job(task=task, **fields)
    return await client.wait_for_job(job.id, 60)


async def begun(client: AsyncClient, folder: Path, task: str = "patient", **fields: Any) -> ExecutionView:
    """The execution of a new job, once its command runs."""
    await its_worker(client)
    job = await client.create_job(task=task, **fields)
    await eventually((folder / "begun").exists, within=SOON, what="the start of the command")
    (execution,) = (await client.list_executions(job=job.id)).items
    return execution


def lives(folder: Path) -> bool:
    return psutil.pid_exists(int((folder / "begun").read_text().split()[0]))


def left_behind(folder: Path) -> list[Path]:
    return [*folder.glob("tickwork-worker.*")]


def test_is_plain_posix_shell() -> None:
    for shell in ("sh", "dash"):
        subprocess.run([shell, "-n", str(WORKER)], check=True)
    text = WORKER.read_text()
    bashisms = (
        "[[",
        "function ",
        "local ",
        "<<<",
        "&>",
        "source ",
        "$'",
        "echo -e",
        "${!",
        "((i",
        "declare ",
    )
    assert not [each for each in bashisms if each in text]


async def test_runs_commands_and_reports_what_they_print(client: AsyncClient, start: Start) -> None:
    start(SLOTS="3")
    assert (await run(client, "echo", payload={"to": "é", "n": [1, 2]})).result == {"to": "é", "n": [1, 2]}
    assert (await run(client, "list")).result == [1, {"a": None}]
    assert (await run(client, "half")).result == '{"a": '
    assert (await run(client, "say")).result == 'one "quoted" \\ \t tab\nline two é  '
    about = await run(client, "about")
    assert about.result == f"{about.id} 1"
    worker = await its_worker(client)
    assert set(worker.tasks) == set(TASKS)
    assert (worker.slots, worker.protocol) == (3, "rest")


async def test_a_command_that_fails_is_tried_again_and_its_words_are_kept(
    client: AsyncClient, start: Start
) -> None:
    start()
    execution = await run(client, "broken", retry={"max_attempts": 2, "initial": 0})
    assert (execution.status, execution.attempt) == (ExecutionStatus.FAILED, 2)
    assert execution.error
    assert (execution.error.type, execution.error.message) == ("ExitStatus3", 'it "broke"')


async def test_a_cancelled_command_is_stopped_within_a_heartbeat_or_two(
    client: AsyncClient, start: Start, folder: Path, connection: asyncpg.Connection
) -> None:
    worker = start()
    execution = await begun(client, folder)
    await client.cancel_execution(execution.id)
    await eventually(lambda: not lives(folder), within=SOON, what="the end of the command")
    await eventually(lambda: "was not taken (409)" in worker.log, within=SOON)
    assert (await client.get_execution(execution.id)).status is ExecutionStatus.CANCELLED
    assert await connection.fetchval("SELECT count(*) FROM tickwork.revocation") == 0
    assert (await run(client, "list")).status is ExecutionStatus.COMPLETED


async def test_a_command_that_takes_too_long_is_stopped_even_if_it_will_not_hear(
    client: AsyncClient, start: Start, folder: Path
) -> None:
    start(GRACE="1")
    execution = await run(client, "deaf", timeout="1s", retry={"max_attempts": 1})
    assert (execution.status, execution.error and execution.error.type) == (ExecutionStatus.FAILED, "Timeout")
    assert not lives(folder)


async def test_drains_when_told_by_a_signal(client: AsyncClient, start: Start, folder: Path) -> None:
    worker = start(SLOTS="2")
    execution = await begun(client, folder)
    worker.process.send_signal(signal.SIGTERM)
    await eventually(lambda: _is_draining(client), within=SOON, what="the draining")
    late = await client.create_job(task="list")
    (folder / "go").touch()
    ended = await client.wait_for_execution(execution.id, 60)
    assert (ended.status, ended.result) == (ExecutionStatus.COMPLETED, "done all the same")
    assert await eventually(lambda: worker.process.poll() is not None, within=SOON)
    assert worker.process.returncode == 0
    (waiting,) = (await client.list_executions(job=late.id)).items
    assert waiting.status is ExecutionStatus.PENDING
    assert not left_behind(folder)


async def _is_draining(client: AsyncClient) -> bool:
    return (await its_worker(client)).status == "draining"


async def test_drains_when_told_by_the_server_while_it_waits_for_work(
    client: AsyncClient, start: Start
) -> None:
    worker = start()
    await client.drain_worker((await its_worker(client)).id)
    await eventually(lambda: worker.process.poll() is not None, within=SOON, what="the end of the worker")
    assert worker.process.returncode == 0


async def test_goes_on_when_the_server_was_away(
    client: AsyncClient, start: Start, folder: Path, server: Program
) -> None:
    start(SLOTS="2")
    execution = await begun(client, folder)
    server.kill()
    (folder / "go").touch()
    await server.start()
    assert (await client.wait_for_execution(execution.id, 60)).result == "done all the same"
    assert (await run(client, "list")).status is ExecutionStatus.COMPLETED


async def test_what_a_killed_worker_held_is_run_by_another(
    client: AsyncClient, start: Start, folder: Path
) -> None:
    killed = start()
    execution = await begun(client, folder)
    killed.process.kill()
    killed.process.wait()
    await eventually(lambda: not lives(folder), within=SOON, what="the end of what the dead one ran")
    (folder / "go").touch()
    start(NAME="second")
    ended = await client.wait_for_execution(execution.id, 60)
    assert (ended.status, ended.attempt) == (ExecutionStatus.COMPLETED, 2)
    attempts = (await client.list_attempts(execution.id)).items
    assert [each.outcome for each in attempts] == ["lost", "completed"]


async def test_starts_anew_when_its_lease_was_lost(
    client: AsyncClient, start: Start, folder: Path, connection: asyncpg.Connection
) -> None:
    start()
    execution = await begun(client, folder)
    first = await its_worker(client)
    await connection.execute(
        "UPDATE tickwork.worker SET lease_until = tickwork.clock() - interval '1 hour', ended_at = tickwork.clock() "
        "WHERE id = $1",
        parse_worker_id(first.id),
    )
    await eventually(lambda: not lives(folder), within=SOON, what="the end of the command")
    second = await its_worker(client)
    assert second.id != first.id
    (folder / "go").touch()  # the second one may be trying it again, in its only slot
    assert (await run(client, "list")).status is ExecutionStatus.COMPLETED
    assert execution.worker in (None, first.id)
    ended = await client.wait_for_execution(execution.id, 60)
    assert (ended.status, ended.attempt) == (ExecutionStatus.COMPLETED, 2)


async def test_says_why_it_cannot_work(start: Start) -> None:
    worker = start(TICKWORK_API_KEY="tw_wrong")
    assert await eventually(lambda: worker.process.poll() is not None, within=SOON)
    assert worker.process.returncode == 1
    assert "(401)" in worker.log
