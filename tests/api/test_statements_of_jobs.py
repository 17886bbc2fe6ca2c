"""What reading and creating jobs costs the database: as few statements as there can be."""

import httpx2
import pytest

from support.sent_statements import watch_statements
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker


@pytest.fixture
async def jobs(client: httpx2.AsyncClient, worker: ScriptedWorker) -> list[str]:
    """Newest first."""
    schedules = [{"every": "1h"}, "5 4 * * *", {"in": "1h"}]
    answer = await client.post(
        "/v1/jobs/batch", json=[{"task": "work", "schedule": each, "tags": ["a"]} for each in schedules]
    )
    assert answer.status_code == 201, answer.text
    return [item["id"] for item in (await client.get("/v1/jobs")).json()["items"]]


def names(statements: list[str]) -> list[str]:
    return [statement.removeprefix("/* ").split(" ")[0] for statement in statements]


async def test_one_job_is_read_with_one_statement(
    client: httpx2.AsyncClient, still_node: Node, jobs: list[str]
) -> None:
    sent = watch_statements(still_node)
    for job in jobs:
        assert (await client.get(f"/v1/jobs/{job}")).json()["id"] == job
    assert names(sent) == ["jobs_with_states"] * len(jobs)


async def test_a_list_of_all_jobs_is_read_with_two_statements_whatever_its_length(
    client: httpx2.AsyncClient, still_node: Node, jobs: list[str]
) -> None:
    sent = watch_statements(still_node)
    page = (await client.get("/v1/jobs", params={"limit": 2})).json()
    assert [item["id"] for item in page["items"]] == jobs[:2]
    last = (await client.get("/v1/jobs", params={"limit": 2, "cursor": page["next_cursor"]})).json()
    assert ([item["id"] for item in last["items"]], last["next_cursor"]) == (jobs[2:], None)
    assert names(sent) == ["all_newest_first", "job_states"] * 2


async def test_a_list_shows_of_each_job_what_the_job_itself_shows(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, jobs: list[str]
) -> None:
    for job in jobs[1:]:
        assert (await client.post(f"/v1/jobs/{job}/run")).status_code == 201
    while await still_node.step("claim"):
        pass
    each = [(await client.get(f"/v1/jobs/{job}")).json() for job in jobs]
    for query in ({}, {"tag": "a"}, {"sort": "created_at"}):
        listed = (await client.get("/v1/jobs", params=query)).json()["items"]
        assert sorted(listed, key=lambda job: job["id"]) == sorted(each, key=lambda job: job["id"]), query


async def test_a_job_whose_rule_is_awake_asks_for_the_time_once_within_its_transaction(
    client: httpx2.AsyncClient, still_node: Node, jobs: list[str]
) -> None:
    job = {"task": "work", "schedule": {"every": "1h"}}
    sent = watch_statements(still_node)
    assert (await client.post("/v1/jobs", json=job)).status_code == 201
    begun = sent[[statement.startswith("BEGIN") for statement in sent].index(True) :]
    assert begun.count("SELECT tickwork.clock()") == 1
