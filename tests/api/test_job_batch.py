"""Many jobs in one request: all of them or none."""

from typing import Any

import asyncpg
import httpx2
import msgspec
import pytest

from support.sent_statements import watch_statements
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(autouse=True)
async def known_task(still_node: Node) -> None:
    await ScriptedWorker.offer_only(still_node, tasks=["work"])


@pytest.mark.parametrize("media", ["json", "ndjson"])
async def test_a_thousand_jobs_come_back_in_the_order_they_were_sent(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, media: str
) -> None:
    schedules = [None, "every 5m", "0 9 * * MON", {"in": "1h"}]
    jobs = [{"task": "work", "key": f"job {n}", "schedule": schedules[n % 4]} for n in range(1000)]
    if media == "json":
        answer = await client.post("/v1/jobs/batch", json=jobs)
    else:
        lines = b"\r\n".join(map(msgspec.json.encode, jobs)) + b"\n\n"
        answer = await client.post("/v1/jobs/batch", content=lines, headers=NDJSON)
    assert answer.status_code == 201
    items = answer.json()["items"]
    assert [item["key"] for item in items] == [job["key"] for job in jobs]
    assert len({item["id"] for item in items}) == 1000
    assert all(item["next_run_at"] for item in items)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job") == 1000


@pytest.mark.parametrize("size", [1, 3])
async def test_one_bad_job_stops_all_of_them_and_every_bad_field_is_named(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, size: int
) -> None:
    bad = {"task": "wrok", "schedule": "0 0 30 2 *", "timeout": "soon", "queue": "default"}
    answer = await client.post("/v1/jobs/batch", json=[{"task": "work"}] * (size - 1) + [bad])
    assert answer.status_code == 422
    errors = {error["path"]: error for error in answer.json()["errors"]}
    assert errors.keys() == {f"[{size - 1}].{field}" for field in ("task", "schedule", "timeout")}
    assert errors[f"[{size - 1}].task"]["hint"] == "did you mean 'work'?"
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job") == 0


