"""Code that hangs in a worker that beats and does not stop it: a node ends it, and its limit is free for another."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta

import pytest

from support.loopback_target import Request, respond, target
from support.waiting import eventually
from support.worker_tasks import app as in_processes
from tickwork.dispatch.worker_gateway import WorkerGateway
from tickwork.execute.run_in_slots import Slots
from tickwork.execute.worker import Worker
from tickwork.inprocess_connection import InProcessConnection
from tickwork.model.access import Caller, Scope
from tickwork.model.execution import ExecutionView
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.public_ids import parse_execution_id
from tickwork.model.requires_limits_fair_share import Limit
from tickwork.node import Node
from tickwork.sdk.app import App

TENANT = 1
SOON = timedelta(milliseconds=200)
app = App()
let_go = threading.Event()


@app.task(name="hang in a thread")
def hang_in_thread() -> None:
    let_go.wait()


@app.task(name="hang on the loop")
async def hang_on_loop() -> None:
    while not let_go.is_set():
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(1)


class Gateway:
    """Connects workers to a node in this process."""

    def __init__(self, gateway: WorkerGateway) -> None:
        self._gateway = gateway
        self.attended: list[asyncio.Task[None]] = []

    async def connect(self) -> InProcessConnection:
        connection = InProcessConnection()
        caller = Caller(TENANT, "test", 1, frozenset({Scope.WORKER}))
        self.attended.append(asyncio.create_task(self._gateway.attend(caller, connection.server_end)))
        return connection


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers do not end anything themselves, and nodes are quick to do so."""
    monkeypatch.setattr(Slots, "_time_out", lambda *_: None)
    monkeypatch.setattr("tickwork.record.time_limits._GRACE", 0.0)
    for name in ("FIRST_CHECK", "RECHECK", "TIMEOUT_GRACE"):
        monkeypatch.setattr(f"tickwork.store.time_limit_store.{name}", SOON)


@pytest.fixture
async def worker(soon: None, node: Node) -> AsyncIterator[Worker]:
    let_go.clear()
    gateway = Gateway(node.gateway)
    tasks = [*app.definitions.values(), *in_processes.definitions.values()]
    worker = Worker(gateway, tasks, slots=4, app="support.worker_tasks:app")
    running = asyncio.create_task(worker.run())
    await eventually(lambda: worker.is_connected, within=30)
    yield worker
    let_go.set()
    worker.stop_now()
    await running
    await asyncio.gather(*gateway.attended)


async def ended(node: Node, execution_id: str) -> ExecutionView:
    async def look() -> ExecutionView | None:
        found = await node.history.get(TENANT, *parse_execution_id(execution_id))
        return found if found.status.ended else None

    return await eventually(look, within=60, what="the end of the execution")


async def run_under_limit(node: Node, job: JobRequest) -> ExecutionView:
    """How it ended. Another one waits for the same limit, and can only start then."""
    jobs = [job, JobRequest(task="where", limits=job.limits)]
    hung, other = await node.jobs.create(TENANT, jobs)
    assert hung.execution_id
    assert other.execution_id
    found = await ended(node, hung.execution_id)
    assert (await ended(node, other.execution_id)).status == "completed"
    return found


def is_ended_by_a_node(execution: ExecutionView) -> bool:
    error = execution.error
    return bool(error and error.type == "Timeout" and error.message.endswith("its worker did not stop it"))


@pytest.mark.parametrize("task", ["hang in a thread", "hang on the loop", "hang_briefly"])
async def test_hung_code_is_ended_by_a_node(node: Node, worker: Worker, task: str) -> None:
    limits = [Limit("one", max_running=1)]
    job = JobRequest(task=task, timeout="1s", limits=limits, retry=RetryRequest(max_attempts=1))
    found = await run_under_limit(node, job)
    assert found.status == "failed"
    assert is_ended_by_a_node(found)


async def test_a_target_that_accepts_a_call_and_never_reports_loses_it_in_time(
    node: Node, worker: Worker
) -> None:
    async with target(respond("202 Accepted")) as served:
        limits = [Limit("one", max_running=1)]
        http = HttpTarget(url=served.url(), completion="callback")
        job = JobRequest(http=http, timeout="1s", limits=limits, retry=RetryRequest(max_attempts=1))
        found = await run_under_limit(node, job)
    assert found.status == "failed"
    assert found.error
    assert found.error.type == "Timeout"
    assert "did not report its end" in found.error.message


async def test_a_call_of_a_target_that_hangs_is_ended_by_a_node(node: Node, worker: Worker) -> None:
    async def hang(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3600)

    async with target(hang) as served:
        limits = [Limit("one", max_running=1)]
        http = HttpTarget(url=served.url())
        job = JobRequest(http=http, timeout="1s", limits=limits, retry=RetryRequest(max_attempts=1))
        found = await run_under_limit(node, job)
    assert found.status == "failed"
    assert found.error
    assert found.error.type == "Timeout"
