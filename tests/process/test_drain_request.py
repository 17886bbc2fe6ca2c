"""Workers that somebody else drains, and what they say of themselves."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.cluster import KEY, TASKS, Cluster, Program, task_environment
from support.waiting import eventually
from tickwork.client.async_client import AsyncClient
from tickwork.model.access import Caller, Scope
from tickwork.model.errors import Invalid, StaleAttempt
from tickwork.model.public_ids import worker_id
from tickwork.model.rest_worker import LogText, TaskRequest
from tickwork.model.worker import WorkerView
from tickwork.model.worker_protocol import Drain
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

ADMIN = Caller(1, "default", 2, frozenset({Scope.ADMIN}))


@pytest.fixture
async def cluster_of_one(database_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    cluster = Cluster(database_url, tmp_path)
    await cluster.add_server()
    yield cluster
    cluster.clean_up()


async def test_a_connected_worker_is_told_with_the_answer_to_its_next_beat(still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await worker.beat()
    assert await worker._take(Drain) == []
    shown = await still_node.workers.drain(ADMIN, worker.welcome.worker)
    assert (shown.id, shown.status) == (worker_id(worker.welcome.worker), "draining")
    await worker.beat()
    assert await worker._take(Drain) == [Drain()]


async def test_a_worker_process_that_is_drained_ends_and_was_shown_with_all_that_it_has(
    cluster_of_one: Cluster, tmp_path: Path
) -> None:
    said = "--resource cpu=4 --resource memory=8Gi --resource license=2 --label region=eu --queue mail"
    worker = Program(
        "declared",
        [
            "worker",
            TASKS,
            "--name",
            "declared",
            "--server",
            cluster_of_one.urls[0],
            *said.split(),
            "--queue",
            "reports=5",
        ],
        says='"event": "connected"',
        env={"TICKWORK_API_KEY": KEY, **task_environment(cluster_of_one.ledger)},
        folder=tmp_path,
    )
    cluster_of_one.workers.append(worker)
    await worker.start()
    async with cluster_of_one.client() as client:
        shown = await _declared(client)
        assert shown.protocol == "websocket"
        assert shown.resources == {"cpu": 4.0, "memory": 8.0 * 1024**3, "license": 2.0}
        assert (shown.labels, shown.queues, shown.weights) == (
            {"region": "eu"},
            ["mail", "reports"],
            {"reports": 5.0},
        )
        await client.drain_worker(shown.id)
        await eventually(lambda: worker.exit_code is not None, within=30, what="the end of the worker")
        assert worker.exit_code == 0
        assert (await client.get_worker(shown.id)).status == "offline"


async def test_a_client_can_say_all_that_a_worker_must(cluster_of_one: Cluster) -> None:
    async with cluster_of_one.client() as client:
        task = TaskRequest("count", {"type": "object", "required": ["to"]}, "Counts.")
        worker = await client.register_worker("by-hand", [task], slots=2, resources={"memory": "1Gi"})
        for _ in range(2):
            await client.create_job(task="count", payload={"to": 3}, retry={"max_attempts": 1})
        runs = (await client.claim_executions(worker.id, max=2, wait=20)).items
        while len(runs) < 2:  # both are there by now, but the first may have come alone
            await client.start_execution(runs[0].id, 1)
            runs += (await client.claim_executions(worker.id, max=1, wait=20)).items
        first, second = runs
        assert first.payload == {"to": 3}
        await client.report_progress(first.id, 1, 0.5, "half", log=["one", LogText("two", "error")])
        assert (await client.complete_execution(first.id, 1, {"counted": 3})).outcome == "completed"
        assert (await client.get_execution(first.id)).result == {"counted": 3}
        assert [line.text for line in (await client.execution_logs(first.id)).items] == ["one", "two"]
        assert (
            await client.fail_execution(second.id, 1, "Broken", "it broke", retry=False)
        ).outcome == "failed"
        with pytest.raises(
            StaleAttempt, match="your worker does not have attempt 1: the execution is completed"
        ):
            await client.fail_execution(first.id, 1, "Broken", "it broke")
        assert (await client.heartbeat_worker(worker.id)).stop == []
        assert (await client.drain_worker(worker.id)).status == "draining"
        assert (await client.claim_executions(worker.id)).drain
        with pytest.raises(Invalid, match="slots"):
            await client.register_worker("by-hand", ["count"], slots=0)


async def _declared(client: AsyncClient) -> WorkerView:
    return next(each for each in (await client.list_workers()).items if each.name == "declared")
