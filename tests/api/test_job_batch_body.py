"""The body of a batch of jobs: its forms, its limits, and what is said of its mistakes."""

import asyncio
import json

import pytest

from tickwork.api import handle_request
from tickwork.api.create_job_batch_route import MAX_JOBS
from tickwork.testing.scripted_worker import ScriptedWorker

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(autouse=True)
async def known_tasks(still_node):
    await ScriptedWorker.offer_only(still_node, {task: {} for task in ("a", "b", "good")})


async def post(client, content, headers):
    return await client.post("/v1/jobs/batch", content=content, headers=headers)


def paths(answer):
    assert answer.status_code == 422, answer.text
    return [error["path"] for error in answer.json()["errors"]]


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b'[{"task": "a", "key": "one"}, {"task": "b"}]', JSON),
        (b'{"task": "a", "key": "one"}\n\n{"task": "b"}\r\n', NDJSON),
    ],
)
async def test_jobs_come_back_in_the_order_in_which_they_were_sent(client, content, headers):
    answer = await post(client, content, headers)
    assert answer.status_code == 201
    items = answer.json()["items"]
    assert [item["key"] for item in items] == ["one", None]
    jobs = [(await client.get(f"/v1/jobs/{item['id']}")).json() for item in items]
    assert [job["task"] for job in jobs] == ["a", "b"]
    assert items == [
        {name: job[name] for name in ("id", "key", "next_run_at", "execution_id")} for job in jobs
    ]


@pytest.mark.parametrize("headers", [JSON, NDJSON])
async def test_every_bad_field_of_every_job_is_named_and_nothing_is_created(client, headers):
    jobs = [{"task": 1}, {"task": "good"}, {"task": "b", "retry": {"max_attempts": 0}}, 5]
    text = json.dumps(jobs) if headers is JSON else "\n".join(map(json.dumps, jobs))
    assert paths(await post(client, text, headers)) == ["[0].task", "[2].retry.max_attempts", "[3]"]
    assert (await client.get("/v1/jobs")).json()["items"] == []


@pytest.mark.parametrize("count", [1, 2])
async def test_a_job_that_the_node_refuses_is_named_by_its_place(client, count):
    jobs = [{"task": "a"}] * (count - 1) + [{"task": "a", "schedule": "never"}]
    assert paths(await post(client, json.dumps(jobs), JSON)) == [f"[{count - 1}].schedule"]


@pytest.mark.parametrize(
    ("content", "headers", "place"),
    [
        (b'[{"task": "a"},\n {"task": }]', JSON, "line 2, column 11"),
        (b'{"task": "a"}\n{"task": }\n', NDJSON, "line 2, column 10"),
        (b"", JSON, "line 1, column 1"),
    ],
)
async def test_broken_json_is_told_where(client, content, headers, place):
    answer = await post(client, content, headers)
    assert answer.status_code == 400
    assert place in answer.json()["detail"]


@pytest.mark.parametrize(("content", "headers"), [(b"[]", JSON), (b"", NDJSON), (b"\n \n", NDJSON)])
async def test_an_empty_batch_is_refused(client, content, headers):
    assert paths(await post(client, content, headers)) == [""]


async def test_an_object_is_no_batch(client):
    answer = await post(client, b'{"task": "a"}', JSON)
    assert answer.json()["errors"][0]["hint"] == "one object per line is application/x-ndjson"


async def test_a_batch_has_its_limit(client):
    one = b'{"task": "a"}\n'
    assert (await post(client, one * MAX_JOBS, NDJSON)).status_code == 201
    answer = await post(client, one * (MAX_JOBS + 1), NDJSON)
    assert answer.json()["detail"] == "a batch holds at most 10,000 jobs, not 10,001"


async def test_a_batch_may_be_larger_than_one_request_but_not_without_end(client):
    job = json.dumps({"task": "a", "payload": "x" * 1000}).encode() + b"\n"
    assert (await post(client, job * 5000, NDJSON)).status_code == 201
    answer = await post(client, b"", {**NDJSON, "content-length": str(33 * 1024 * 1024)})
    assert answer.status_code == 413


async def test_each_job_of_a_batch_may_be_deep_but_not_too_deep(client):
    deep = b'{"task": "a", "payload": ' + b"[" * 32 + b"]" * 32 + b"}"
    assert paths(await post(client, b'[{"task": "a"},' + deep + b"]", JSON)) == ["[1].payload"]


@pytest.mark.parametrize("headers", [JSON, NDJSON])
async def test_a_batch_in_several_groups_is_read_in_order_and_its_mistakes_are_named(client, headers):
    jobs = [{"task": "a", "key": str(number), "payload": "x" * 1000} for number in range(500)]
    encoded = [json.dumps(job) for job in jobs]
    text = f"[{','.join(encoded)}]" if headers is JSON else "\n".join(encoded)
    answer = await post(client, text, headers)
    assert [item["key"] for item in answer.json()["items"]] == [job["key"] for job in jobs]
    wrong = text.replace('"key": "1"', '"key": 1').replace('"key": "499"', '"key": 499')
    assert paths(await post(client, wrong, headers)) == ["[1].key", "[499].key"]


async def test_a_line_holds_one_job(client):
    answer = await post(client, b'{"task": "a"}\n{"task": "b"},{"task": "c"}\n', NDJSON)
    assert answer.status_code == 400
    assert "line 2" in answer.json()["detail"]


async def test_a_batch_has_a_limit_of_values_and_each_of_its_jobs_too(client):
    def job(values):
        return b'{"task": "a", "payload": [' + b",".join([b"1"] * values) + b"]}"

    assert (await post(client, b"[" + b",".join([job(40_000)] * 5) + b"]", JSON)).status_code == 201
    answer = await post(client, b"[" + b",".join([job(40_000)] * 7) + b"]", JSON)
    assert (answer.status_code, answer.json()["detail"]) == (413, "the body may hold at most 250,000 values")
    answer = await post(client, b"[" + job(100_000) + b"]", JSON)
    assert (answer.status_code, answer.json()["detail"]) == (413, "the body may hold at most 50,000 values")


async def test_a_job_of_a_batch_may_be_as_large_as_one_alone(client):
    job = json.dumps({"task": "a", "payload": "x" * 1024 * 1024}).encode()
    answer = await post(client, b'{"task": "a"}\n' + job, NDJSON)
    assert (answer.status_code, answer.json()["detail"]) == (413, "[1]: a job may hold at most 1 MiB")


async def test_of_very_many_mistakes_the_first_hundred_are_named(client):
    answer = await post(client, b'{"task": 1}\n' * 5000, NDJSON)
    assert len(paths(answer)) == 100
    assert answer.json()["detail"] == "100 fields are wrong, perhaps more; `errors` names those"


async def test_large_batches_have_a_limit_together(client, still_node, monkeypatch):
    monkeypatch.setattr(handle_request, "MAX_BYTES_IN_PROGRESS", 3 * 1024 * 1024)
    job = json.dumps({"task": "a", "payload": "x" * 1000}).encode() + b"\n"
    begun, go = asyncio.Event(), asyncio.Event()
    create_many = still_node.jobs.create_many

    async def slowly(*args):
        begun.set()
        await go.wait()
        return await create_many(*args)

    monkeypatch.setattr(still_node.jobs, "create_many", slowly)
    first = asyncio.create_task(post(client, job * 2000, NDJSON))
    await begun.wait()
    refused = await post(client, job * 2000, NDJSON)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    go.set()
    assert (await first).status_code == 201
    assert (await post(client, job, NDJSON)).status_code == 201
    assert (await post(client, job * 2000, NDJSON)).status_code == 201
