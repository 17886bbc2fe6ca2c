"""`?wait=`: an answer that comes when the execution has ended. A minute stands for longer than any test takes."""

import asyncio
from typing import Any

import httpx2
import pytest

from api.conftest import Connect
from support.sent_statements import watch_statements
from support.waiting import eventually
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.record import list_cancel_and_await_executions as waiting
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

PATIENCE = 30.0  # of tests


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, tasks=["work"])


async def create(client: httpx2.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def run_of(node: Node, worker: ScriptedWorker) -> Run:
    await node.step("claim")
    (run,) = await worker.runs()
    return run


async def until_waiting(node: Node, count: int = 1) -> None:
    await eventually(lambda: node.waiting._count == count, within=PATIENCE, what="waiting")


async def of(answer: "asyncio.Task[httpx2.Response]") -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        reply = await answer
    assert reply.is_success, reply.text
    return reply.json()


async def test_a_job_that_is_due_once_tells_its_execution(client: httpx2.AsyncClient) -> None:
    job = await create(client)
    execution = (await client.get(f"/v1/executions/{job['execution_id']}")).json()
    assert (execution["job_id"], execution["status"]) == (job["id"], "pending")
    assert (await client.get(f"/v1/jobs/{job['id']}")).json()["execution_id"] == job["execution_id"]
    assert (await create(client, schedule="every 1h"))["execution_id"] is None
    kept = await create(client, key="a")
    assert await create(client, key="a", if_exists="keep") == kept


async def test_jobs_of_a_batch_tell_theirs(client: httpx2.AsyncClient) -> None:
    await create(client, key="old")
    batch = [
        {"task": "work"},
        {"task": "work", "schedule": "every 1h"},
        {"task": "work", "key": "old", "if_exists": "keep"},
    ]
    made = (await client.post("/v1/jobs/batch", json=batch)).json()["items"]
    shown = [(await client.get(f"/v1/jobs/{each['id']}")).json() for each in made]
    assert [each["execution_id"] for each in made] == [each["execution_id"] for each in shown]
    assert [each["execution_id"] is None for each in made] == [False, True, False]


async def test_creating_answers_with_the_end(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    creating = asyncio.create_task(client.post("/v1/jobs?wait=60s", json={"task": "work"}))
    await until_waiting(still_node)
    await worker.complete(await run_of(still_node, worker), b'{"a":1}')
    job = await of(creating)
    assert job["execution"]["id"] == job["execution_id"]
    assert (job["execution"]["status"], job["execution"]["result"]) == ("completed", {"a": 1})


async def test_running_and_looking_answer_with_the_end(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(client, schedule="every 1h")
    running = asyncio.create_task(client.post(f"/v1/jobs/{job['id']}/run?wait=60s"))
    await until_waiting(still_node)
    run = await run_of(still_node, worker)
    found = (await client.get("/v1/executions")).json()["items"][0]["id"]
    looking = asyncio.create_task(client.get(f"/v1/executions/{found}?wait=60s"))
    await until_waiting(still_node, 2)
    await worker.fail(run, Failure("ValueError", "no", retry=False))
    for answer in (running, looking):
        execution = await of(answer)
        assert (execution["id"], execution["status"]) == (found, "failed")
    assert still_node.waiting._awaited == {}
    at_once = await client.get(f"/v1/executions/{found}?wait=60s")
    assert at_once.json()["status"] == "failed"


async def test_an_attempt_that_is_tried_again_is_no_end(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    retry = {"initial": 0, "jitter": 0}
    creating = asyncio.create_task(client.post("/v1/jobs?wait=60s", json={"task": "work", "retry": retry}))
    await until_waiting(still_node)
    await worker.fail(await run_of(still_node, worker), Failure("ValueError", "no"))
    await worker.complete(await run_of(still_node, worker))
    execution = (await of(creating))["execution"]
    assert (execution["status"], execution["attempt"]) == ("completed", 2)


async def test_when_the_time_is_over_it_tells_how_things_are(client: httpx2.AsyncClient) -> None:
    job = (await client.post("/v1/jobs?wait=10ms", json={"task": "work"})).json()
    assert job["execution"]["status"] == "pending"
    later = (await client.post("/v1/jobs?wait=10ms", json={"task": "work", "schedule": "every 1h"})).json()
    assert later["execution"] is None
    looked = await client.get(f"/v1/executions/{job['execution_id']}?wait=0.01")
    assert looked.json()["status"] == "pending"


async def test_nobody_waits_for_what_is_not_there(client: httpx2.AsyncClient) -> None:
    async with asyncio.timeout(PATIENCE):
        assert (await client.get("/v1/executions/e5-1k0avmtt23w?wait=60s")).status_code == 404
        far = {"task": "work", "schedule": {"in": "300d"}}
        job = (await client.post("/v1/jobs?wait=60s", json=far)).json()
    assert job["execution_id"]
    assert job["execution"] is None


async def test_an_end_recorded_elsewhere_is_noticed_with_one_question_for_all(
    client: httpx2.AsyncClient, settings: Any, still_node: Node, worker: ScriptedWorker, connect: Connect
) -> None:
    jobs = [await create(client) for _ in range(20)]
    other = Node(settings)
    await other.open()
    elsewhere = await connect(other, still_node.first_key)
    looking = [
        asyncio.create_task(elsewhere.get(f"/v1/executions/{job['execution_id']}?wait=60s")) for job in jobs
    ]
    await until_waiting(other, len(jobs))
    await still_node.step("claim")
    await worker.report_all(await worker.runs())
    sent = watch_statements(other)
    await other.step("wake waiting callers")
    assert sum("have ended" in each or "wanted.tenant_id" in each for each in sent) == 1
    assert {(await of(answer))["status"] for answer in looking} == {"completed"}
    await other.stop()


async def test_nobody_asks_the_database_when_nobody_waits(still_node: Node) -> None:
    sent = watch_statements(still_node)
    await still_node.step("wake waiting callers")
    assert sent == []


async def test_a_cancelled_execution_has_ended(client: httpx2.AsyncClient, still_node: Node) -> None:
    job = await create(client)
    looking = asyncio.create_task(client.get(f"/v1/executions/{job['execution_id']}?wait=60s"))
    await until_waiting(still_node)
    await client.post(f"/v1/executions/{job['execution_id']}/cancel")
    await still_node.step("wake waiting callers")
    assert (await of(looking))["status"] == "cancelled"


async def test_whoever_waits_is_answered_when_the_node_stops(
    client: httpx2.AsyncClient, still_node: Node
) -> None:
    job = await create(client)
    looking = asyncio.create_task(client.get(f"/v1/executions/{job['execution_id']}?wait=60s"))
    await until_waiting(still_node)
    still_node.end_streams()
    assert (await of(looking))["status"] == "pending"


async def test_one_more_than_may_wait_is_answered_at_once(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_MOST_CALLERS", 1)
    job = await create(client)
    place = f"/v1/executions/{job['execution_id']}?wait=60s"
    looking = asyncio.create_task(client.get(place))
    await until_waiting(still_node)
    assert (await of(asyncio.create_task(client.get(place))))["status"] == "pending"
    await worker.complete(await run_of(still_node, worker))
    assert (await of(looking))["status"] == "completed"


async def test_those_who_leave_are_forgotten(client: httpx2.AsyncClient, still_node: Node) -> None:
    job = await create(client)
    looking = asyncio.create_task(client.get(f"/v1/executions/{job['execution_id']}?wait=60s"))
    await until_waiting(still_node)
    looking.cancel()
    await until_waiting(still_node, 0)
    assert still_node.waiting._awaited == {}


async def test_more_than_one_question_can_be_about_take_turns(
    client: httpx2.AsyncClient, still_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_MOST_PER_QUERY", 1)
    jobs = [await create(client) for _ in range(3)]
    looking = [
        asyncio.create_task(client.get(f"/v1/executions/{job['execution_id']}?wait=60s")) for job in jobs
    ]
    await until_waiting(still_node, 3)
    for job in jobs:
        await client.post(f"/v1/executions/{job['execution_id']}/cancel")
    for _ in jobs:
        await still_node.step("wake waiting callers")
    assert {(await of(answer))["status"] for answer in looking} == {"cancelled"}


async def test_a_wait_with_a_key_is_committed_first_and_waits_again_when_repeated(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    once: dict[str, Any] = {"headers": {"Idempotency-Key": "k1"}, "json": {"task": "work"}}
    first = asyncio.create_task(client.post("/v1/jobs?wait=60s", **once))
    await until_waiting(still_node)
    first.cancel()  # the answer is lost
    await until_waiting(still_node, 0)
    again = asyncio.create_task(client.post("/v1/jobs?wait=60s", **once))
    await until_waiting(still_node)
    await worker.complete(await run_of(still_node, worker))
    assert (await of(again))["execution"]["status"] == "completed"
    assert len((await client.get("/v1/jobs")).json()["items"]) == 1


@pytest.mark.parametrize("wait", ["soon", "61s", "-1", ""])
async def test_a_wait_that_makes_no_sense_creates_nothing(client: httpx2.AsyncClient, wait: str) -> None:
    answer = await client.post("/v1/jobs", params={"wait": wait}, json={"task": "work"})
    if wait:
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["path"] == "wait"
        assert (await client.get("/v1/jobs")).json()["items"] == []
