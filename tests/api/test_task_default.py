"""What a task says by its decorator holds for its jobs, however they are created."""

from typing import Any

import httpx2
import pytest

from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

DEFAULTS = {
    "priority": "high",
    "queue": "mail",
    "timeout": "90s",
    "retry": {"max_attempts": 2, "only_on": ["OSError"]},
}
BUILT_IN = ("normal", "default", 300.0, 4, [])
PATCH = {"content-type": "application/merge-patch+json"}


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await offer(still_node, DEFAULTS)


async def offer(node: Node, defaults: dict[str, Any]) -> ScriptedWorker:
    return await ScriptedWorker.connect(node, tasks=["work"], defaults=defaults)


async def create(client: httpx2.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/v1/jobs", json={"task": "work", "schedule": "every 1h", **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def shown(job: dict[str, Any]) -> tuple[Any, ...]:
    retry = job["retry"]
    return job["priority"], job["queue"], job["timeout"], retry["max_attempts"], retry["only_on"]


async def test_a_job_that_says_nothing_is_run_as_its_task_says(client: httpx2.AsyncClient) -> None:
    job = await create(client)
    assert shown(job) == ("high", "mail", 90.0, 2, ["OSError"])
    assert (await client.get(f"/v1/jobs/{job['id']}")).json() == job
    execution = (await client.post(f"/v1/jobs/{job['id']}/run")).json()
    assert execution["max_attempts"] == 2


async def test_jobs_of_a_batch_too(client: httpx2.AsyncClient) -> None:
    batch = [
        {"task": "work", "payload": {"n": 1}},
        {"task": "work", "payload": {"n": 2}},
        {"task": "work", "priority": "normal"},
    ]
    made = (await client.post("/v1/jobs/batch", json=batch)).json()["items"]
    first, alike, other = [(await client.get(f"/v1/jobs/{each['id']}")).json() for each in made]
    assert shown(first) == shown(alike) == ("high", "mail", 90.0, 2, ["OSError"])
    assert (first["payload"], alike["payload"]) == ({"n": 1}, {"n": 2})
    assert shown(other) == ("normal", "mail", 90.0, 2, ["OSError"])


async def test_what_a_job_says_counts_also_when_it_is_what_tickwork_would_say(
    client: httpx2.AsyncClient,
) -> None:
    said = {"priority": "normal", "queue": "default", "timeout": "5m"}
    job = await create(client, **said, retry={"max_attempts": 4, "only_on": []})
    assert shown(job) == BUILT_IN
    partly = await create(client, retry={"max_attempts": 9})
    assert shown(partly) == ("high", "mail", 90.0, 9, ["OSError"])


async def test_jobs_that_are_there_stay_as_they_are(client: httpx2.AsyncClient, still_node: Node) -> None:
    job = await create(client)
    await offer(still_node, {"priority": "low"})
    assert shown(await create(client)) == ("low", "default", 300.0, 4, [])
    assert (await client.get(f"/v1/jobs/{job['id']}")).json() == job
    place = f"/v1/jobs/{job['id']}"
    tagged = (await client.patch(place, json={"tags": ["a"]}, headers=PATCH)).json()
    assert shown(tagged) == shown(job)


async def test_a_job_made_before_its_task_said_anything_is_not_changed_by_a_patch(
    client: httpx2.AsyncClient, still_node: Node
) -> None:
    await offer(still_node, {})
    job = await create(client)
    assert shown(job) == BUILT_IN
    await offer(still_node, DEFAULTS)
    tagged = await client.patch(f"/v1/jobs/{job['id']}", json={"tags": ["a"]}, headers=PATCH)
    assert shown(tagged.json()) == BUILT_IN


async def test_null_gives_a_field_back_to_the_task(client: httpx2.AsyncClient) -> None:
    job = await create(client, priority="low", retry={"max_attempts": 7})
    place = f"/v1/jobs/{job['id']}"
    patched = await client.patch(
        place, json={"priority": None, "retry": {"max_attempts": None}}, headers=PATCH
    )
    assert shown(patched.json()) == ("high", "mail", 90.0, 2, ["OSError"])


async def test_tasks_are_shown_with_their_defaults(client: httpx2.AsyncClient) -> None:
    (task,) = (await client.get("/v1/tasks")).json()["items"]
    assert task["defaults"] == DEFAULTS


@pytest.mark.parametrize(
    "bad",
    [
        {"priority": "urgent"},
        {"queue": "a b"},
        {"queue": 3},
        {"timeout": "soon"},
        {"timeout": "30d"},
        {"retry": {"max_attempts": 0}},
        {"retry": {"initial": "soon"}},
        {"retry": {"unknown": 1}},
        {"retry": "often"},
        {"colour": "red"},
    ],
    ids=str,
)
async def test_what_a_worker_says_wrong_is_left_out_and_hinders_nobody(
    client: httpx2.AsyncClient, still_node: Node, bad: dict[str, Any]
) -> None:
    worker = await offer(still_node, {"priority": "low", "queue": "mail"} | bad)
    assert worker.welcome
    expected = {"priority": "low", "queue": "mail"}
    (task,) = (await client.get("/v1/tasks")).json()["items"]
    assert task["defaults"] == {name: value for name, value in expected.items() if name not in bad}
    await create(client)


async def test_a_rest_worker_says_them_too_and_hears_what_is_wrong(client: httpx2.AsyncClient) -> None:
    offered = {"name": "work", "defaults": {"priority": "low"}}
    assert (await client.post("/v1/workers", json={"name": "sh", "tasks": [offered]})).status_code == 201
    assert (await create(client))["priority"] == "low"
    wrong = {"name": "work", "defaults": {"timeout": "30d"}}
    answer = await client.post("/v1/workers", json={"name": "sh", "tasks": [wrong]})
    assert [error["path"] for error in answer.json()["errors"]] == ["tasks[0].defaults.timeout"]
