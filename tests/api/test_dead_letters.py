"""/dead-letters and retrying by hand, over HTTP."""

from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from api.conftest import MakeTenant
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.store import dead_letter_store as dead_letter
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

PATH = "/v1/dead-letters"
ONCE = {"max_attempts": 1}
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, tasks=["work", "other"])


class Failing:
    """Makes jobs that fail, one a minute."""

    def __init__(
        self, client: httpx2.AsyncClient, node: Node, worker: ScriptedWorker, clock: SettableClock
    ) -> None:
        self._client, self._node, self._worker, self._clock = client, node, worker, clock

    async def __call__(self, error: str = "ValueError", **fields: Any) -> str:
        answer = await self._client.post("/v1/jobs", json={"task": "work", "retry": ONCE, **fields})
        assert answer.status_code == 201, answer.text
        await self._node.step("claim")
        for run in await self._worker.runs():
            await self._worker.fail(run, Failure(error, "no"))
        await self._clock.advance(MINUTE)
        await self._worker.beat()
        (item, *_) = (await self._client.get(PATH)).json()["items"]
        assert item["job_id"] == answer.json()["id"]
        return str(item["id"])


@pytest.fixture
async def failing(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> Failing:
    return Failing(client, still_node, worker, clock)


async def ids(client: httpx2.AsyncClient, **query: Any) -> list[str]:
    """All pages."""
    found: list[str] = []
    while True:
        answer = await client.get(PATH, params=query)
        assert answer.status_code == 200, answer.text
        found += [item["id"] for item in answer.json()["items"]]
        query["cursor"] = answer.json()["next_cursor"]
        if query["cursor"] is None:
            return found


async def post(client: httpx2.AsyncClient, deed: str, body: object, **headers: str) -> dict[str, Any]:
    answer = await client.post(f"{PATH}/{deed}", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_a_dead_letter_tells_what_to_know_before_it_is_redriven(
    client: httpx2.AsyncClient, failing: Failing
) -> None:
    name = await failing(name="charge", key="k", queue="money")
    (item,) = (await client.get(PATH)).json()["items"]
    execution = (await client.get(f"/v1/executions/{name}")).json()
    assert item == {
        "id": name,
        "job_id": "j1",
        "job_name": "charge",
        "job_key": "k",
        "task": "work",
        "queue": "money",
        "trigger": "schedule",
        "scheduled_for": execution["scheduled_for"],
        "failed_at": execution["finished_at"],
        "attempts": 1,
        "reason": "attempts used up",
        "error": {"type": "ValueError", "message": "no", "traceback": None},
    }


async def test_filters_and_pages_go_together(
    client: httpx2.AsyncClient, failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letter, "CHUNK", 2)  # rows that one page looks through
    first = await failing("a.b.OddError", queue="q1")
    second = await failing("Http503", task="other")
    third = await failing("OddError")
    newest_first = [third, second, first]
    assert await ids(client, limit=1) == await ids(client, limit=2) == await ids(client) == newest_first
    assert await ids(client, error="OddError", limit=1) == [third, first]
    assert await ids(client, error="a.b.OddError") == [first]
    assert await ids(client, error="Error") == []
    assert await ids(client, task="other") == [second]
    assert await ids(client, queue="q1") == [first]
    assert await ids(client, job="j3", limit=1) == [third]
    assert await ids(client, job="j99") == []
    failed_at = (await client.get(f"/v1/executions/{second}")).json()["finished_at"]
    assert await ids(client, since=failed_at) == [third, second]
    assert await ids(client, until=failed_at) == [second, first]


async def test_redrives_by_id_and_says_what_it_did_not_know(
    client: httpx2.AsyncClient, failing: Failing
) -> None:
    name = await failing()
    done = await post(client, "redrive", {"ids": [name, name, "e99-1"]})
    assert (done["redriven"], done["not_found"], done["refused"]) == (1, ["e99-1"], [])
    execution = (await client.get(f"/v1/executions/{name}")).json()
    assert (execution["status"], execution["attempt"], execution["max_attempts"]) == ("pending", 2, 2)
    assert done["last_at"] == execution["due_at"]
    again = await post(client, "redrive", {"ids": [name]})
    assert (again["redriven"], again["not_found"], again["last_at"]) == (0, [name], None)


async def test_redrives_by_filter_at_a_rate(client: httpx2.AsyncClient, failing: Failing) -> None:
    names = [await failing() for _ in range(3)]
    other = await failing("KeyError")
    body = {"filter": {"error": "ValueError"}, "rate": "2/1m", "max": 2}
    done = await post(client, "redrive", body)
    assert done["redriven"] == 2
    due = [(await client.get(f"/v1/executions/{name}")).json()["due_at"] for name in names[:2]]
    first, second = map(datetime.fromisoformat, due)
    assert second - first == timedelta(seconds=30)
    assert done["last_at"] == due[1]
    assert await ids(client) == [other, names[2]]


async def test_an_empty_filter_means_all_and_must_be_said(
    client: httpx2.AsyncClient, failing: Failing
) -> None:
    names = [await failing() for _ in range(2)]
    for deed in ("redrive", "discard"):
        for body in ({}, {"ids": names, "filter": {}}, {"ids": None}):
            answer = await client.post(f"{PATH}/{deed}", json=body)
            assert answer.status_code == 422
            (error,) = answer.json()["errors"]
            assert (error["path"], error["hint"]) == ("ids", 'for all of them: {"filter": {}}')
    assert (await post(client, "discard", {"filter": {}}))["discarded"] == 2
    assert await ids(client) == []
    assert (await client.get(f"/v1/executions/{names[0]}")).json()["status"] == "failed"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"ids": []}, "ids"),
        ({"ids": ["e1-1", "j1"]}, "ids[1]"),
        ({"filter": {"job": "e1"}}, "filter.job"),
        ({"filter": {"since": "yesterday"}}, "filter.since"),
        ({"filter": {"taks": "work"}}, "filter.taks"),
        ({"filter": {}, "rate": "fast"}, "rate"),
        ({"filter": {}, "rate": "1/10000000s"}, "rate"),
        ({"filter": {}, "max": 0}, "max"),
        ({"filter": {}, "start_at": "9000-01-01T00:00:00Z"}, "start_at"),
    ],
)
async def test_bad_input_is_named(client: httpx2.AsyncClient, body: dict[str, Any], path: str) -> None:
    answer = await client.post(f"{PATH}/redrive", json=body)
    assert answer.status_code == 422, answer.text
    assert [error["path"] for error in answer.json()["errors"]] == [path]


