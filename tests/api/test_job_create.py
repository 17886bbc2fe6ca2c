"""Creating jobs: every kind of schedule, and what the answer says about it."""

from datetime import datetime, timedelta, timezone
from typing import Any

import httpx2
import pytest

from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

DEFAULTS = {
    "name": None,
    "key": None,
    "http": None,
    "payload": {},
    "priority": "normal",
    "queue": "default",
    "retry": {
        "max_attempts": 4,
        "backoff": "exponential",
        "initial": 1.0,
        "factor": 2.0,
        "max": 3600.0,
        "jitter": 0.2,
        "only_on": [],
        "never_on": [],
    },
    "timeout": 300.0,
    "on_worker_lost": "retry",
    "overlap": "skip",
    "catch_up": {"policy": "latest", "within": 3600.0, "max": 100},
    "tags": [],
    "status": "active",
    "version": 1,
}


@pytest.fixture
async def noon(clock: SettableClock, still_node: Node) -> datetime:
    """The time by the database, which stands still."""
    await ScriptedWorker.offer_only(still_node, tasks=["work"])
    return await still_node._read.now()


def written(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


async def test_a_job_without_a_schedule_is_due_at_once_with_every_default_shown(
    noon: datetime, client: httpx2.AsyncClient
) -> None:
    answer = await client.post("/v1/jobs", json={"task": "work"})
    assert answer.status_code == 201
    job = answer.json()
    assert {name: job[name] for name in DEFAULTS} == DEFAULTS
    assert job["next_run_at"] == job["created_at"] == job["updated_at"] == written(noon)
    assert job["schedule"] == {"at": written(noon)}
    assert job["schedule_words"] == f"once at {written(noon)}"
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert (await client.get(answer.headers["location"])).json() == job


async def test_the_answer_says_what_the_schedule_was_understood_as(
    noon: datetime, client: httpx2.AsyncClient
) -> None:
    for schedule, canonical, after in [
        ("in 10m", None, timedelta(minutes=10)),
        ({"in": "PT1H30M"}, None, timedelta(minutes=90)),
        ({"in": 90}, None, timedelta(seconds=90)),
        ("every 5m", {"every": 300}, timedelta(minutes=5)),
        ({"every": "1h"}, {"every": 3600}, timedelta(hours=1)),
        ("30 12 * * *", {"cron": "30 12 * * *", "timezone": "UTC"}, timedelta(minutes=30)),
        ({"cron": "@hourly"}, {"cron": "0 * * * *", "timezone": "UTC"}, timedelta(hours=1)),
    ]:
        job = (await client.post("/v1/jobs", json={"task": "work", "schedule": schedule})).json()
        assert job["schedule"] == (canonical or {"at": written(noon + after)})
        assert job["next_run_at"] == written(noon + after)
        assert job["schedule_words"]
        again = await client.post("/v1/jobs", json={"task": "work", "schedule": job["schedule"]})
        assert again.json()["next_run_at"] == job["next_run_at"]


async def test_an_instant_is_kept_as_it_was_meant_in_whatever_zone_it_was_written(
    noon: datetime, client: httpx2.AsyncClient
) -> None:
    at = noon + timedelta(days=1)
    local = at.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat()
    for schedule in (written(at), local, {"at": written(at)}):
        job = (await client.post("/v1/jobs", json={"task": "work", "schedule": schedule})).json()
        assert job["next_run_at"] == written(at)


async def test_a_cron_job_follows_the_clocks_of_its_zone(noon: datetime, client: httpx2.AsyncClient) -> None:
    request = {"task": "work", "schedule": "0 9 * * *", "timezone": "Asia/Tokyo"}
    job = (await client.post("/v1/jobs", json=request)).json()
    assert job["schedule"] == {"cron": "0 9 * * *", "timezone": "Asia/Tokyo"}
    assert job["next_run_at"] == written(noon.replace(hour=0) + timedelta(days=1))
    assert "Asia/Tokyo" in job["schedule_words"]


async def test_every_field_comes_back_as_it_was_meant(noon: datetime, client: httpx2.AsyncClient) -> None:
    given = {
        "name": "weekly report",
        "key": "weekly-report",
        "payload": {"to": "a@b.c", "nested": [1, 2.5, None, {"ü": "✓"}]},
        "priority": "critical",
        "queue": "reports",
        "on_worker_lost": "fail",
        "overlap": "allow",
        "tags": ["billing", "eu"],
    }
    durations = {
        "timeout": "1h30m",
        "retry": {"max_attempts": 2, "backoff": "fixed", "initial": "PT5M", "max": 600, "jitter": 0},
        "catch_up": {"policy": "skip", "within": "2h", "max": 7},
    }
    job = (await client.post("/v1/jobs", json={"task": "work", **given, **durations})).json()
    assert {name: job[name] for name in given} == given
    assert job["timeout"] == 5400
    assert job["retry"] == {
        "max_attempts": 2, "backoff": "fixed", "initial": 300, "factor": 2, "max": 600, "jitter": 0,
        "only_on": [], "never_on": [],
    }  # fmt: skip
    assert job["catch_up"] == {"policy": "skip", "within": 7200, "max": 7}


async def test_a_job_says_after_how_long_it_is_slow(noon: datetime, client: httpx2.AsyncClient) -> None:
    created = await client.post("/v1/jobs", json={"task": "work", "warn_after": "2m"})
    assert created.json()["warn_after"] == 120.0
    job = created.json()["id"]
    edited = await client.patch(f"/v1/jobs/{job}", json={"warn_after": "90s", "timeout": "10m"})
    assert edited.json()["warn_after"] == 90.0
    removed = await client.patch(f"/v1/jobs/{job}", json={"warn_after": None})
    assert removed.json()["warn_after"] is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"warn_after": "1s"}, "is 5 s or more"),
        ({"warn_after": "soon"}, "is not a duration"),
        ({"warn_after": "10m"}, "is not before the timeout of 300 s"),
        ({"warn_after": "60s", "timeout": "1m"}, "is not before the timeout of 60 s"),
    ],
)
async def test_a_time_after_which_it_is_slow_that_says_nothing_is_refused(
    noon: datetime, client: httpx2.AsyncClient, fields: dict[str, str], message: str
) -> None:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["path"]) == (422, "warn_after")
    assert message in error["message"]


