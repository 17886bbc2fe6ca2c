"""Workers, tasks, previews, health, metrics and the document."""

from datetime import timedelta
from typing import Any

import asyncpg
import httpx2
import msgspec

from api.conftest import Connect
from support.waiting import eventually
from tickwork.api.asgi_app import ROUTES
from tickwork.api.openapi import document
from tickwork.model.public_ids import worker_id
from tickwork.model.worker_protocol import Drain
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

PARAMETERS = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}


async def status(client: httpx2.AsyncClient, path: str, wanted: str) -> bool:
    return bool((await client.get(path)).json()["status"] == wanted)


async def test_a_worker_is_shown_with_what_it_holds_and_whether_it_lives(
    clock: SettableClock, client: httpx2.AsyncClient, still_node: Node
) -> None:
    worker = await ScriptedWorker.connect(still_node, tasks=["work"])
    path = f"/v1/workers/{worker_id(worker.welcome.worker)}"
    await client.post("/v1/jobs/batch", json=[{"task": "work"}] * 3)
    await still_node.step("claim")
    shown = (await client.get(path)).json()
    assert {name: shown[name] for name in ("name", "status", "host", "tasks", "queues", "slots", "holding")} == {
        "name": "scripted", "status": "online", "host": "here", "tasks": ["work"], "queues": [], "slots": 1000,
        "holding": 3,
    }  # fmt: skip
    assert (await client.get("/v1/workers")).json()["items"] == [shown]
    await worker._connection.send(Drain())
    await eventually(lambda: status(client, path, "draining"), within=5)
    await clock.advance(timedelta(minutes=1))
    assert (await client.get(path)).json()["status"] == "offline"


async def test_workers_are_listed_newest_first_page_by_page(
    client: httpx2.AsyncClient, still_node: Node
) -> None:
    workers = [await ScriptedWorker.connect(still_node, tasks=["work"]) for _ in range(5)]
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while "cursor" not in query or query["cursor"]:
        page = (await client.get("/v1/workers", params=query)).json()
        seen += [item["id"] for item in page["items"]]
        query["cursor"] = page["next_cursor"]
    assert seen == [worker_id(worker.welcome.worker) for worker in reversed(workers)]


async def test_tasks_are_shown_with_their_parameters_and_the_workers_that_offer_them(
    client: httpx2.AsyncClient, still_node: Node
) -> None:
    assert (await client.get("/v1/tasks")).json()["items"] == []
    one = await ScriptedWorker.connect(still_node, {"b.mail": PARAMETERS, "a.work": {"type": "object"}})
    two = await ScriptedWorker.connect(still_node, {"b.mail": PARAMETERS})
    ids = [worker_id(worker.welcome.worker) for worker in (one, two)]
    shown = (await client.get("/v1/tasks")).json()["items"]
    fields = ("name", "parameters", "description", "workers", "defaults")
    assert [{name: task[name] for name in fields} for task in shown] == [
        {
            "name": "a.work",
            "parameters": {"type": "object"},
            "description": None,
            "workers": ids[:1],
            "defaults": {},
        },
        {"name": "b.mail", "parameters": PARAMETERS, "description": None, "workers": ids, "defaults": {}},
    ]


async def test_a_preview_says_when_and_what_is_odd_and_stores_nothing(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    body = {
        "schedule": "30 2 * * *",
        "timezone": "Europe/Paris",
        "after": "2026-03-27T12:00:00+01:00",
        "count": 3,
        "viewer_timezone": "Asia/Tokyo",
    }
    preview = (await client.post("/v1/schedules/preview", json=body)).json()
    assert preview["canonical"] == {"cron": "30 2 * * *", "timezone": "Europe/Paris"}
    assert "Europe/Paris" in preview["words"]
    assert [time["at"] for time in preview["times"]] == [
        "2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z",
    ]  # fmt: skip
    assert preview["times"][1]["note"]
    assert all("2026-03-" in time["viewer"] for time in preview["times"])
    for schedule in ("every 5m", {"in": "1h"}, "2027-01-01T00:00:00Z"):
        answer = await client.post("/v1/schedules/preview", json={"schedule": schedule})
        assert answer.status_code == 200
        again = await client.post("/v1/schedules/preview", json={"schedule": answer.json()["canonical"]})
        assert again.json()["canonical"] == answer.json()["canonical"]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.rule") == 0


async def test_a_preview_of_any_year_is_answered_or_refused(client: httpx2.AsyncClient) -> None:
    for year in (*range(1900, 2111, 6), 2098, 2099, 2100, 5000, 9999):
        for schedule in (
            "30 2 * * *",
            {"every": "7d", "exclude": {"weekends": True, "holidays": ["FR", "SA"]}},
        ):
            after = f"{year}-12-31T23:59:59-12:00"
            body = {"schedule": schedule, "timezone": "Europe/Paris", "after": after, "count": 100}
            answer = await client.post("/v1/schedules/preview", json=body)
            assert answer.status_code == (200 if 1971 <= year <= 2099 else 422), answer.text
            if answer.status_code == 422:
                (error,) = answer.json()["errors"]
                assert error["path"] == "after"
                assert error["hint"] == "use a year from 1971 to 2099"


async def test_health_answers_without_a_key_and_metrics_do_not(
    client: httpx2.AsyncClient, connect: Connect, still_node: Node
) -> None:
    nobody = await connect(still_node, None)
    assert (await nobody.get("/livez")).json() == {"alive": True}
    assert (await nobody.get("/readyz")).json() == {"ready": True, "checks": {"database": True}}
    assert (await nobody.head("/readyz")).status_code == 200
    assert (await nobody.get("/metrics")).status_code == 401
    metrics = (await client.get("/metrics")).text
    for name in (
        "tickwork_workers_connected",
        "tickwork_attempts_total",
        "tickwork_api_request_seconds_count",
    ):
        assert name in metrics


async def test_the_published_document_is_the_one_the_answers_are_held_against(
    client: httpx2.AsyncClient,
) -> None:
    answer = await client.get("/v1/openapi.json")
    assert answer.json() == msgspec.to_builtins(document(ROUTES))


async def test_a_path_that_does_not_exist_is_a_problem_like_any_other(client: httpx2.AsyncClient) -> None:
    for path in ("/v1/nothing", "/v1/jobs/j1/nothing", "/v1/jobs/", "http://127.0.0.1//v1/jobs"):
        assert (await client.get(path)).json()["type"] == "/docs/problems/not-found"


async def test_a_method_that_does_not_fit_is_told_which_do(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/v1/jobs", json={})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
