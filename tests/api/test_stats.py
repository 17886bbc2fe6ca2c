"""GET /v1/stats: what it shows, for whom, and what it refuses."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from api.conftest import MakeTenant
from support.node_steps import run_due
from tickwork.node import Node
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


async def test_an_unknown_time_zone_is_refused_with_a_suggestion(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/v1/stats", params={"step": "1d", "timezone": "Europe/Pari"})
    assert answer.status_code == 422
    assert "Europe/Paris" in answer.json()["errors"][0]["hint"]
