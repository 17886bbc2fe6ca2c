"""Filling past due times and running now, from the request to what the node was asked and back."""

from datetime import UTC, datetime

import pytest

from tickwork.model.backfill import BackfillRequest

JANUARY = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-31T12:00:00+01:00"}
BEGIN, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, 11, tzinfo=UTC)


@pytest.fixture
async def job(client):
    return (await client.post("/v1/jobs", json={"task": "report", "schedule": "0 9 * * *"})).json()["id"]


async def test_a_backfill_is_started_and_can_be_looked_at(client, node, job):
    answer = await client.post(f"/v1/jobs/{job}/backfill", json=JANUARY)
    assert answer.status_code == 201
    assert answer.headers["location"] == "/v1/backfills/b4"
    assert node.backfills.asked == [BackfillRequest(from_=BEGIN, to=END)]
    shown = answer.json()
    assert shown == (await client.get("/v1/backfills/b4")).json()
    assert list(shown) == [
        "id", "job_id", "from", "to", "order", "policy", "max_active", "total", "made", "active", "completed",
        "failed", "status", "created_at", "ended_at",
    ]  # fmt: skip


async def test_everything_about_it_can_be_chosen(client, node, job):
    chosen = {"order": "newest", "max_active": 1000, "policy": "failed"}
    await client.post(f"/v1/jobs/{job}/backfill", json=JANUARY | chosen)
    assert node.backfills.asked == [BackfillRequest(from_=BEGIN, to=END, **chosen)]


async def test_a_dry_run_answers_with_the_count(client, job):
    answer = await client.post(f"/v1/jobs/{job}/backfill", json=JANUARY | {"dry_run": True})
    assert (answer.status_code, "location" in answer.headers) == (200, False)
    assert answer.json() == {
        "total": 31,
        "first": "2026-01-01T00:00:00Z",
        "last": "2026-01-31T12:00:00+01:00",
    }


async def test_every_bad_field_is_named(client, job):
    bad = {"from": "2026-01-01", "until": "now", "order": "random", "max_active": 0, "policy": "all"}
    answer = await client.post(f"/v1/jobs/{job}/backfill", json=bad)
    assert answer.status_code == 422
    errors = {error["path"]: error["message"] for error in answer.json()["errors"]}
    assert set(errors) == {"from", "to", "until", "order", "max_active", "policy"}
    assert errors["to"] == "is required"
    assert "from 1 to 1000" in errors["max_active"]


async def test_the_backfills_of_a_job_are_a_list(client, node, job):
    answer = await client.get(f"/v1/jobs/{job}/backfills?limit=1&cursor=abc")
    assert [item["id"] for item in answer.json()["items"]] == ["b4"]
    assert answer.json()["next_cursor"] == "more"
    assert node.backfills.asked == [(1, 1, "abc")]
    assert (await client.get("/v1/jobs/jzz/backfills")).status_code == 404


async def test_a_backfill_can_be_cancelled(client):
    assert (await client.post("/v1/backfills/b4/cancel")).json()["id"] == "b4"


async def test_what_others_have_does_not_exist(caller, job):
    async with caller("foreign") as foreigner:
        for method, path in [("GET", "/v1/backfills/b4"), ("POST", "/v1/backfills/b4/cancel")]:
            answer = await foreigner.request(method, path)
            assert (answer.status_code, answer.json()["detail"]) == (404, "there is no backfill b4")
        assert (await foreigner.get(f"/v1/jobs/{job}/backfills")).status_code == 404
        assert (await foreigner.post(f"/v1/jobs/{job}/backfill", json=JANUARY)).status_code == 404


@pytest.mark.parametrize("text", ["4", "j4", "b", "bl", "b" + "z" * 13])
async def test_an_id_that_cannot_be_one_is_not_found(client, text):
    assert (await client.get(f"/v1/backfills/{text}")).status_code == 404


async def test_run_now_says_what_becomes_of_an_overlap(client, node, job):
    for body in ({}, {"json": {}}, {"json": {"overlap": "queue"}}, {"content": b""}):
        assert (await client.post(f"/v1/jobs/{job}/run", **body)).status_code == 201
    assert node.runs.asked == ["allow", "allow", "queue", "allow"]


async def test_run_now_takes_nothing_else(client, node, job):
    answer = await client.post(f"/v1/jobs/{job}/run", json={"overlap": "maybe"})
    assert answer.json()["errors"][0]["path"] == "overlap"
    answer = await client.post(f"/v1/jobs/{job}/run", json={"overlaps": "skip"})
    assert answer.json()["errors"][0]["hint"] == "did you mean 'overlap'?"
    answer = await client.post(f"/v1/jobs/{job}/run", content=b'{"overlap": "skip"}')
    assert answer.status_code == 415
    assert node.runs.asked == []
