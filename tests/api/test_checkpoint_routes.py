"""Checkpoints over HTTP: those of REST workers and of targets that finish later, and what users see of them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx2
import pytest

from api.conftest import Connect
from support.loopback_target import Request, Target, respond, target
from support.rest_worker import RestWorker
from support.waiting import eventually
from tickwork.model.public_ids import parse_worker_id
from tickwork.node import Node

SOON = 20.0
RETRY = {"max_attempts": 2, "initial": 0}
EMPTY = {"state": None, "state_attempt": None, "state_at": None, "steps": []}


@pytest.fixture
async def rest(live_client: httpx2.AsyncClient) -> RestWorker:
    return await RestWorker.register(live_client)


async def begin(rest: RestWorker, **job: Any) -> dict[str, Any]:
    answer = await rest.client.post("/v1/jobs", json={"task": "work", "retry": RETRY, **job})
    assert answer.status_code == 201, answer.text
    return await claim(rest)


async def claim(rest: RestWorker) -> dict[str, Any]:
    (run,) = await rest.claim(wait=SOON)
    await rest.start(run)
    return run


async def shown(client: httpx2.AsyncClient, run: dict[str, Any]) -> dict[str, Any]:
    answer = await client.get(f"/v1/executions/{run['id']}/checkpoint")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_next_attempt_of_a_rest_worker_goes_on_from_there(rest: RestWorker) -> None:
    run = await begin(rest)
    steps = [{"name": "pay", "result": {"receipt": 7}, "took": 0.5}, {"name": "ship"}]
    for _ in range(2):  # the first answer may have been lost
        answer = await rest.report(run, "checkpoint", steps=steps, state={"page": 4}, number=1)
        assert (answer.status_code, answer.json()["outcome"]) == (200, None)
    await rest.fail(run)
    again = await claim(rest)
    stored = (await rest.report(again, "recall")).json()
    assert stored == await shown(rest.client, run)
    assert (stored["state"], stored["state_attempt"]) == ({"page": 4}, 1)
    assert [(step["name"], step["result"], step["attempt"], step["took"]) for step in stored["steps"]] == [
        ("pay", {"receipt": 7}, 1, 0.5),
        ("ship", None, 1, None),
    ]
    await rest.report(again, "checkpoint", state={"page": 5}, number=1)
    await rest.complete(again)
    assert (await shown(rest.client, run))["state"] == {"page": 5}


async def test_a_stale_attempt_is_refused(rest: RestWorker) -> None:
    run = await begin(rest)
    await rest.fail(run)
    again = await claim(rest)
    for word, fields in (("checkpoint", {"steps": [{"name": "pay"}]}), ("recall", {})):
        answer = await rest.report(run, word, **fields)
        assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (409, "stale-attempt")
    assert await shown(rest.client, again) == EMPTY


async def test_so_is_one_whose_lease_has_expired(
    node: Node, rest: RestWorker, connection: asyncpg.Connection
) -> None:
    run = await begin(rest)
    expire = "UPDATE tickwork.worker SET lease_until = tickwork.clock() - interval '1 minute' WHERE id = $1"
    await connection.execute(expire, parse_worker_id(rest.id))
    attempt = "SELECT attempt FROM tickwork.execution"

    async def is_rescued() -> bool:
        return bool(await connection.fetchval(attempt) == 2)

    await eventually(is_rescued, within=SOON)
    answer = await rest.report(run, "checkpoint", state=1, number=1)
    assert answer.status_code == 409
    assert await shown(rest.client, run) == EMPTY


async def test_to_another_tenant_there_is_no_such_execution(
    node: Node, rest: RestWorker, connect: Connect
) -> None:
    run = await begin(rest)
    key = {"name": "admin", "scopes": ["admin"], "tenant": "other"}
    secret = (await rest.client.post("/v1/keys", json=key)).json()["secret"]
    stranger = rest.on(await connect(node, secret))
    for word, fields in (("checkpoint", {"state": 1, "number": 1}), ("recall", {})):
        assert (await stranger.report(run, word, **fields)).status_code == 404
    for method in ("GET", "DELETE"):
        answer = await stranger.client.request(method, f"/v1/executions/{run['id']}/checkpoint")
        assert answer.status_code == 404


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "steps"),
        ({"state": 1}, "number"),
        ({"state": "x" * 300_000, "number": 1}, "state"),
        ({"state": "\0", "number": 1}, "state"),
        ({"steps": [{"name": ""}]}, "steps[0].name"),
        ({"steps": [{"name": "a\nb"}]}, "steps[0].name"),
        ({"steps": [{"name": "a"}, {"name": "a"}]}, "steps[1].name"),
        ({"steps": [{"name": "a", "result": "x" * 300_000}]}, "steps[0].result"),
        ({"steps": [{"name": "a", "took": -1}]}, "steps[0].took"),
        ({"steps": [{"name": f"{place}"} for place in range(101)]}, "steps"),
        ({"state": 1, "number": 0}, "number"),
        ({"state": 1, "number": 1, "stat": 2}, "stat"),
    ],
)
async def test_what_is_wrong_is_named(rest: RestWorker, fields: dict[str, Any], path: str) -> None:
    run = await begin(rest)
    answer = await rest.report(run, "checkpoint", **fields)
    assert answer.status_code == 422, answer.text
    assert [error["path"] for error in answer.json()["errors"]] == [path]


async def test_another_result_under_the_name_of_a_step_is_refused(rest: RestWorker) -> None:
    run = await begin(rest)
    await rest.report(run, "checkpoint", steps=[{"name": "pay", "result": 1}])
    answer = await rest.report(
        run, "checkpoint", steps=[{"name": "ship"}, {"name": "pay", "result": 2}], state=1, number=1
    )
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["path"] == "steps[1]"
    assert "stored with another result" in error["message"]
    stored = await shown(rest.client, run)
    assert [step["name"] for step in stored["steps"]] == ["pay", "ship"]
    assert stored["state"] == 1


async def test_a_state_that_comes_late_does_not_replace_a_newer_one(rest: RestWorker) -> None:
    run = await begin(rest)
    for number in (2, 1):
        answer = await rest.report(run, "checkpoint", state=number, number=number)
        assert answer.status_code == 200
    assert (await shown(rest.client, run))["state"] == 2


async def test_a_failed_execution_starts_afresh_after_its_checkpoint_was_deleted(rest: RestWorker) -> None:
    run = await begin(rest, retry={"max_attempts": 1})
    path = f"/v1/executions/{run['id']}"
    await rest.report(run, "checkpoint", steps=[{"name": "pay"}], state=1, number=1)
    assert (await rest.client.delete(f"{path}/checkpoint")).status_code == 409
    await rest.fail(run)
    for _ in range(2):
        deleted = await rest.client.delete(f"{path}/checkpoint")
        assert (deleted.status_code, deleted.json()) == (200, EMPTY)
    assert (await rest.client.post(f"{path}/retry")).status_code == 200
    assert (await rest.report(await claim(rest), "recall")).json() == EMPTY


class Reporter:
    """The target's end of one attempt."""

    def __init__(self, nobody: httpx2.AsyncClient, request: Request) -> None:
        self._nobody = nobody
        self._path = urlsplit(request.headers["tickwork-callback-url"]).path
        self.execution = request.headers["webhook-id"]
        self._headers = {"authorization": f"Bearer {request.headers['tickwork-callback-token']}"}

    async def post(self, word: str, **body: Any) -> httpx2.Response:
        return await self._nobody.post(f"{self._path}/{word}", headers=self._headers, json=body)

    async def recall(self) -> httpx2.Response:
        return await self._nobody.get(f"{self._path}/checkpoint", headers=self._headers)


