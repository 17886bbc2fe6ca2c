"""Changing jobs: merge patches, versions, and changes that would make no sense."""

import asyncio
from typing import Any

import asyncpg
import httpx2
import pytest

from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

MERGE_PATCH = {"content-type": "application/merge-patch+json"}


@pytest.fixture
async def job(clock: SettableClock, worker: ScriptedWorker, client: httpx2.AsyncClient) -> dict[str, Any]:
    request = {
        "task": "work",
        "name": "report",
        "key": "report",
        "payload": {"to": "ann", "options": {"deep": 1, "gone": 2}},
        "schedule": "every 1h",
        "priority": "high",
        "queue": "mail",
        "tags": ["a", "b"],
        "retry": {"max_attempts": 2, "initial": "5s"},
    }
    return (await client.post("/v1/jobs", json=request)).json()


def path(job: dict[str, Any]) -> str:
    return f"/v1/jobs/{job['id']}"


async def test_only_what_is_named_is_changed(client: httpx2.AsyncClient, job: dict[str, Any]) -> None:
    patch = {"payload": {"options": {"gone": None, "new": [1]}}, "tags": ["c"], "retry": {"max_attempts": 7}}
    answer = await client.patch(path(job), json=patch, headers=MERGE_PATCH)
    assert answer.status_code == 200
    expected = {
        **job,
        "payload": {"to": "ann", "options": {"deep": 1, "new": [1]}},
        "tags": ["c"],
        "retry": {**job["retry"], "max_attempts": 7},
        "version": 2,
    }
    assert answer.json() == expected
    assert answer.headers["etag"] == '"2"'
    assert (await client.get(path(job))).json() == expected


async def test_null_gives_a_field_its_default_back(client: httpx2.AsyncClient, job: dict[str, Any]) -> None:
    patch = dict.fromkeys(["name", "key", "priority", "queue", "tags", "retry", "payload"])
    changed = (await client.patch(path(job), json=patch)).json()
    fields = {"name": None, "key": None, "priority": "normal", "queue": "default", "tags": [], "payload": {}}
    assert {name: changed[name] for name in fields} == fields
    assert changed["retry"]["max_attempts"] == 4
    assert changed["schedule"] == job["schedule"]


async def test_a_new_schedule_gives_a_new_time(client: httpx2.AsyncClient, job: dict[str, Any]) -> None:
    for schedule, canonical in [
        ("every 5m", {"every": 300}),
        ({"cron": "0 0 * * *"}, {"cron": "0 0 * * *", "timezone": "UTC"}),
        ({"cron": "0 1 * * *"}, {"cron": "0 1 * * *", "timezone": "UTC"}),
        ("every 1h", {"every": 3600}),
    ]:
        changed = (await client.patch(path(job), json={"schedule": schedule})).json()
        assert changed["schedule"] == canonical
    assert changed["next_run_at"] == job["next_run_at"]
    once = (await client.patch(path(job), json={"schedule": {"in": "90m"}})).json()
    assert once["schedule"].keys() == {"at"}
    assert once["next_run_at"] > job["next_run_at"]


async def test_a_change_for_an_older_version_is_refused_and_changes_nothing(
    client: httpx2.AsyncClient, job: dict[str, Any]
) -> None:
    old = (await client.get(path(job))).headers["etag"]
    now = await client.patch(path(job), json={"name": "new"}, headers={"if-match": old})
    assert now.headers["etag"] != old
    for request in (
        client.patch(path(job), json={"name": "lost"}, headers={"if-match": old}),
        client.delete(path(job), headers={"if-match": old}),
    ):
        answer = await request
        assert answer.status_code == 412
        assert "version is 2" in answer.json()["detail"]
    assert (await client.get(path(job))).json() == now.json()


async def test_a_change_that_makes_no_sense_names_every_field_and_changes_nothing(
    client: httpx2.AsyncClient, job: dict[str, Any]
) -> None:
    for patch, paths in [
        ({"schedul": "every 5m"}, ["schedul"]),
        ({"schedule": "every 5m", "timezone": "Europe/Pariss"}, ["timezone"]),
        ({"schedule": "0 0 30 2 *", "timeout": "soon"}, ["schedule", "timeout"]),
        ({"task": "wrok", "priority": "urgent"}, ["priority"]),
        ({"task": "wrok"}, ["task"]),
        ({"task": None}, ["task"]),
        ({"http": {"url": "https://example.com"}}, ["task"]),
        ({"http": {"method": "GET"}}, ["http.url"]),
        ({"retry": {"max_attempts": 0}, "queue": "a b"}, ["queue", "retry.max_attempts"]),
        ({"retry": {"max_atempts": 3}}, ["retry.max_atempts"]),
        ({"tags": ["ok", ""]}, ["tags[1]"]),
        ({"schedule": {"every": "5m", "cron": "0 9 * * *"}}, ["schedule"]),
        ({"schedule": {"every": None}}, ["schedule"]),
    ]:
        answer = await client.patch(path(job), json=patch)
        assert answer.status_code == 422, patch
        assert sorted(error["path"] for error in answer.json()["errors"]) == paths, patch
    assert (await client.get(path(job))).json() == job