async def test_fields_of_the_wrong_type_are_named_with_the_place_of_their_job(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    lines = b'{"task": "work"}\n\n{"task": 5, "prioritty": "low"}\n{"queue": ""}'
    answer = await client.post("/v1/jobs/batch", content=lines, headers=NDJSON)
    errors = {error["path"]: error["hint"] for error in answer.json()["errors"]}
    assert errors.keys() == {"[1].task", "[1].prioritty", "[2].queue"}
    assert errors["[1].prioritty"] == "did you mean 'priority'?"
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job") == 0


async def test_a_broken_line_is_named_by_its_number(client: httpx2.AsyncClient) -> None:
    lines = b'{"task": "work"}\n{"task": \n{"task": "work"}'
    answer = await client.post("/v1/jobs/batch", content=lines, headers=NDJSON)
    assert answer.status_code == 400
    assert "line 2" in answer.json()["detail"]


async def test_a_key_that_stands_twice_is_refused(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    jobs = [{"task": "work", "key": key} for key in ("a", "b", "a")]
    answer = await client.post("/v1/jobs/batch", json=jobs)
    assert [error["path"] for error in answer.json()["errors"]] == ["[2].key"]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job") == 0


async def test_a_key_that_is_taken_stops_all_of_them(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    await client.post("/v1/jobs", json={"task": "work", "key": "b"})
    jobs = [{"task": "work", "key": key} for key in "abc"]
    answer = await client.post("/v1/jobs/batch", json=jobs)
    assert answer.status_code == 409
    assert "'b'" in answer.json()["detail"]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job") == 1


async def test_kept_replaced_and_new_jobs_go_together(client: httpx2.AsyncClient) -> None:
    first = [{"task": "work", "key": key, "tags": ["old"], "schedule": "every 1h"} for key in "ab"]
    before = (await client.post("/v1/jobs/batch", json=first)).json()["items"]
    jobs = [
        {"task": "work", "key": "c", "tags": ["new"]},
        {"task": "work", "key": "b", "tags": ["new"], "if_exists": "replace", "schedule": "every 5m"},
        {"task": "work", "key": "a", "tags": ["new"], "if_exists": "keep", "schedule": "every 5m"},
        {"task": "work", "tags": ["new"]},
    ]
    after = (await client.post("/v1/jobs/batch", json=jobs)).json()["items"]
    assert [item["key"] for item in after] == ["c", "b", "a", None]
    assert after[1]["id"] == before[1]["id"]
    assert after[2] == before[0]
    shown = {job["key"]: job for job in (await client.get("/v1/jobs")).json()["items"]}
    assert (shown["a"]["schedule"], shown["b"]["schedule"]) == ({"every": 3600}, {"every": 300})
    assert {key: job["tags"] for key, job in shown.items()} == {
        "a": ["old"], "b": ["new"], "c": ["new"], None: ["new"],
    }  # fmt: skip


async def test_ten_thousand_unknown_tasks_are_looked_up_once(
    client: httpx2.AsyncClient, still_node: Node
) -> None:
    statements = watch_statements(still_node)
    answer = await client.post("/v1/jobs/batch", json=[{"task": "wrok"}] * 10_000)
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == [f"[{n}].task" for n in range(100)]
    assert len(statements) < 10


async def test_a_batch_has_its_limits(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/v1/jobs/batch", json=[{"task": "work"}] * 10_001)
    assert (answer.status_code, answer.json()["detail"]) == (
        422,
        "a batch holds at most 10,000 jobs, not 10,001",
    )
    answer = await client.post("/v1/jobs/batch", json=[])
    assert (answer.status_code, answer.json()["detail"]) == (422, "a batch holds at least one job")
    answer = await client.post("/v1/jobs/batch", json={"task": "work"})
    assert (answer.status_code, answer.json()["detail"]) == (422, "must be a list of jobs")


async def test_jobs_that_have_nothing_in_common_are_each_kept_as_sent(client: httpx2.AsyncClient) -> None:
    """Of what is the same in all of them, one value is sent to the database."""
    jobs: list[dict[str, Any]] = [
        {
            "task": "work",
            "payload": {"n": 1},
            "tags": ['say "a, b"', "c:\\d", "{}", "NULL"],
            "queue": "one",
        },
        {"task": "work", "name": "later", "schedule": {"in": "1h"}, "priority": "critical", "timeout": 7},
        {"http": {"url": "https://example.com/x"}, "key": "http", "overlap": "queue", "tags": ["x"]},
        {"task": "work", "schedule": "every 5m", "on_worker_lost": "fail", "retry": {"max_attempts": 9}},
        {"task": "work", "schedule": {"every": "1h", "max_runs": 3}, "requires": {"cpu": 2}},
    ]
    answer = await client.post("/v1/jobs/batch", json=jobs)
    assert answer.status_code == 201, answer.text
    created = answer.json()["items"]
    for job, item in zip(jobs, created, strict=True):
        shown = (await client.get(f"/v1/jobs/{item['id']}")).json()
        assert shown["next_run_at"] == item["next_run_at"]
        alone = (await client.post("/v1/jobs", json={**job, "key": None})).json()
        ignored = {"id", "key", "next_run_at", "created_at", "updated_at", "schedule", "schedule_words"}
        ignored |= {"execution_id"}
        assert {name: shown[name] for name in shown.keys() - ignored} == {
            name: alone[name] for name in alone.keys() - ignored
        }
        assert shown["tags"] == job.get("tags", [])


@pytest.mark.parametrize("media", ["json", "ndjson"])
async def test_a_payload_that_is_too_deep_is_named_among_flat_ones(
    client: httpx2.AsyncClient, media: str
) -> None:
    deep: object = 1
    for _ in range(40):
        deep = [deep]
    jobs = [
        {"task": "work"},
        {"task": "work", "payload": {"n": deep}},
        {"task": "work", "name": "[[[[{{{{" * 9},
    ]
    lines = b"\n".join(map(msgspec.json.encode, jobs))
    answer = await (
        client.post("/v1/jobs/batch", json=jobs)
        if media == "json"
        else client.post("/v1/jobs/batch", content=lines, headers=NDJSON)
    )
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == ["[1].payload"]