@pytest.fixture
async def printer() -> AsyncIterator[Target]:
    async def accept(request: Request, writer: asyncio.StreamWriter) -> None:
        await respond("202 Accepted", b"")(request, writer)

    async with target(accept) as served:
        yield served


async def test_a_target_that_finishes_later_goes_on_from_its_checkpoint(
    node: Node, live_client: httpx2.AsyncClient, connect: Connect, printer: Target
) -> None:
    nobody = await connect(node, None)
    http = {"url": printer.url(), "completion": "callback"}
    await live_client.post("/v1/jobs", json={"http": http, "retry": RETRY})
    await eventually(lambda: len(printer.requests) == 1, within=SOON)
    first = Reporter(nobody, printer.requests[0])
    answer = await first.post("checkpoint", steps=[{"name": "print", "result": 12}], state=[1], number=1)
    assert answer.status_code == 200, answer.text
    failed = await first.post("fail", error={"type": "OutOfPaper", "message": "the tray is empty"})
    assert failed.status_code == 200
    await eventually(lambda: len(printer.requests) == 2, within=SOON)
    second = Reporter(nobody, printer.requests[1])
    stored = (await second.recall()).json()
    assert (stored["state"], [(step["name"], step["result"]) for step in stored["steps"]]) == (
        [1],
        [("print", 12)],
    )
    assert (await first.post("checkpoint", state=2, number=2)).status_code == 409
    assert (await first.recall()).status_code == 409
    assert (await second.post("complete")).status_code == 200
    assert await shown(live_client, {"id": second.execution}) == stored


async def test_without_the_token_a_target_learns_nothing(
    node: Node, live_client: httpx2.AsyncClient, connect: Connect, printer: Target
) -> None:
    http = {"url": printer.url(), "completion": "callback"}
    await live_client.post("/v1/jobs", json={"http": http})
    await eventually(lambda: len(printer.requests) == 1, within=SOON)
    path = urlsplit(printer.requests[0].headers["tickwork-callback-url"]).path
    for client in (await connect(node, None), live_client):
        assert (await client.get(f"{path}/checkpoint")).status_code == 401
        assert (await client.post(f"{path}/checkpoint", json={"state": 1, "number": 1})).status_code == 401
