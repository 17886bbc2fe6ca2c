"""GET /v1/stats: what it shows, for whom, and what it refuses."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from api.conftest import MakeTenant
from support.node_steps import run_due
from tickwork.node import Node
from tickwork.record import read_statistics_series
from tickwork.schedule.zone_name import read_zone_name
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
COUNTS = {
    "fired": 0, "started": 1, "completed": 1, "failed": 0, "retried": 0, "snoozed": 0, "skipped": 0,
    "skipped_by_reason": {}, "missed": 0, "lost": 0, "cancelled": 0,
}  # fmt: skip


async def stats(client: httpx2.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    answer = await client.get("/v1/stats", params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def refusal(client: httpx2.AsyncClient, **query: Any) -> tuple[int, str]:
    answer = await client.get("/v1/stats", params=query)
    return answer.status_code, answer.json()["errors"][0]["path"]


@pytest.fixture
async def ran(clock: SettableClock, still_node: Node, client: httpx2.AsyncClient) -> str:
    """A job that completed at noon; it is now ten seconds later."""
    worker = await ScriptedWorker.connect(still_node, ["work"])
    job = (await client.post("/v1/jobs", json={"task": "work", "queue": "mail"})).json()["id"]
    await run_due(still_node)
    await worker.report_all(await worker.runs())
    await still_node.step("write statistics")
    await clock.advance(timedelta(seconds=10))
    return str(job)


@pytest.mark.usefixtures("ran")
async def test_shows_the_last_hour_by_minute_unless_told_otherwise(client: httpx2.AsyncClient) -> None:
    (point,) = await stats(client)
    assert datetime.fromisoformat(point["at"]) == NOON
    assert {name: point[name] for name in COUNTS} == COUNTS
    assert (point["task"], point["queue"]) == (None, None)
    assert point["rates"]["completed"] == pytest.approx(1 / 60)
    assert point["start_delay"]["p50"] < 0.001
    assert point["run_time"]["p99"] == pytest.approx(0.001, rel=0.15)


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"by": "task"}, [("work", None)]),
        ({"by": "queue", "step": "1h"}, [(None, "mail")]),
        ({"task": "work", "queue": "mail", "step": "1d"}, [(None, None)]),
        ({"queue": "other"}, []),
        ({"until": NOON.isoformat()}, []),
    ],
)
async def test_groups_and_filters(
    client: httpx2.AsyncClient, query: dict[str, str], shown: list[tuple[str | None, str | None]]
) -> None:
    assert [(point["task"], point["queue"]) for point in await stats(client, **query)] == shown


async def test_shows_one_job_by_its_own_executions(client: httpx2.AsyncClient, ran: str) -> None:
    (point,) = await stats(client, job=ran, step="5m")
    assert (point["fired"], point["completed"], point["run_time"] is not None) == (1, 1, True)


@pytest.mark.usefixtures("ran")
async def test_another_tenant_sees_nothing_of_it(make_tenant: MakeTenant) -> None:
    assert await stats((await make_tenant("other")).admin) == []


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ({"step": "2m"}, "step"),
        ({"by": "job"}, "by"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "from"),
        ({"from": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z", "step": "1m"}, "step"),
        ({"from": "0001-01-01T00:00:00+14:00", "until": "9999-12-31T23:59:59-14:00"}, "step"),
        ({"until": "0001-01-01T00:00:00Z"}, "from"),
        ({"job": "j1", "by": "task"}, "by"),
        ({"tag": "billing", "by": "task"}, "by"),
    ],
)
async def test_names_what_is_wrong(client: httpx2.AsyncClient, query: dict[str, str], path: str) -> None:
    assert await refusal(client, **query) == (422, path)


@pytest.mark.usefixtures("ran")
async def test_days_are_those_of_the_time_zone(client: httpx2.AsyncClient) -> None:
    query = {"from": (NOON - timedelta(days=2)).isoformat(), "until": (NOON + timedelta(days=1)).isoformat()}
    (point,) = await stats(client, **query, step="1d", timezone="Pacific/Auckland")
    begin = datetime.fromisoformat(point["at"]).astimezone(read_zone_name("Pacific/Auckland").info)
    assert (begin.hour, begin.minute) == (0, 0)
    assert begin <= NOON < begin + timedelta(days=1)
    (of_job,) = await stats(client, **query, step="1d", timezone="Pacific/Auckland", job="j1")
    assert of_job["at"] == point["at"]


async def ran_at(
    node: Node, client: httpx2.AsyncClient, clock: SettableClock, minutes: list[int], **job: Any
) -> str:
    """A job that ran that many minutes after noon each time."""
    worker = await ScriptedWorker.connect(node, ["work"])
    body = {"task": "work", "schedule": {"at": (NOON + timedelta(days=1)).isoformat()}, **job}
    created = (await client.post("/v1/jobs", json=body)).json()["id"]
    passed = timedelta()
    for minute in minutes:
        await clock.advance(timedelta(minutes=minute) - passed)
        passed = timedelta(minutes=minute)
        await worker.beat()
        await client.post(f"/v1/jobs/{created}/run")
        await run_due(node)
        await worker.report_all(await worker.runs())
    await clock.advance(timedelta(seconds=10))
    await node.step("write statistics")
    return str(created)


@pytest.mark.parametrize("whose", ["all", "job", "tag"])
async def test_hours_of_a_zone_may_begin_at_half_past(
    client: httpx2.AsyncClient, still_node: Node, clock: SettableClock, whose: str
) -> None:
    job = await ran_at(still_node, client, clock, [10, 20, 40], tags=["billing"])
    query = {"from": NOON.isoformat(), "until": (NOON + timedelta(hours=1)).isoformat(), "step": "1h"}
    query |= {"job": {"job": job}, "tag": {"tag": "billing"}, "all": {}}[whose]
    kolkata = await stats(client, **query, timezone="Asia/Kolkata")
    half = timedelta(minutes=30)
    assert [(datetime.fromisoformat(point["at"]), point["completed"]) for point in kolkata] == [
        (NOON - half, 2),
        (NOON + half, 1),
    ]
    (paris,) = await stats(client, **query, timezone="Europe/Paris")
    assert (datetime.fromisoformat(paris["at"]), paris["completed"]) == (NOON, 3)


async def test_days_of_a_zone_that_begin_at_half_past_are_exact(
    client: httpx2.AsyncClient, still_node: Node, clock: SettableClock
) -> None:
    midnight = 6 * 60 + 30  # minutes after noon in UTC, in Kolkata
    await ran_at(still_node, client, clock, [midnight - 5, midnight + 5])
    query = {"from": NOON.isoformat(), "until": (NOON + timedelta(hours=8)).isoformat(), "step": "1d"}
    points = await stats(client, **query, timezone="Asia/Kolkata")
    assert [point["completed"] for point in points] == [1, 1]


async def test_a_tag_counts_the_executions_of_its_jobs(
    client: httpx2.AsyncClient, still_node: Node, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ran_at(still_node, client, clock, [1, 2], tags=["billing"], queue="mail")
    await ran_at(still_node, client, clock, [3], tags=["other"])
    for most in (50, 0):  # looked at job by job, and in the order of time
        monkeypatch.setattr(read_statistics_series, "_MOST_TAGGED", most)
        (point,) = await stats(client, step="1h", tag="billing")
        assert (point["completed"], point["started"], point["run_time"] is not None) == (2, 2, True)
        assert await stats(client, step="1h", tag="billing", queue="default") == []
        assert await stats(client, step="1h", tag="unknown") == []


@pytest.mark.parametrize("most", [50, 0])
async def test_says_from_when_on_all_executions_are_counted(
    client: httpx2.AsyncClient,
    still_node: Node,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
) -> None:
    await ran_at(still_node, client, clock, [1, 2, 3, 4], tags=["billing"])
    monkeypatch.setattr(read_statistics_series, "_MOST_TAGGED", most)
    monkeypatch.setattr(read_statistics_series, "_MOST_EXECUTIONS", 2)
    answer = (await client.get("/v1/stats", params={"tag": "billing", "step": "1m"})).json()
    assert sum(point["completed"] for point in answer["items"]) == 2
    since = datetime.fromisoformat(answer["complete_since"])
    assert NOON + timedelta(minutes=3) <= since < NOON + timedelta(minutes=4)


async def test_an_unknown_time_zone_is_refused_with_a_suggestion(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/v1/stats", params={"step": "1d", "timezone": "Europe/Pari"})
    assert answer.status_code == 422
    assert "Europe/Paris" in answer.json()["errors"][0]["hint"]
