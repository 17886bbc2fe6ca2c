"""Queues as users see, limit, pause and fill them."""

import asyncio
import re
from datetime import timedelta

import asyncpg
import httpx2
import pytest

from api.conftest import MakeTenant
from tickwork.model.queue import DEPTH_LIMIT
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

IDLE = {
    "paused": False,
    "max_running": None,
    "rate": None,
    "max_backlog": None,
    "max_workers": None,
    "priority": "normal",
    "retention": None,
    "depth": 0,
    "depth_is_exact": True,
    "depth_by_priority": {"critical": 0, "high": 0, "normal": 0, "low": 0},
    "running": 0,
    "oldest_age": None,
}
FILL = """
INSERT INTO tickwork.execution (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at)
SELECT 1, tickwork.clock() - n * interval '1 ms', 1, l.id, 2, 'schedule', 'pending', tickwork.clock()
FROM generate_series(1, $2::int) n, tickwork.lane l WHERE l.queue = $1
"""


@pytest.fixture
async def offered(still_node: Node) -> None:
    """The task is known, but nobody is there to run it."""
    await ScriptedWorker.offer_only(still_node, ["work"])


async def submit(client: httpx2.AsyncClient, queue: str = "mail", **fields: object) -> httpx2.Response:
    return await client.post("/v1/jobs", json={"task": "work", "queue": queue, **fields})


async def look(client: httpx2.AsyncClient, queue: str = "mail") -> dict:
    answer = await client.get(f"/v1/queues/{queue}")
    assert answer.status_code == 200
    return answer.json()


async def test_a_queue_is_there_from_its_first_job_on(client: httpx2.AsyncClient, offered: None) -> None:
    assert (await client.get("/v1/queues")).json() == {"items": [], "next_cursor": None}
    assert (await client.get("/v1/queues/mail")).status_code == 404
    await submit(client, schedule="every 1h")
    assert await look(client) == {"name": "mail", **IDLE}


async def test_shows_what_waits_since_when_and_how_urgent_it_is(
    clock: SettableClock, client: httpx2.AsyncClient, offered: None
) -> None:
    for priority in ("low", "high", "high"):
        await submit(client, priority=priority)
    await clock.advance(timedelta(seconds=90))
    await submit(client)
    await submit(client, schedule="in 10m")
    assert await look(client) == {
        "name": "mail",
        **IDLE,
        "depth": 4,
        "depth_by_priority": {"critical": 0, "high": 2, "normal": 1, "low": 1},
        "oldest_age": 90.0,
    }


async def test_shows_what_runs(client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker) -> None:
    for queue in ("mail", "mail", "other"):
        await submit(client, queue)
    await still_node.step("claim")
    assert (await look(client))["running"] == 2
    (run, *_) = await worker.runs()
    await worker.complete(run)
    counts = [item["running"] for item in (await client.get("/v1/queues")).json()["items"]]
    assert sum(counts) == 2


async def test_a_long_line_is_not_counted_to_its_end(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, offered: None
) -> None:
    await submit(client)
    await connection.execute(FILL, "mail", DEPTH_LIMIT - 1)
    queue = await look(client)
    assert (queue["depth"], queue["depth_is_exact"]) == (DEPTH_LIMIT, True)
    await submit(client)
    queue = await look(client)
    assert (queue["depth"], queue["depth_is_exact"]) == (DEPTH_LIMIT, False)


async def test_lists_by_name_page_by_page(client: httpx2.AsyncClient, offered: None) -> None:
    for queue in ("c", "a"):
        await submit(client, queue)
    await client.post("/v1/queues/b/pause")
    names, cursor = [], ""
    for _ in range(3):
        page = (await client.get(f"/v1/queues?limit=1{cursor}")).json()
        names += [item["name"] for item in page["items"]]
        cursor = f"&cursor={page['next_cursor']}"
    assert names == ["a", "b", "c"]
    assert (await client.get(f"/v1/queues?limit=1{cursor}")).json() == {"items": [], "next_cursor": None}


