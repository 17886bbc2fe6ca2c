"""Secrets of HTTP jobs are written and never read back, by whatever key and in whatever answer."""

from typing import Any

import asyncpg
import httpx2
import msgspec
import pytest

from api.conftest import Connect
from tickwork.node import Node

SECRET, URL_SECRET, OTHER = "s3cret-of-the-header", "s3cret-of-the-url", "an0ther-secret"
HTTP = {
    "url": f"https://a.example/hook?token={URL_SECRET}&page=2",
    "headers": {"Authorization": f"Bearer {SECRET}", "X-Page": "1"},
}
SHOWN = {
    "url": "https://a.example/hook?token=***&page=2",
    "method": "POST",
    "headers": {"Authorization": "***", "X-Page": "1"},
    "send_parents": False,
    "completion": "answer",
    "heartbeat": None,
    "poll": None,
}
JOB = {"http": HTTP, "schedule": "every 1h", "key": "hook"}


@pytest.fixture
async def job(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.post("/v1/jobs", json=JOB)
    assert answer.status_code == 201
    return answer.json()


async def stored(connection: asyncpg.Connection) -> dict[str, Any]:
    row = await connection.fetchrow("SELECT target, definition FROM tickwork.job ORDER BY id DESC LIMIT 1")
    target = msgspec.json.decode(row["target"])
    definition = msgspec.json.decode(row["definition"])["http"]
    assert definition == target
    return target


async def test_no_answer_shows_a_secret_to_any_key(
    client: httpx2.AsyncClient, connect: Connect, still_node: Node, job: dict[str, Any]
) -> None:
    assert job["http"] == SHOWN
    made = await client.post("/v1/keys", json={"name": "reader", "scopes": ["read"]})
    reader = await connect(still_node, made.json()["secret"])
    path = f"/v1/jobs/{job['id']}"
    answers = [
        await who.get(where) for who in (client, reader) for where in (path, "/v1/jobs", f"{path}/graph")
    ]
    answers.append(await client.post(f"{path}/pause"))
    answers.append(await client.post(f"{path}/resume"))
    answers.append(await client.patch(path, json={"tags": ["a"]}))
    again = {**JOB, "if_exists": "keep"}
    answers.extend(
        [await client.post("/v1/jobs", json=again, headers={"idempotency-key": "1"}) for _ in "12"]
    )
    assert answers[-1].headers["idempotent-replayed"] == "true"
    answers.append(await client.post("/v1/jobs/batch", json=[{**JOB, "key": "second"}]))
    run = await client.post(f"{path}/run")
    answers.append(run)
    execution = run.json()["id"]
    answers.extend(
        [await reader.get(f"/v1/executions/{execution}{part}") for part in ("", "/why", "/attempts")]
    )
    answers.append(await client.delete(path))
    for answer in answers:
        assert answer.status_code < 300, answer.text
        assert SECRET not in answer.text
        assert URL_SECRET not in answer.text


async def test_what_was_shown_can_be_sent_back_without_losing_anything(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, job: dict[str, Any]
) -> None:
    before = await stored(connection)
    answer = await client.patch(f"/v1/jobs/{job['id']}", json={"http": job["http"], "tags": ["a"]})
    assert answer.status_code == 200
    assert answer.json()["http"] == SHOWN
    assert await stored(connection) == before
    answer = await client.post(
        "/v1/jobs", json={"http": job["http"], "schedule": "every 2h", "key": "hook", "if_exists": "replace"}
    )
    assert answer.status_code == 201
    assert answer.json()["id"] == job["id"]
    assert answer.json()["http"] == SHOWN
    assert await stored(connection) == before


async def test_a_new_value_takes_the_place_of_the_old_one(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, job: dict[str, Any]
) -> None:
    path = f"/v1/jobs/{job['id']}"
    await client.patch(path, json={"http": {"headers": {"Authorization": OTHER}}})
    assert (await stored(connection))["headers"] == {"Authorization": OTHER, "X-Page": "1"}
    await client.patch(path, json={"http": {"headers": {"Authorization": None}}})
    assert (await stored(connection))["headers"] == {"X-Page": "1"}
    answer = await client.patch(path, json={"http": {"headers": {"Authorization": "***"}}})
    assert answer.status_code == 422


@pytest.mark.parametrize("if_exists", ["error", "keep", "replace"])
async def test_a_mark_in_a_new_job_is_refused(client: httpx2.AsyncClient, if_exists: str) -> None:
    new = {"http": SHOWN, "key": "new", "if_exists": if_exists}
    answer = await client.post("/v1/jobs", json=new)
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {
            "path": "http.headers.Authorization",
            "message": "*** stands for a secret, and none is stored",
            "hint": "send the value itself",
        },
        {
            "path": "http.url",
            "message": "token=*** stands for a secret, and none is stored",
            "hint": "send the value itself",
        },
    ]
    answer = await client.post("/v1/jobs/batch", json=[{"http": HTTP}, new])
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "[1].http.headers.Authorization"
    assert (await client.get("/v1/jobs")).json()["items"] == []


async def test_a_mark_does_not_take_the_secret_of_a_cancelled_job(
    client: httpx2.AsyncClient, job: dict[str, Any]
) -> None:
    await client.delete(f"/v1/jobs/{job['id']}")
    answer = await client.post("/v1/jobs", json={"http": SHOWN, "key": "hook", "if_exists": "replace"})
    assert answer.status_code == 422


async def test_who_may_change_a_job_cannot_have_its_secrets_sent_to_himself(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, job: dict[str, Any]
) -> None:
    before = await stored(connection)
    path, mine = f"/v1/jobs/{job['id']}", "https://mine.example/"
    for answer in (
        await client.patch(path, json={"http": {"url": mine}}),
        await client.patch(path, json={"http": {"url": mine, "headers": {"Authorization": "***"}}}),
        await client.patch(
            path, json={"http": {"url": f"{mine}?token=***", "headers": {"Authorization": None}}}
        ),
        await client.post(
            "/v1/jobs", json={"key": "hook", "if_exists": "replace", "http": {**SHOWN, "url": mine}}
        ),
    ):
        assert answer.status_code == 422
        assert "has another destination" in answer.json()["errors"][0]["message"]
    assert await stored(connection) == before
    moved = await client.patch(path, json={"http": {"url": mine, "headers": {"Authorization": OTHER}}})
    assert moved.status_code == 200
    assert (await stored(connection))["headers"]["Authorization"] == OTHER


async def test_a_refused_request_does_not_repeat_a_secret(
    client: httpx2.AsyncClient, job: dict[str, Any]
) -> None:
    for http in (
        {"url": "https://a.example/", "headers": {"Authorization": f"{SECRET}\n"}},
        {"url": f"https://ann:{SECRET}@a.example/"},
        {"url": f"https://a.example/?token={SECRET} x"},
        {"url": f"https://a.example/?token={SECRET}#x"},
        {"url": "https://a.example/", "headers": {"Authorization": [SECRET]}},
    ):
        answer = await client.post("/v1/jobs", json={"http": http})
        assert answer.status_code == 422
        assert SECRET not in answer.text
