"""What a request to backfill a job, or to run it now, may say, and what it is answered."""

import pytest

from tickwork.testing.scripted_worker import ScriptedWorker

JANUARY = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-31T12:00:00+01:00"}
IN_UTC = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-31T11:00:00Z"}


@pytest.fixture
async def job(client, still_node):
    await ScriptedWorker.offer_only(still_node, tasks=["report"])
    return (await client.post("/v1/jobs", json={"task": "report", "schedule": "0 9 * * *"})).json()["id"]


async def test_a_backfill_is_started_and_can_be_looked_at(client, job):
    answer = await client.post(f"/v1/jobs/{job}/backfill", json=JANUARY)
    assert answer.status_code == 201
    shown = answer.json()
    assert answer.headers["location"] == f"/v1/backfills/{shown['id']}"
    defaults = {"order": "oldest", "max_active": 1, "policy": "missing"}
    assert shown | IN_UTC | defaults | {"job_id": job, "total": 31} == shown
    assert shown == (await client.get(answer.headers["location"])).json()
    assert list(shown) == [
        "id", "job_id", "from", "to", "order", "policy", "max_active", "total", "made", "active", "completed",
        "failed", "status", "created_at", "ended_at",
    ]  # fmt: skip


async def test_everything_about_it_can_be_chosen(client, job):
    chosen = {"order": "newest", "max_active": 1000, "policy": "failed"}
    shown = (await client.post(f"/v1/jobs/{job}/backfill", json=JANUARY | chosen)).json()
    assert shown | IN_UTC | chosen == shown


async def test_a_dry_run_answers_with_the_count(client, job):
    answer = await client.post(f"/v1/jobs/{job}/backfill", json=JANUARY | {"dry_run": True})
    assert (answer.status_code, "location" in answer.headers) == (200, False)
    assert answer.json() == {
        "total": 31,
        "first": "2026-01-01T09:00:00Z",
        "last": "2026-01-31T09:00:00Z",
    }
    assert (await client.get(f"/v1/jobs/{job}/backfills")).json()["items"] == []


async def test_every_bad_field_is_named(client, job):
    bad = {"from": "2026-01-01", "until": "now", "order": "random", "max_active": 0, "policy": "all"}
    answer = await client.post(f"/v1/jobs/{job}/backfill", json=bad)
    assert answer.status_code == 422
    errors = {error["path"]: error["message"] for error in answer.json()["errors"]}
    assert set(errors) == {"from", "to", "until", "order", "max_active", "policy"}
    assert errors["to"] == "is required"
    assert "from 1 to 1000" in errors["max_active"]


async def test_the_backfills_of_a_job_are_a_list(client, job):
    first, second = [
        (await client.post(f"/v1/jobs/{job}/backfill", json=JANUARY)).json()["id"] for _ in range(2)
    ]
    answer = (await client.get(f"/v1/jobs/{job}/backfills?limit=1")).json()
    assert [item["id"] for item in answer["items"]] == [second]
    answer = (await client.get(f"/v1/jobs/{job}/backfills?limit=1&cursor={answer['next_cursor']}")).json()
    assert [item["id"] for item in answer["items"]] == [first]
    assert (await client.get("/v1/jobs/jzz/backfills")).status_code == 404


async def test_a_backfill_can_be_cancelled(client, job):
    backfill = (await client.post(f"/v1/jobs/{job}/backfill", json=JANUARY)).json()["id"]
    cancelled = (await client.post(f"/v1/backfills/{backfill}/cancel")).json()
    assert (cancelled["id"], cancelled["status"]) == (backfill, "cancelled")


async def test_what_others_have_does_not_exist(client, make_tenant, job):
    backfill = (await client.post(f"/v1/jobs/{job}/backfill", json=JANUARY)).json()["id"]
    foreigner = (await make_tenant("other")).admin
    for method, path in [("GET", f"/v1/backfills/{backfill}"), ("POST", f"/v1/backfills/{backfill}/cancel")]:
        answer = await foreigner.request(method, path)
        assert (answer.status_code, answer.json()["detail"]) == (404, f"there is no backfill {backfill}")
    assert (await foreigner.get(f"/v1/jobs/{job}/backfills")).status_code == 404
    assert (await foreigner.post(f"/v1/jobs/{job}/backfill", json=JANUARY)).status_code == 404


@pytest.mark.parametrize("text", ["4", "j4", "b", "bl", "b" + "z" * 13])
async def test_an_id_that_cannot_be_one_is_not_found(client, text):
    assert (await client.get(f"/v1/backfills/{text}")).status_code == 404


async def test_run_now_says_what_becomes_of_an_overlap(client, job):
    waits_for_another = []
    for body in ({}, {"json": {}}, {"json": {"overlap": "queue"}}, {"content": b""}):
        answer = await client.post(f"/v1/jobs/{job}/run", **body)
        assert answer.status_code == 201
        waits_for_another.append(answer.json()["waiting_for"] == "limit")
    assert waits_for_another == [False, False, True, False]


async def test_run_now_takes_nothing_else(client, job):
    answer = await client.post(f"/v1/jobs/{job}/run", json={"overlap": "maybe"})
    assert answer.json()["errors"][0]["path"] == "overlap"
    answer = await client.post(f"/v1/jobs/{job}/run", json={"overlaps": "skip"})
    assert answer.json()["errors"][0]["hint"] == "did you mean 'overlap'?"
    answer = await client.post(f"/v1/jobs/{job}/run", content=b'{"overlap": "skip"}')
    assert answer.status_code == 415
    assert (await client.get(f"/v1/jobs/{job}/executions")).json()["items"] == []