async def test_the_same_request_again_is_answered_as_before(
    client: httpx2.AsyncClient, failing: Failing, still_node: Node, worker: ScriptedWorker
) -> None:
    name = await failing()
    first = await post(client, "redrive", {"filter": {}}, **{"Idempotency-Key": "k"})
    await still_node.step("claim")
    (run,) = await worker.runs()
    await worker.fail(run, Failure("ValueError", "no"))
    assert await post(client, "redrive", {"filter": {}}, **{"Idempotency-Key": "k"}) == first
    assert await ids(client) == [name]


async def test_nobody_touches_the_dead_letters_of_another_tenant(
    client: httpx2.AsyncClient, failing: Failing, make_tenant: MakeTenant
) -> None:
    name = await failing()
    other = (await make_tenant("other")).admin
    assert await ids(other) == await ids(other, job="j1") == []
    assert (await post(other, "redrive", {"filter": {}}))["redriven"] == 0
    assert (await post(other, "redrive", {"ids": [name]}))["not_found"] == [name]
    assert (await post(other, "discard", {"ids": [name]}))["not_found"] == [name]
    for path in (f"/v1/executions/{name}/retry", "/v1/jobs/j1/retry"):
        assert (await other.post(path)).status_code == 404
    assert await ids(client) == [name]


async def test_retries_an_execution_and_a_job(
    client: httpx2.AsyncClient, failing: Failing, still_node: Node, worker: ScriptedWorker
) -> None:
    name = await failing()
    for path, attempt in ((f"/v1/executions/{name}/retry", 2), ("/v1/jobs/j1/retry", 3)):
        retried = (await client.post(path)).json()
        assert (retried["id"], retried["status"], retried["attempt"]) == (name, "pending", attempt)
        answer = await client.post(path)
        assert answer.status_code == 409, answer.text
        await still_node.step("claim")
        (run,) = await worker.runs()
        await worker.fail(run, Failure("ValueError", "no"))
    assert (await client.post("/v1/jobs/j99/retry")).status_code == 404
    assert (await client.post("/v1/executions/e99-1/retry")).status_code == 404


async def test_a_skipped_one_is_not_retried(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await client.post("/v1/jobs", json={"task": "work", "schedule": "every 1m"})
    for _ in range(2):
        await clock.advance(MINUTE)
        await worker.beat()
        while await still_node.step("fire") or await still_node.step("claim"):
            pass
    (skipped,) = (await client.get("/v1/executions", params={"status": "skipped"})).json()["items"]
    answer = await client.post(f"/v1/executions/{skipped['id']}/retry")
    assert answer.status_code == 409
    assert answer.json()["detail"].endswith(f"execution {skipped['id']} is skipped")


async def test_an_edit_of_what_to_retry_on_takes_effect_at_once(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    await client.post("/v1/jobs", json={"task": "work"})
    await still_node.step("claim")
    (run,) = await worker.runs()
    answer = await client.patch("/v1/jobs/j1", json={"retry": {"only_on": ["ConnectionError"]}})
    assert answer.json()["retry"]["only_on"] == ["ConnectionError"]
    await worker.fail(run, Failure("ValueError", "no", kinds=["ValueError", "Exception"]))
    (item,) = (await client.get(PATH)).json()["items"]
    assert item["reason"] == "not to be retried: ValueError is not in only_on"


async def test_names_of_errors_are_bounded(client: httpx2.AsyncClient) -> None:
    retry = {"only_on": ["x"] * 51, "never_on": ["", "y" * 201]}
    answer = await client.post("/v1/jobs", json={"task": "work", "retry": retry})
    paths = [error["path"] for error in answer.json()["errors"]]
    assert paths == ["retry.only_on", "retry.never_on[0]", "retry.never_on[1]"]
