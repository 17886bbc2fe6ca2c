"""The plain REST worker protocol: register, heartbeat, claim, report, drain."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import httpx2
import pytest
from prometheus_client import REGISTRY

from api.conftest import Connect, MakeTenant
from support.rest_worker import RestWorker
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.model.public_ids import parse_worker_id, worker_id
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

SOON = 20.0


@pytest.fixture
async def rest(live_client: httpx2.AsyncClient) -> RestWorker:
    return await RestWorker.register(live_client)


async def create(client: httpx2.AsyncClient, **fields: Any) -> str:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def execution(client: httpx2.AsyncClient, run: dict[str, Any]) -> dict[str, Any]:
    return (await client.get(f"/v1/executions/{run['id']}")).json()


def stale_outcomes() -> float:
    return REGISTRY.get_sample_value("tickwork_stale_outcomes_total") or 0.0


async def let_lease_run_out(connection: asyncpg.Connection, worker: RestWorker) -> None:
    await connection.execute(
        "UPDATE tickwork.worker SET lease_until = tickwork.clock() - interval '1 second' WHERE id = $1",
        parse_worker_id(worker.id),
    )


async def test_registering_tells_the_lease_and_how_often_to_beat(live_client: httpx2.AsyncClient) -> None:
    answer = await live_client.post("/v1/workers", json={"name": "rest", "tasks": ["work"]})
    assert answer.status_code == 201
    assert {name: answer.json()[name] for name in ("lease_seconds", "heartbeat_seconds")} == {
        "lease_seconds": 15.0,
        "heartbeat_seconds": 3.0,
    }


async def test_what_it_registered_with_is_shown(live_client: httpx2.AsyncClient) -> None:
    task = {"name": "work", "parameters": {"type": "object"}, "description": "Works."}
    worker = await RestWorker.register(
        live_client,
        tasks=["other", task],
        queues=["mail", "reports"],
        weights={"reports": 5},
        slots=3,
        labels={"region": "eu"},
        resources={"cpu": 4, "memory": "8Gi", "license": 2},
    )
    shown = (await live_client.get(f"/v1/workers/{worker.id}")).json()
    assert shown["status"] == "online"
    assert shown["protocol"] == "rest"
    assert (shown["slots"], shown["holding"]) == (3, 0)
    assert (shown["queues"], shown["weights"]) == (["mail", "reports"], {"reports": 5.0})
    assert shown["labels"] == {"region": "eu"}
    assert shown["resources"] == {"cpu": 4.0, "memory": 8.0 * 1024**3, "license": 2.0}
    assert shown["resources_used"] == {"cpu": 0.0, "memory": 0.0, "license": 0.0}
    tasks = (await live_client.get("/v1/tasks")).json()["items"]
    assert [(task["name"], task["description"], task["workers"]) for task in tasks] == [
        ("other", None, [worker.id]),
        ("work", "Works.", [worker.id]),
    ]


async def test_registering_names_every_bad_field(live_client: httpx2.AsyncClient) -> None:
    body = {
        "tasks": ["work", 7, {"nam": "other"}, ""],
        "slots": 0,
        "queues": ["mail queue"],
        "weights": {"mail": 0},
        "lables": {},
    }
    answer = await live_client.post("/v1/workers", json=body)
    assert answer.status_code == 422
    errors = {error["path"]: error for error in answer.json()["errors"]}
    assert errors.keys() == {
        "name", "tasks[1]", "tasks[2].nam", "tasks[2].name", "tasks[3]", "slots", "queues[0]", "weights.mail", "lables",
    }  # fmt: skip
    assert errors["lables"]["hint"] == "did you mean 'labels'?"


async def test_what_fits_its_type_but_makes_no_sense_is_named_too(live_client: httpx2.AsyncClient) -> None:
    body = {
        "name": "rest",
        "tasks": ["work", "work", "http"],
        "queues": ["mail"],
        "weights": {"reports": 2},
        "resources": {"memory": "8Gb?", "cpu": -1},
    }
    answer = await live_client.post("/v1/workers", json=body)
    assert answer.status_code == 422
    assert {error["path"] for error in answer.json()["errors"]} == {
        "tasks[1]", "tasks[2]", "weights.reports", "resources.memory", "resources.cpu",
    }  # fmt: skip


async def test_registering_again_under_the_same_key_is_the_same_worker(
    live_client: httpx2.AsyncClient,
) -> None:
    body, headers = {"name": "rest", "tasks": ["work"]}, {"Idempotency-Key": "one"}
    first = await live_client.post("/v1/workers", json=body, headers=headers)
    again = await live_client.post("/v1/workers", json=body, headers=headers)
    assert first.json() == again.json()
    assert len([each for each in await workers(live_client) if each["protocol"] == "rest"]) == 1


async def workers(client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    return (await client.get("/v1/workers")).json()["items"]


async def test_a_claim_gives_all_that_is_needed_to_run_it(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    await create(live_client, payload={"to": "a@b.c"}, timeout="2m")
    (run,) = await rest.claim(wait=SOON)
    assert (run["attempt"], run["task"], run["payload"], run["timeout"]) == (
        1,
        "work",
        {"to": "a@b.c"},
        120.0,
    )
    shown = await execution(live_client, run)
    assert (shown["status"], shown["worker"]) == ("running", rest.id)
    assert run["scheduled_for"] == shown["scheduled_for"]
    assert datetime.fromisoformat(run["deadline"]) - datetime.fromisoformat(
        run["scheduled_for"]
    ) >= timedelta(minutes=2)


async def test_a_result_is_recorded_before_the_answer(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    await create(live_client)
    (run,) = await rest.claim(wait=SOON)
    assert await rest.start(run) == {"id": run["id"], "attempt": 1, "outcome": None}
    assert await rest.complete(run, {"sent": 10}) == {"id": run["id"], "attempt": 1, "outcome": "completed"}
    shown = await execution(live_client, run)
    assert (shown["status"], shown["result"]) == ("completed", {"sent": 10})
    assert shown["started_at"] <= shown["finished_at"]


async def test_a_failure_is_retried_and_a_final_one_is_not(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    await create(live_client, retry={"initial": 0})
    (run,) = await rest.claim(wait=SOON)
    await rest.fail(run)
    (again,) = await rest.claim(wait=SOON)
    assert (again["id"], again["attempt"]) == (run["id"], 2)
    error = {"type": "NoSuchMailbox", "message": "no such mailbox", "traceback": "line 1"}
    await rest.fail(again, error=error, retry=False)
    shown = await execution(live_client, run)
    assert (shown["status"], shown["error"]) == ("failed", error)


async def test_a_failure_can_say_when_to_try_again(live_client: httpx2.AsyncClient, rest: RestWorker) -> None:
    await create(live_client, retry={"initial": 0})
    (run,) = await rest.claim(wait=SOON)
    await rest.fail(run, retry_after="1h")
    shown = await execution(live_client, run)
    assert (shown["status"], shown["waiting_for"]) == ("pending", "retry")
    assert datetime.fromisoformat(shown["due_at"]) - datetime.fromisoformat(
        shown["scheduled_for"]
    ) >= timedelta(hours=1)


async def test_a_claim_waits_until_there_is_work(live_client: httpx2.AsyncClient, rest: RestWorker) -> None:
    claim = asyncio.create_task(rest.claim(wait=SOON))
    await eventually(lambda: live_client.get(f"/v1/workers/{rest.id}"), within=SOON)
    assert not claim.done()
    await create(live_client)
    assert len(await claim) == 1


async def test_a_claim_that_waits_in_vain_is_answered_with_nothing(rest: RestWorker) -> None:
    assert await rest.claim(wait=0.1) == []


async def test_nothing_is_handed_out_ahead_of_its_time(
    live_client: httpx2.AsyncClient, rest: RestWorker, connection: asyncpg.Connection
) -> None:
    for number in range(20):
        await create(live_client, schedule={"in": f"{number * 50 / 1000}s"})
    for _ in range(20):
        (run,) = await rest.claim(wait=SOON)
        now = await connection.fetchval("SELECT tickwork.clock()")
        assert datetime.fromisoformat(run["scheduled_for"]) <= now
        await rest.complete(run)


async def test_it_gets_no_more_than_it_asks_for_and_has_slots_for(live_client: httpx2.AsyncClient) -> None:
    worker = await RestWorker.register(live_client, slots=3)
    for _ in range(5):
        await create(live_client)
    first = await worker.claim(most=2, wait=SOON)
    for run in first:
        await worker.start(run)
    second = await worker.claim(most=5, wait=SOON)
    for run in second:
        await worker.start(run)
    assert (len(first), len(second)) == (2, 1)
    assert await worker.claim(most=5) == []
    assert (await live_client.get(f"/v1/workers/{worker.id}")).json()["holding"] == 3
    await worker.complete(second[0])
    assert len(await worker.claim(most=5)) == 1


async def test_a_claim_whose_answer_was_lost_is_made_again(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    await create(live_client)
    await create(live_client)
    (lost,) = await rest.claim(wait=SOON)
    (again,) = await rest.claim(most=5)
    assert again == {**lost, "deadline": again["deadline"]}
    await rest.start(again)
    assert await rest.claim() == []


async def test_a_report_whose_answer_was_lost_is_made_again_with_the_same_answer(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    await create(live_client, retry={"initial": 0})
    (run,) = await rest.claim(wait=SOON)
    assert await rest.start(run) == await rest.start(run)
    before = stale_outcomes()
    assert await rest.fail(run) == await rest.fail(run)
    (again,) = await rest.claim(wait=SOON)
    assert await rest.fail(run) == {"id": run["id"], "attempt": 1, "outcome": "failed"}
    assert await rest.complete(again, 1) == await rest.complete(again, 1)
    assert stale_outcomes() == before
    attempts = (await live_client.get(f"/v1/executions/{run['id']}/attempts")).json()["items"]
    assert [each["outcome"] for each in attempts] == ["failed", "completed"]


async def test_reports_sent_at_the_same_time_count_once(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    await create(live_client)
    (run,) = await rest.claim(wait=SOON)
    answers = await asyncio.gather(*(rest.complete(run, number) for number in range(5)))
    assert all(answer == answers[0] for answer in answers)
    assert (await execution(live_client, run))["status"] == "completed"


async def test_a_stale_attempt_is_refused_and_counted(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    await create(live_client, retry={"initial": 0})
    (run,) = await rest.claim(wait=SOON)
    await rest.fail(run)
    (again,) = await rest.claim(wait=SOON)
    before = stale_outcomes()
    answer = await rest.report(run, "complete", result=1)
    assert answer.status_code == 409
    assert answer.json()["type"] == "/docs/problems/stale-attempt"
    assert "it ended as failed, and the execution is at attempt 2" in answer.json()["detail"]
    assert stale_outcomes() == before + 1
    for word in ("start", "progress"):
        assert (await rest.report(run, word)).status_code == 409
    ahead = await rest.report({**again, "attempt": 3}, "complete")
    assert "only at attempt 2" in ahead.json()["detail"]
    await rest.complete(again)


async def test_what_a_connected_worker_holds_is_not_for_others_to_report_on(
    node: Node, live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    connected = await ScriptedWorker.connect(node, ["theirs"])
    await create(live_client, task="theirs")
    (listed,) = await eventually(
        lambda: _running(live_client), within=SOON, what="the start of the execution"
    )
    for word in ("start", "complete"):
        answer = await rest.report(listed, word)
        assert answer.status_code == 409
        assert "connected by WebSocket" in answer.json()["detail"]
    worker = RestWorker(live_client, worker_id(connected.welcome.worker))
    for word in ("heartbeat", "claim"):
        answer = await live_client.post(f"/v1/workers/{worker.id}/{word}")
        assert answer.status_code == 409
    await connected.leave_silently()


async def _running(client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    return (await client.get("/v1/executions", params={"status": "running"})).json()["items"]


async def test_a_cancelled_execution_is_told_at_the_next_heartbeat_until_it_was_reported(
    live_client: httpx2.AsyncClient, rest: RestWorker, connection: asyncpg.Connection
) -> None:
    await create(live_client)
    (run,) = await rest.claim(wait=SOON)
    await rest.start(run)
    assert (await rest.heartbeat())["stop"] == []
    await live_client.post(f"/v1/executions/{run['id']}/cancel")
    (stop,) = (await rest.heartbeat())["stop"]
    assert (stop["id"], stop["attempt"]) == (run["id"], 1)
    assert stop["reason"]
    assert (await rest.heartbeat())["stop"] == [stop]
    answer = await rest.report(run, "fail", error={"type": "Stopped", "message": "as told"})
    assert answer.status_code == 409
    assert "the execution is cancelled" in answer.json()["detail"]
    assert (await rest.heartbeat())["stop"] == []
    assert (await execution(live_client, run))["status"] == "cancelled"
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0


async def test_progress_and_log_lines_are_kept_once(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    await create(live_client)
    (run,) = await rest.claim(wait=SOON)
    for _ in range(2):
        answer = await rest.report(
            run,
            "progress",
            fraction=0.4,
            message="4 of 10",
            log=["one", {"text": "two", "level": "error"}],
        )
        assert answer.status_code == 200
    await rest.report(run, "progress", log=["three"], first_line=2)
    assert (await execution(live_client, run))["progress"] == {"fraction": 0.4, "message": "4 of 10"}
    lines = (await live_client.get(f"/v1/executions/{run['id']}/logs")).json()["items"]
    assert [(line["level"], line["text"]) for line in lines] == [
        ("info", "one"),
        ("error", "two"),
        ("info", "three"),
    ]


async def test_a_drained_worker_is_told_and_gets_nothing_new(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    await create(live_client)
    (run,) = await rest.claim(wait=SOON)
    await rest.start(run)
    answer = await live_client.post(f"/v1/workers/{rest.id}/drain")
    assert (answer.status_code, answer.json()["status"]) == (200, "draining")
    assert (await rest.heartbeat())["drain"] is True
    await create(live_client)
    claimed = await live_client.post(f"/v1/workers/{rest.id}/claim", json={"wait": 5})
    assert claimed.json() == {"items": [], "drain": True}
    await rest.complete(run)


async def test_the_built_in_worker_cannot_be_drained(live_client: httpx2.AsyncClient) -> None:
    built_in = await eventually(lambda: _built_in(live_client), within=SOON)
    answer = await live_client.post(f"/v1/workers/{built_in}/drain")
    assert answer.status_code == 409
    assert "part of its server" in answer.json()["detail"]


async def _built_in(client: httpx2.AsyncClient) -> str | None:
    return next((each["id"] for each in await workers(client) if each["name"] == "built-in"), None)


async def test_a_worker_not_heard_of_must_register_again_and_its_work_is_run_by_others(
    live_client: httpx2.AsyncClient, rest: RestWorker, connection: asyncpg.Connection
) -> None:
    await create(live_client)
    (run,) = await rest.claim(wait=SOON)
    await rest.start(run)
    other = await RestWorker.register(live_client)
    await let_lease_run_out(connection, rest)
    again = await eventually(lambda: other.claim(wait=5), within=60)
    assert [(each["id"], each["attempt"]) for each in again] == [(run["id"], 2)]
    for word in ("heartbeat", "claim"):
        answer = await live_client.post(f"/v1/workers/{rest.id}/{word}")
        assert (answer.status_code, answer.json()["type"]) == (410, "/docs/problems/lease-gone")
        assert "register again" in answer.json()["detail"]
    stale = await rest.report(run, "complete")
    assert (stale.status_code, "it ended as lost" in stale.json()["detail"]) == (409, True)
    await other.complete(again[0])
    assert (await execution(live_client, run))["status"] == "completed"


async def test_a_late_heartbeat_keeps_what_nobody_has_taken(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    worker = await RestWorker.register(client)
    await create(client)
    (run,) = await worker.claim()
    await let_lease_run_out(connection, worker)
    await worker.heartbeat()
    assert [each["id"] for each in await worker.claim()] == [run["id"]]


async def test_a_claim_is_a_sign_of_life(client: httpx2.AsyncClient, connection: asyncpg.Connection) -> None:
    worker = await RestWorker.register(client)
    await let_lease_run_out(connection, worker)
    await worker.claim()
    assert await connection.fetchval(
        "SELECT lease_until > tickwork.clock() FROM tickwork.worker WHERE id = $1", parse_worker_id(worker.id)
    )


async def test_any_node_answers_any_request(
    node: Node, settings: Settings, live_client: httpx2.AsyncClient, connect: Connect
) -> None:
    second = Node(settings)
    await second.start()
    try:
        other_client = await connect(second, node.first_key)
        here = await RestWorker.register(live_client)
        there = here.on(other_client)
        await create(live_client)
        (run,) = await there.claim(wait=SOON)
        assert [each["id"] for each in await here.claim()] == [run["id"]]
        await here.start(run)
        await live_client.post(f"/v1/executions/{run['id']}/progress", json={"attempt": 1, "fraction": 0.5})
        await there.heartbeat()
        waiting = asyncio.create_task(there.claim(wait=SOON))
        assert await there.complete(run, "done") == await here.complete(run, "done")
        await create(live_client)  # at the other node than the one where it waits
        assert len(await waiting) == 1
    finally:
        await second.stop()


async def test_claims_of_one_worker_at_the_same_time_never_give_it_more_than_its_slots(
    live_client: httpx2.AsyncClient,
) -> None:
    worker = await RestWorker.register(live_client, slots=2)
    for _ in range(6):
        await create(live_client)
    claims = await asyncio.gather(*(worker.claim(most=2, wait=1) for _ in range(4)))
    assert len({run["id"] for claim in claims for run in claim}) == 2


async def test_resources_in_use_are_shown_and_free_again_at_the_end(live_client: httpx2.AsyncClient) -> None:
    worker = await RestWorker.register(live_client, slots=5, resources={"cpu": 2, "memory": "1Gi"})
    for _ in range(3):
        await create(live_client, requires={"cpu": 1, "memory": "256Mi"})
    runs = await worker.claim(most=5, wait=SOON)
    assert len(runs) == 2
    shown = (await live_client.get(f"/v1/workers/{worker.id}")).json()
    assert shown["resources_used"] == {"cpu": 2.0, "memory": 512.0 * 1024**2}
    for run in runs:
        await worker.complete(run)
    shown = (await live_client.get(f"/v1/workers/{worker.id}")).json()
    assert shown["resources_used"] == {"cpu": 0.0, "memory": 0.0}


async def test_what_a_job_depends_on_comes_with_its_result(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    parent = await create(live_client, key="parent")
    await create(live_client, depends_on=[parent])
    (run,) = await rest.claim(wait=SOON)
    assert run["parents"] == []
    await rest.complete(run, {"rows": 3})
    (child,) = await rest.claim(wait=SOON)
    assert child["parents"] == [
        {
            "job_id": parent,
            "name": None,
            "key": "parent",
            "task": "work",
            "status": "completed",
            "result": {"rows": 3},
        }
    ]


async def test_a_limit_holds_and_is_free_again_when_one_ends_or_is_cancelled(
    live_client: httpx2.AsyncClient,
) -> None:
    worker = await RestWorker.register(live_client, slots=9)
    for _ in range(3):
        await create(live_client, limits=[{"key": "customer-42", "max_running": 1}])
    (first,) = await worker.claim(most=9, wait=SOON)
    await worker.start(first)
    assert await worker.claim(most=9) == []
    await worker.complete(first)
    (second,) = await worker.claim(most=9, wait=SOON)
    await worker.start(second)
    await live_client.post(f"/v1/executions/{second['id']}/cancel")
    assert len(await worker.claim(most=9, wait=SOON)) == 1


async def test_it_gets_only_what_its_queues_tasks_and_labels_allow(live_client: httpx2.AsyncClient) -> None:
    worker = await RestWorker.register(live_client, slots=9, queues=["mail"], labels={"region": "eu"})
    await RestWorker.register(live_client, tasks=["other"])
    await create(live_client, queue="reports")
    await create(live_client, queue="mail", task="other")
    await create(live_client, queue="mail", requires={"labels": {"region": "us"}})
    wanted = await create(live_client, queue="mail", requires={"labels": {"region": "eu"}})
    (run,) = await worker.claim(most=9, wait=SOON)
    assert (await execution(live_client, run))["job_id"] == wanted


async def test_a_shell_reads_lines_instead_of_json(live_client: httpx2.AsyncClient) -> None:
    headers = {"accept": "text/tab-separated-values"}
    answer = await live_client.post("/v1/workers", json={"name": "rest", "tasks": ["work"]}, headers=headers)
    word, worker, lease, beat = answer.text.removesuffix("\n").split("\t")
    assert (answer.status_code, word, lease, beat) == (201, "worker", "15", "3")
    await create(live_client, payload={"text": "tab\there,\nline"})
    path = f"/v1/workers/{worker}"
    claimed = await live_client.post(f"{path}/claim", json={"wait": SOON}, headers=headers)
    word, run, attempt, task, timeout, _, _, payload = claimed.text.removesuffix("\n").split("\t")
    assert (word, attempt, task, timeout) == ("run", "1", "work", "300")
    assert payload == '{"text":"tab\\there,\\nline"}'
    await live_client.post(f"/v1/executions/{run}/cancel")
    await live_client.post(f"{path}/drain")
    told = await live_client.post(f"{path}/heartbeat", headers=headers)
    assert [line.split("\t")[:3] for line in told.text.splitlines()] == [
        ["lease", "15"],
        ["drain"],
        ["stop", run, "1"],
    ]


async def test_a_result_that_is_too_large_is_refused_with_the_limit(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    await create(live_client)
    (run,) = await rest.claim(wait=SOON)
    answer = await rest.report(run, "complete", result="x" * (256 * 1024))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "result"
    await rest.complete(run, "short")


async def test_a_long_error_is_cut(live_client: httpx2.AsyncClient, rest: RestWorker) -> None:
    await create(live_client)
    (run,) = await rest.claim(wait=SOON)
    error = {"type": "T" * 300, "message": "m" * 9000, "traceback": "begin" + "t" * 20_000 + "end"}
    await rest.fail(run, error=error, retry=False)
    kept = (await execution(live_client, run))["error"]
    assert (len(kept["type"]), len(kept["message"]), len(kept["traceback"])) == (200, 4000, 16_000)
    assert kept["traceback"].endswith("end")


async def test_reports_name_every_bad_field(live_client: httpx2.AsyncClient, rest: RestWorker) -> None:
    await create(live_client)
    (run,) = await rest.claim(wait=SOON)
    path = f"/v1/executions/{run['id']}"
    for word, body, wrong in (
        ("start", {}, {"attempt"}),
        ("progress", {"attempt": 0, "fraction": 2, "log": [1]}, {"attempt", "fraction", "log[0]"}),
        ("complete", {"attempt": "1", "resutl": 1}, {"attempt", "resutl"}),
        ("fail", {"attempt": 1, "error": {"message": 1}}, {"error.type", "error.message"}),
        (
            "fail",
            {"attempt": 1, "error": {"type": "a", "message": ""}, "retry_after": "soon"},
            {"retry_after"},
        ),
    ):
        answer = await live_client.post(f"{path}/{word}", json=body)
        assert answer.status_code == 422, answer.text
        assert {error["path"] for error in answer.json()["errors"]} == wrong


async def test_nothing_of_another_tenant_can_be_touched(
    client: httpx2.AsyncClient, make_tenant: MakeTenant
) -> None:
    ann, bob = await make_tenant("ann"), await make_tenant("bob")
    worker = await RestWorker.register(ann.admin)
    await create(ann.admin)
    (run,) = await worker.claim()
    theirs = RestWorker(bob.admin, worker.id)
    for word in ("heartbeat", "claim", "drain"):
        assert (await bob.admin.post(f"/v1/workers/{worker.id}/{word}")).status_code == 404
    error = {"type": "a", "message": "b"}
    for word, fields in (("start", {}), ("progress", {}), ("complete", {}), ("fail", {"error": error})):
        assert (await theirs.report(run, word, **fields)).status_code == 404
    own = await RestWorker.register(bob.admin)
    assert await own.claim() == []
    assert await worker.start(run)


async def test_unknown_workers_and_executions_are_404(
    live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    for number in ("w0", "wzzzzzzz"):
        for word in ("heartbeat", "claim", "drain"):
            assert (await live_client.post(f"/v1/workers/{number}/{word}")).status_code == 404
    assert (await rest.report({"id": "e1-1", "attempt": 1}, "complete")).status_code == 404


async def test_only_worker_keys_may_work(
    node: Node, live_client: httpx2.AsyncClient, connect: Connect
) -> None:
    for scope, status in (("write", 403), ("read", 403), ("worker", 201)):
        secret = (await live_client.post("/v1/keys", json={"name": scope, "scopes": [scope]})).json()[
            "secret"
        ]
        client = await connect(node, secret)
        answer = await client.post("/v1/workers", json={"name": "rest", "tasks": ["work"]})
        assert answer.status_code == status


async def test_a_node_that_stops_lets_waiting_claims_go(
    node: Node, live_client: httpx2.AsyncClient, rest: RestWorker
) -> None:
    claim = asyncio.create_task(rest.claim(wait=30))
    await eventually(lambda: _waits(node), within=SOON)
    node.end_streams()
    assert await claim == []


def _waits(node: Node) -> bool:
    return bool(node.rest_workers._arrived._waiters)