async def test_settings_are_set_as_a_whole_and_before_the_first_job_too(client: httpx2.AsyncClient) -> None:
    limits = {"max_running": 10, "rate": "100/1m", "max_backlog": 1000}
    answer = await client.put("/v1/queues/mail", json=limits)
    assert (answer.status_code, answer.json()) == (200, {"name": "mail", **IDLE, **limits})
    assert await look(client) == answer.json()
    answer = await client.put("/v1/queues/mail", json={"rate": "5/s", "max_running": None})
    assert answer.json() == {"name": "mail", **IDLE, "rate": "5/s"}


async def test_settings_do_not_touch_the_pause_nor_the_pause_the_settings(client: httpx2.AsyncClient) -> None:
    await client.post("/v1/queues/mail/pause")
    answer = await client.put("/v1/queues/mail", json={"max_running": 1})
    assert (answer.json()["paused"], answer.json()["max_running"]) == (True, 1)
    for _ in range(2):
        answer = await client.post("/v1/queues/mail/resume")
        assert (answer.json()["paused"], answer.json()["max_running"]) == (False, 1)


async def test_an_unknown_setting_is_told_the_right_one_and_nothing_is_set(
    client: httpx2.AsyncClient,
) -> None:
    answer = await client.put("/v1/queues/mail", json={"max_runing": 3})
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"path": "max_runing", "message": "is not known here", "hint": "did you mean 'max_running'?"}
    ]
    assert (await client.get("/v1/queues/mail")).status_code == 404


async def test_a_wrong_method_is_told_the_right_ones(client: httpx2.AsyncClient) -> None:
    answer = await client.patch("/v1/queues/mail", json={})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, PUT")


async def test_a_queue_on_which_nothing_is_set_leaves_nothing_behind(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    await client.put("/v1/queues/mail", json={"max_running": 1})
    await client.post("/v1/queues/mail/pause")
    await client.put("/v1/queues/mail", json={})
    assert await connection.fetchval("SELECT count(*) FROM tickwork.limiter") == 1
    assert (await client.post("/v1/queues/mail/resume")).json() == {"name": "mail", **IDLE}
    assert await connection.fetchval("SELECT count(*) FROM tickwork.limiter") == 0
    assert (await client.post("/v1/queues/mail/resume")).status_code == 404


@pytest.mark.parametrize(
    ("limits", "path"),
    [
        ({"max_running": 0}, "max_running"),
        ({"rate": "fast"}, "rate"),
        ({"rate": "0/s"}, "rate"),
        ({"max_backlog": 10**6}, "max_backlog"),
        ({"paused": True}, "paused"),
    ],
)
async def test_a_bad_setting_is_named(client: httpx2.AsyncClient, limits: dict, path: str) -> None:
    answer = await client.put("/v1/queues/mail", json=limits)
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, path)
    assert (await client.get("/v1/queues/mail")).status_code == 404


@pytest.mark.parametrize("name", [".mail", "m%00l", "m%20l", "x" * 101])
async def test_what_is_no_name_is_not_found_and_cannot_be_set(client: httpx2.AsyncClient, name: str) -> None:
    assert (await client.get(f"/v1/queues/{name}")).status_code == 404
    assert (await client.post(f"/v1/queues/{name}/resume")).status_code == 404
    for answer in (
        await client.put(f"/v1/queues/{name}", json={}),
        await client.post(f"/v1/queues/{name}/pause"),
    ):
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "name")


async def test_a_tenant_sees_and_sets_only_its_own(
    client: httpx2.AsyncClient, make_tenant: MakeTenant, offered: None
) -> None:
    other = await make_tenant("other")
    await submit(client)
    await client.put("/v1/queues/mail", json={"max_backlog": 1})
    assert (await other.admin.get("/v1/queues")).json()["items"] == []
    assert (await other.admin.get("/v1/queues/mail")).status_code == 404
    await other.admin.post("/v1/queues/mail/pause")
    assert (await look(client))["paused"] is False


