"""What ran, what runs, what will: lists, looks, tries and cancelling."""

from datetime import datetime, timedelta
from typing import Any

import asyncpg
import httpx2
import pytest

from tickwork.model.execution import AttemptOutcome
from tickwork.model.public_ids import to_micros, worker_id
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.store import execution_search
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, tasks=["work", "other"])


async def create(client: httpx2.AsyncClient, **fields: Any) -> str:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def listed(
    client: httpx2.AsyncClient, path: str = "/v1/executions", **query: Any
) -> list[dict[str, Any]]:
    """All pages."""
    items: list[dict[str, Any]] = []
    while True:
        answer = await client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        items += answer.json()["items"]
        query["cursor"] = answer.json()["next_cursor"]
        if query["cursor"] is None:
            return items


async def start(node: Node, worker: ScriptedWorker) -> list[Run]:
    await node.step("claim")
    return await worker.runs()


async def pass_time(clock: SettableClock, node: Node, worker: ScriptedWorker, by: timedelta) -> None:
    """Time passes; what is due is run and completed."""
    await clock.advance(by)
    await worker.beat()
    while await node.step("fire") or await node.step("claim"):
        pass
    for run in await worker.runs():
        await worker.complete(run, b'"done"')


async def test_an_execution_tells_its_whole_story(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(client, retry={"max_attempts": 2, "initial": 0}, payload={"n": 1})
    (waiting,) = await listed(client)
    assert (waiting["status"], waiting["waiting_for"], waiting["worker"]) == ("pending", "worker", None)
    (run,) = await start(still_node, worker)
    running = (await client.get(f"/v1/executions/{waiting['id']}")).json()
    assert (running["status"], running["waiting_for"], running["attempt"]) == ("running", None, 1)
    await worker.fail(run, Failure("ValueError", "no good", "Traceback …"))
    (again,) = await start(still_node, worker)
    await worker.complete(again, b'{"rows": [1, null]}')
    done = (await client.get(f"/v1/executions/{waiting['id']}")).json()
    assert {name: done[name] for name in ("job_id", "task", "status", "trigger", "attempt", "max_attempts")} == {
        "job_id": job, "task": "work", "status": "completed", "trigger": "schedule", "attempt": 2, "max_attempts": 2,
    }  # fmt: skip
    assert (done["result"], done["worker"]) == ({"rows": [1, None]}, worker_id(worker.welcome.worker))
    assert done["scheduled_for"] == done["started_at"] != done["finished_at"]
    attempts = (await client.get(f"/v1/executions/{waiting['id']}/attempts")).json()
    assert attempts["next_cursor"] is None
    first, second = attempts["items"]
    assert (first["attempt"], first["outcome"]) == (1, "failed")
    assert first["error"] == {"type": "ValueError", "message": "no good", "traceback": "Traceback …"}
    assert (second["attempt"], second["outcome"], second["error"]) == (2, "completed", None)


async def test_a_failed_execution_says_why(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(client)
    (run,) = await start(still_node, worker)
    await worker.fail(run, Failure("NoRetry", "never again", retry=False))
    (failed,) = await listed(client)
    assert (failed["status"], failed["reason"]) == ("failed", "not to be retried")
    assert failed["error"] == {"type": "NoRetry", "message": "never again", "traceback": None}
    assert (await client.get(f"/v1/jobs/{job}")).json()["status"] == "failed"


async def test_each_filter_finds_what_it_names_and_nothing_else(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    done = await create(client)
    (run,) = await start(still_node, worker)
    await worker.complete(run)
    await clock.advance(timedelta(seconds=1))
    mail = await create(client, queue="mail", task="other")
    (held,) = await start(still_node, worker)
    await clock.advance(timedelta(seconds=1))
    noon: datetime = await still_node._read.now()
    later = await create(client, schedule={"in": "1h"})
    other = await ScriptedWorker.connect(still_node, tasks=["nothing"])
    assert to_micros(noon) - held.at == 1_000_000
    for query, expected in [
        ({}, [later, mail, done]),
        ({"status": "completed"}, [done]),
        ({"status": "running"}, [mail]),
        ({"status": "pending"}, [later]),
        ({"status": "skipped"}, []),
        ({"job": done}, [done]),
        ({"task": "other"}, [mail]),
        ({"queue": "mail"}, [mail]),
        ({"queue": "nowhere"}, []),
        ({"worker": worker_id(worker.welcome.worker)}, [mail, done]),
        ({"worker": worker_id(other.welcome.worker)}, []),
        ({"since": noon.isoformat()}, [later]),
        ({"until": (noon - timedelta(seconds=1)).isoformat()}, [mail, done]),
        ({"since": (noon - timedelta(seconds=1)).isoformat(), "until": noon.isoformat()}, [mail]),
        ({"status": "completed", "task": "work", "queue": "default", "job": done}, [done]),
        ({"status": "completed", "job": mail}, []),
    ]:
        assert [execution["job_id"] for execution in await listed(client, **query)] == expected, query
        if "job" in query:
            by_job = {name: value for name, value in query.items() if name != "job"}
            found = await listed(client, f"/v1/jobs/{query['job']}/executions", **by_job)
            assert [execution["job_id"] for execution in found] == expected, query


async def test_pages_show_each_execution_once_newest_first_also_while_more_come(
    client: httpx2.AsyncClient, clock: SettableClock
) -> None:
    for _ in range(3):
        await client.post("/v1/jobs/batch", json=[{"task": "work"}] * 6)  # six at the same instant
        await clock.advance(timedelta(seconds=1))
    seen: list[tuple[datetime, str]] = []
    query: dict[str, Any] = {"limit": 4}
    while "cursor" not in query or query["cursor"]:
        page = (await client.get("/v1/executions", params=query)).json()
        seen += [
            (datetime.fromisoformat(execution["scheduled_for"]), execution["id"])
            for execution in page["items"]
        ]
        query["cursor"] = page["next_cursor"]
        await create(client)
    assert len(seen) == len(set(seen)) == 18
    assert [at for at, _ in seen] == sorted((at for at, _ in seen), reverse=True)


async def test_the_history_of_a_job_is_whole_across_edits_runs_and_pauses(
    client: httpx2.AsyncClient, clock: SettableClock, still_node: Node, worker: ScriptedWorker,
    connection: asyncpg.Connection,
) -> None:  # fmt: skip
    minute = timedelta(minutes=1)
    await create(client, schedule="every 1m")  # shares the rule: its rounds are not this job's executions
    await pass_time(clock, still_node, worker, minute)
    job = await create(client, schedule="every 1m")
    path = f"/v1/jobs/{job}"
    for _ in range(3):
        await pass_time(clock, still_node, worker, minute)
    await client.post(f"{path}/run")
    await client.patch(path, json={"schedule": "every 2m", "queue": "second"})
    for _ in range(4):
        await pass_time(clock, still_node, worker, minute)
    await client.post(f"{path}/pause")
    await pass_time(clock, still_node, worker, 2 * minute)
    await client.post(f"{path}/resume")
    await client.patch(path, json={"schedule": {"in": "30s"}})
    await pass_time(clock, still_node, worker, minute)
    await client.patch(path, json={"schedule": "every 1m"})
    await pass_time(clock, still_node, worker, minute)
    await client.post(f"{path}/run")
    history = await listed(client, f"{path}/executions", limit=2)
    all_of_it = [execution for execution in await listed(client) if execution["job_id"] == job]
    assert history == all_of_it
    rows = await connection.fetchval("SELECT count(*) FROM tickwork.execution WHERE job_id = 2")
    assert len(history) == rows
    assert [each["trigger"] for each in history].count("manual") == 2
    assert [each["status"] for each in history] == ["pending"] + ["completed"] * (rows - 1)
    assert rows == 3 + 1 + 2 + 1 + 1 + 1
    times = [datetime.fromisoformat(each["scheduled_for"]) for each in history]
    assert times == sorted(times, reverse=True)


async def test_an_old_page_of_a_long_history_is_found(
    client: httpx2.AsyncClient,
    clock: SettableClock,
    still_node: Node,
    worker: ScriptedWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution_search, "_SLICES", (3,))
    early, late = await create(client, schedule="every 1m"), await create(client, schedule="every 1m")
    await pass_time(clock, still_node, worker, timedelta(minutes=1))
    (first,) = await listed(client, f"/v1/jobs/{late}/executions")
    await client.post(f"/v1/jobs/{late}/pause")
    for _ in range(8):
        await pass_time(clock, still_node, worker, timedelta(minutes=1))
    history = f"/v1/jobs/{late}/executions"
    assert await listed(client, history, until=first["scheduled_for"]) == [first]
    assert await listed(client, history) == [first]
    assert len(await listed(client, f"/v1/jobs/{early}/executions", limit=2)) == 9


async def test_a_pending_execution_that_is_cancelled_never_starts(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    await create(client)
    (waiting,) = await listed(client)
    cancelled = await client.post(f"/v1/executions/{waiting['id']}/cancel")
    assert cancelled.status_code == 200
    assert (cancelled.json()["status"], cancelled.json()["reason"]) == ("cancelled", "cancelled by request")
    assert await start(still_node, worker) == []
    assert (await client.get(f"/v1/executions/{waiting['id']}/attempts")).json()["items"] == []


async def test_a_running_execution_that_is_cancelled_stays_so_whatever_its_worker_says(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    await create(client)
    (run,) = await start(still_node, worker)
    (running,) = await listed(client)
    path = f"/v1/executions/{running['id']}"
    cancelled = (await client.post(f"{path}/cancel")).json()
    assert cancelled["status"] == "cancelled"
    await still_node.step("revoke")
    assert len(await worker.revokes()) == 1
    await worker.complete(run, b"1")
    assert (await client.get(path)).json() == cancelled
    (attempt,) = (await client.get(f"{path}/attempts")).json()["items"]
    assert (attempt["attempt"], attempt["outcome"]) == (1, "cancelled")


@pytest.mark.parametrize("end", ["completed", "cancelled"])
async def test_what_has_ended_cannot_be_cancelled(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, end: str
) -> None:
    await create(client)
    (run,) = await start(still_node, worker)
    await worker.report(run, AttemptOutcome(end))
    (ended,) = await listed(client)
    answer = await client.post(f"/v1/executions/{ended['id']}/cancel")
    assert answer.status_code == 409
    assert answer.json()["detail"] == f"the execution has ended already: it is {end}"
    assert await listed(client) == [ended]


async def test_an_execution_that_never_was_is_not_found(client: httpx2.AsyncClient) -> None:
    job = await create(client)
    (execution,) = await listed(client)
    other_time = execution["id"][:-1] + ("0" if execution["id"][-1] != "0" else "1")
    for method, path in [("GET", ""), ("GET", "/attempts"), ("POST", "/cancel")]:
        answer = await client.request(method, f"/v1/executions/{other_time}{path}")
        assert answer.status_code == 404
        assert answer.json()["detail"] == f"there is no execution {other_time}"
    assert (await client.get(f"/v1/jobs/{job}0/executions")).status_code == 404
    assert await listed(client, job=f"{job}0") == []