async def test_the_fields_of_a_schedule_are_patched_as_they_are_shown(
    client: httpx2.AsyncClient, job: dict[str, Any]
) -> None:
    await client.patch(path(job), json={"schedule": "0 9 * * 1", "timezone": "Asia/Tokyo"})
    changed = (await client.patch(path(job), json={"schedule": {"timezone": "Europe/Paris"}})).json()
    assert changed["schedule"] == {"cron": "0 9 * * 1", "timezone": "Europe/Paris"}
    changed = (await client.patch(path(job), json={"schedule": {"cron": "0 8 * * *"}})).json()
    assert changed["schedule"] == {"cron": "0 8 * * *", "timezone": "Europe/Paris"}
    changed = (await client.patch(path(job), json={"schedule": {"every": "5m", "timezone": None}})).json()
    assert changed["schedule"] == {"every": 300}
    await client.patch(path(job), json={"schedule": "in 1h"})
    changed = (await client.patch(path(job), json={"schedule": {"at": job["next_run_at"]}})).json()
    assert changed["next_run_at"] == job["next_run_at"]


async def test_a_key_of_another_job_cannot_be_taken(client: httpx2.AsyncClient, job: dict[str, Any]) -> None:
    other = (await client.post("/v1/jobs", json={"task": "work", "key": "other"})).json()
    answer = await client.patch(path(other), json={"key": "report"})
    assert answer.status_code == 409
    assert "'report'" in answer.json()["detail"]
    assert (await client.get(path(other))).json()["key"] == "other"
    await client.delete(path(job))
    assert (await client.patch(path(other), json={"key": "report"})).status_code == 200


async def test_twenty_changes_at_once_all_take_effect(
    client: httpx2.AsyncClient, job: dict[str, Any]
) -> None:
    patches = [client.patch(path(job), json={"payload": {f"n{n}": n}}) for n in range(20)]
    answers = await asyncio.gather(*patches)
    assert {answer.status_code for answer in answers} == {200}
    payload = (await client.get(path(job))).json()["payload"]
    assert {name for name in payload if name.startswith("n")} == {f"n{n}" for n in range(20)}


async def test_of_twenty_changes_for_one_version_one_takes_effect(
    client: httpx2.AsyncClient, job: dict[str, Any]
) -> None:
    headers = {"if-match": '"1"'}
    patches = [client.patch(path(job), json={"name": f"{n}"}, headers=headers) for n in range(19)]
    answers = await asyncio.gather(*patches, client.delete(path(job), headers=headers))
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 19
    assert (await client.get(path(job))).json()["version"] == 2


async def test_a_job_moved_back_to_its_old_time_still_runs(
    clock: SettableClock, worker: ScriptedWorker, client: httpx2.AsyncClient, still_node: Node
) -> None:
    job = (await client.post("/v1/jobs", json={"task": "work", "schedule": {"in": "1h"}})).json()
    await client.patch(path(job), json={"schedule": {"in": "2h"}})
    answer = await client.patch(path(job), json={"schedule": {"at": job["next_run_at"]}})
    back = answer.json()
    assert (back["status"], back["next_run_at"]) == ("active", job["next_run_at"])


async def test_a_paused_job_that_is_given_a_new_time_stays_paused(
    worker: ScriptedWorker, client: httpx2.AsyncClient, still_node: Node
) -> None:
    job = (await client.post("/v1/jobs", json={"task": "work", "schedule": {"in": "1h"}})).json()
    await client.post(f"{path(job)}/pause")
    changed = (await client.patch(path(job), json={"schedule": None})).json()
    assert (changed["status"], changed["next_run_at"]) == ("paused", None)
    await still_node.step("claim")
    assert await worker.runs() == []
    await client.post(f"{path(job)}/resume")
    await still_node.step("claim")
    assert len(await worker.runs()) == 1


async def test_an_edit_of_what_has_run_does_not_run_it_again(
    worker: ScriptedWorker, client: httpx2.AsyncClient, still_node: Node, connection: asyncpg.Connection
) -> None:
    job = (await client.post("/v1/jobs", json={"task": "work", "schedule": {"in": 0}})).json()
    await still_node.step("claim")
    (run,) = await worker.runs()
    await worker.complete(run)
    changed = (await client.patch(path(job), json={"tags": ["done"]})).json()
    assert (changed["status"], changed["next_run_at"], changed["tags"]) == ("completed", None, ["done"])
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 1


async def test_a_cancelled_job_cannot_be_changed(client: httpx2.AsyncClient, job: dict[str, Any]) -> None:
    cancelled = (await client.delete(path(job))).json()
    assert (cancelled["status"], cancelled["next_run_at"]) == ("cancelled", None)
    answer = await client.patch(path(job), json={"name": "again"})
    assert answer.status_code == 409
    assert (await client.get(path(job))).json() == cancelled