async def test_a_job_says_within_which_time_it_is_to_start(
    noon: datetime, client: httpx2.AsyncClient
) -> None:
    created = await client.post("/v1/jobs", json={"task": "work", "start_within": "1h"})
    assert created.json()["start_within"] == 3600.0
    removed = await client.patch(f"/v1/jobs/{created.json()['id']}", json={"start_within": None})
    assert removed.json()["start_within"] is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"start_within": 0}, "is between 1 s and 366 days"),
        ({"start_within": "soon"}, "is not a duration"),
        (
            {"start_within": "30s", "schedule": {"every": "5m", "jitter": "1m"}},
            "is not longer than the jitter of 60 s",
        ),
    ],
)
async def test_a_time_to_start_within_that_cannot_be_is_refused(
    noon: datetime, client: httpx2.AsyncClient, fields: dict[str, Any], message: str
) -> None:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["path"]) == (422, "start_within")
    assert message in error["message"]


@pytest.mark.parametrize(("given", "shown"), [("06:00", "06:00"), ("2h", 7200.0), (90, 90.0)])
async def test_a_job_has_a_deadline(
    noon: datetime, client: httpx2.AsyncClient, given: object, shown: object
) -> None:
    created = await client.post("/v1/jobs", json={"task": "work", "deadline": given})
    assert created.json()["deadline"] == shown
    removed = await client.patch(f"/v1/jobs/{created.json()['id']}", json={"deadline": None})
    assert removed.json()["deadline"] is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("6:00", "'6:00' is not a time of day; write it as 06:00"),
        ("24:00", "'24:00' is not a time of day"),
        ("soon", "is not a duration"),
        (0, "is between 1 s and 366 days after the due time"),
    ],
)
async def test_a_deadline_that_cannot_be_is_refused(
    noon: datetime, client: httpx2.AsyncClient, given: object, message: str
) -> None:
    answer = await client.post("/v1/jobs", json={"task": "work", "deadline": given})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["path"]) == (422, "deadline")
    assert message in error["message"]


async def test_a_job_has_a_heartbeat_url_that_can_be_called(
    noon: datetime, client: httpx2.AsyncClient
) -> None:
    url = "https://example.com/beat?x=1"
    created = await client.post("/v1/jobs", json={"task": "work", "heartbeat_url": url})
    assert created.json()["heartbeat_url"] == url
    health = (await client.get(f"/v1/jobs/{created.json()['id']}/health")).json()
    assert health["heartbeat"] == {"url": url, "called_at": None, "error": None, "failures": 0}
    for wrong in ("ftp://example.com", "https://user:secret@example.com", "https://2130706433/"):
        answer = await client.post("/v1/jobs", json={"task": "work", "heartbeat_url": wrong})
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "heartbeat_url")


async def test_an_http_job_shows_its_whole_call(noon: datetime, client: httpx2.AsyncClient) -> None:
    job = (await client.post("/v1/jobs", json={"http": {"url": "https://example.com/hook"}})).json()
    assert job["task"] is None
    assert job["payload"] is None
    assert job["http"] == {
        "url": "https://example.com/hook",
        "method": "POST",
        "headers": {},
        "completion": "answer",
        "heartbeat": None,
        "poll": None,
        "send_parents": False,
    }


@pytest.mark.parametrize(
    "request_",
    [
        {"task": "work", "payload": {"n": [1, None, "ü"]}, "tags": ["a"], "schedule": {"in": "1h"}},
        {"task": "work", "name": "n", "key": "k", "schedule": {"at": "2099-01-01T00:00:00.5+02:00"}},
        {"task": "work", "schedule": "0 9 * * MON", "timezone": "Europe/Paris", "retry": {"max_attempts": 2}},
        {
            "task": "work",
            "key": "h",
            "schedule": "H H * * *",
            "catch_up": {"within": "2h"},
            "priority": "low",
        },
        {"task": "work", "schedule": {"every": "1h", "max_runs": 3, "jitter": "5s"}, "timeout": "90s"},
        {"http": {"url": "https://example.com/x", "method": "PUT"}, "schedule": {"in": 60}, "queue": "q"},
        {
            "task": "work",
            "schedule": "every 5m",
            "requires": {"cpu": 2, "labels": {"zone": "eu"}},
            "limits": [{"key": "acme", "max_running": 3}],
            "fair_share": {"key": "acme", "weight": 2},
        },
    ],
)
async def test_the_answer_is_what_looking_at_the_job_shows(
    noon: datetime, client: httpx2.AsyncClient, request_: dict[str, object]
) -> None:
    created = await client.post("/v1/jobs", json=request_)
    assert created.status_code == 201, created.text
    shown = await client.get(f"/v1/jobs/{created.json()['id']}")
    assert created.json() == shown.json()
    assert created.headers["etag"] == shown.headers["etag"]
