"""Ids are no secrets: what belongs to another tenant is answered exactly as what does not exist."""

from typing import Any

import asyncpg
import httpx2
import pytest

from api.database_dump import dump
from api.test_tenancy import CALLBACKS, CANARY, WITH_ID, Estate, ask, estate, resource  # noqa: F401 (a fixture)
from tickwork.api.asgi_app import ROUTES

# As long as ids of today, and far beyond all that are given out.
NOT_THERE = {
    "jobs": "jzzzzzzz", "executions": "ezzzzzzz-1k0avmtt23w", "workers": "wzzzzz", "keys": "kzzzzz",
    "backfills": "bzzzzzzz",
    "notifications": "nzzzzzzz",
}  # fmt: skip


def told(answer: httpx2.Response, name: str) -> tuple[int, dict[str, Any], Any]:
    """All that an answer tells, but for the id that was asked for."""
    body = answer.json()
    if isinstance(body, dict):
        for passing in ("request_id", "as_of"):
            body.pop(passing, None)
    headers = {
        word: value
        for word, value in answer.headers.items()
        if word not in ("x-request-id", "content-length")
    }
    return answer.status_code, headers, _without(body, name)


def _without(body: Any, name: str) -> Any:
    if isinstance(body, dict):
        return {word: _without(value, name) for word, value in body.items()}
    if isinstance(body, list):
        return [_without(value, name) for value in body]
    return body.replace(name, "ID") if isinstance(body, str) else body


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "text/tab-separated-values"])
async def test_every_route_answers_as_if_it_did_not_exist(estate: Estate, accept: str) -> None:  # noqa: F811
    bob = estate.bob.admin
    bob.headers["accept"] = accept
    for route in WITH_ID:
        unknown = NOT_THERE[resource(route)]
        expected = told(await ask(bob, route, route.path.replace("{id}", unknown)), unknown)
        assert expected[0] == CALLBACKS.get(route.path, 404)
        for foreign in estate.ids[resource(route)]:
            answer = await ask(bob, route, route.path.replace("{id}", foreign))
            assert told(answer, foreign) == expected, f"{route.method} {route.path}"


async def test_every_question_and_list_of_ids_is_answered_alike(
    estate: Estate,  # noqa: F811
    connection: asyncpg.Connection,
) -> None:
    bob = estate.bob.admin
    job, worker = estate.ids["jobs"][0], estate.ids["workers"][0]
    before = await dump(connection)

    async def both(method: str, path: str, foreign: str, unknown: str, body: Any = None) -> None:
        answers = [
            told(await bob.request(method, path.replace("ID", name), json=_with(body, name)), name)
            for name in (foreign, unknown)
        ]
        assert answers[0] == answers[1], f"{method} {path} {body}"

    await both("GET", "/v1/executions?job=ID", job, NOT_THERE["jobs"])
    await both("GET", "/v1/executions?worker=ID", worker, NOT_THERE["workers"])
    await both("GET", "/v1/dead-letters?job=ID", job, NOT_THERE["jobs"])
    for deed in ("redrive", "discard"):
        path = f"/v1/dead-letters/{deed}"
        for dead in estate.ids["executions"]:
            await both("POST", path, dead, NOT_THERE["executions"], {"ids": ["ID"]})
        await both("POST", path, job, NOT_THERE["jobs"], {"filter": {"job": "ID"}})
    for entry in ("ID", {"job": "ID", "on": "any outcome"}):
        await both("POST", "/v1/jobs", job, NOT_THERE["jobs"], {"task": "mine", "depends_on": [entry]})
        await both(
            "POST", "/v1/jobs/batch", job, NOT_THERE["jobs"], [{"task": "mine", "depends_on": [entry]}]
        )
    await both("GET", "/v1/queues/ID", CANARY, "nothing")
    theirs, nobodys = f"https://{CANARY}.example.com", "https://x.example.com"
    await both("POST", "/v1/breakers/reset", theirs, nobodys, {"destination": "ID"})
    assert await dump(connection) == before


def _with(body: Any, name: str) -> Any:
    if isinstance(body, dict):
        return {word: _with(value, name) for word, value in body.items()}
    if isinstance(body, list):
        return [_with(value, name) for value in body]
    return name if body == "ID" else body


async def test_a_page_of_another_tenant_leads_to_ones_own(estate: Estate) -> None:  # noqa: F811
    lists = [
        route.path for route in ROUTES if route.method == "GET" and "{" not in route.path and route.query
    ]
    compared = 0
    for path in lists:
        first = await estate.ann.admin.get(path, params={"limit": 1})
        if first.status_code != 200 or not first.json().get("next_cursor"):
            continue
        page = await estate.bob.admin.get(path, params={"cursor": first.json()["next_cursor"]})
        assert page.status_code == 200
        whole = await estate.bob.admin.get(path)
        own = [item.get("id", item.get("name")) for item in whole.json()["items"]]
        assert {item.get("id", item.get("name")) for item in page.json()["items"]} <= set(own)
        compared += 1
    assert compared >= 2  # jobs and executions at least


async def test_an_idempotency_key_of_another_tenant_is_free(estate: Estate) -> None:  # noqa: F811
    headers = {"idempotency-key": "the-same"}
    mine = await estate.ann.admin.post("/v1/jobs", json={"task": f"mine.{CANARY}"}, headers=headers)
    assert mine.status_code == 201
    theirs = await estate.bob.admin.post("/v1/jobs", json={"task": "mine"}, headers=headers)
    assert theirs.status_code == 201
    assert "idempotent-replayed" not in theirs.headers
    assert theirs.json()["id"] != mine.json()["id"]