async def test_nothing_is_created_in_a_full_queue(client: httpx2.AsyncClient, offered: None) -> None:
    await client.put("/v1/queues/mail", json={"max_backlog": 2})
    for _ in range(2):
        assert (await submit(client)).status_code == 201
    refused = await submit(client)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    assert refused.json()["type"] == "/docs/problems/queue-full"
    assert refused.json()["detail"] == "queue mail is full: 2 executions wait in it, and 2 may"
    assert (await submit(client, "other")).status_code == 201
    assert (await submit(client, schedule="in 10m")).status_code == 201
    assert (await submit(client, schedule="every 1h")).status_code == 201
    assert len((await client.get("/v1/jobs")).json()["items"]) == 5


async def test_a_batch_that_does_not_fit_is_refused_as_a_whole(
    client: httpx2.AsyncClient, offered: None
) -> None:
    await client.put("/v1/queues/mail", json={"max_backlog": 3})
    await submit(client)
    batch = [{"task": "work", "queue": queue} for queue in ("other", "mail", "mail", "mail")]
    refused = await client.post("/v1/jobs/batch", json=batch)
    assert refused.status_code == 429
    assert (
        refused.json()["detail"] == "queue mail may hold 3 executions that wait; 1 do, and 3 more do not fit"
    )
    assert len((await client.get("/v1/jobs")).json()["items"]) == 1
    assert (await client.post("/v1/jobs/batch", json=batch[:-1])).status_code == 201


async def test_a_run_now_into_a_full_queue_is_refused(client: httpx2.AsyncClient, offered: None) -> None:
    job = (await submit(client, schedule="every 1h")).json()["id"]
    await client.put("/v1/queues/mail", json={"max_backlog": 1})
    assert (await client.post(f"/v1/jobs/{job}/run")).status_code == 201
    assert (await client.post(f"/v1/jobs/{job}/run")).status_code == 429
    assert (await look(client))["depth"] == 1


async def test_a_refused_request_may_be_repeated_under_its_key_once_there_is_room(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    await client.put("/v1/queues/mail", json={"max_backlog": 1})
    key = {"idempotency-key": "one"}
    assert (await submit(client)).status_code == 201
    job = {"task": "work", "queue": "mail"}
    assert (await client.post("/v1/jobs", json=job, headers=key)).status_code == 429
    await still_node.step("claim")
    assert (await client.post("/v1/jobs", json=job, headers=key)).status_code == 201


async def test_who_comes_together_is_refused_alone(client: httpx2.AsyncClient, offered: None) -> None:
    await client.put("/v1/queues/mail", json={"max_backlog": 3})
    queues = ["mail", "other"] * 10
    answers = await asyncio.gather(*[submit(client, queue) for queue in queues])
    created = [queue for queue, answer in zip(queues, answers, strict=True) if answer.status_code == 201]
    assert (created.count("mail"), created.count("other")) == (3, 10)


async def test_metrics_tell_how_much_waits_in_each_queue(client: httpx2.AsyncClient, offered: None) -> None:
    for queue in ("mail", "mail", "other"):
        await submit(client, queue)
    text = (await client.get("/metrics")).text
    assert 'tickwork_queue_depth{queue="mail"} 2.0' in text
    assert 'tickwork_queue_depth{queue="other"} 1.0' in text
    assert 'tickwork_queue_oldest_age_seconds{queue="mail"}' in text


async def test_metrics_count_what_was_handed_out_of_each_queue(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    before = await started(client, "counted")
    for queue in ("counted", "counted", "other"):
        await submit(client, queue)
    await still_node.step("claim")
    assert await started(client, "counted") - before == 2


async def started(client: httpx2.AsyncClient, queue: str) -> float:
    found = re.search(
        rf'tickwork_queue_started_total{{queue="{queue}"}} (\S+)', (await client.get("/metrics")).text
    )
    return float(found[1]) if found else 0.0
