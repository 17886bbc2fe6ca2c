"""Looking for jobs: every filter, both orders, and pages that neither lose nor repeat anything."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from tickwork.node import Node
from tickwork.store import read_store as read
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


@pytest.fixture(autouse=True)
async def known_tasks(clock: SettableClock, still_node: Node) -> None:
    await ScriptedWorker.offer_only(still_node, tasks=["work", "Report.weekly"])


async def create(client: httpx2.AsyncClient, *jobs: dict[str, Any]) -> list[str]:
    answer = await client.post("/v1/jobs/batch", json=[{"task": "work", **job} for job in jobs])
    assert answer.status_code == 201, answer.text
    return [item["id"] for item in answer.json()["items"]]


async def pages(client: httpx2.AsyncClient, path: str, **query: Any) -> AsyncIterator[list[dict[str, Any]]]:
    while True:
        answer = await client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        yield answer.json()["items"]
        query["cursor"] = answer.json()["next_cursor"]
        if query["cursor"] is None:
            return


async def test_each_filter_finds_what_it_names_and_nothing_else(
    client: httpx2.AsyncClient, still_node: Node
) -> None:
    plain, *others = await create(
        client,
        {},
        {"task": "Report.weekly", "name": "Ärger & Co"},
        {"queue": "mail", "tags": ["billing", "eu"], "key": "Invoice-7"},
        {"priority": "low", "schedule": {"in": "3h"}},
        {"schedule": "every 2h"},
        {"schedule": "every 1h"},
    )
    report, mail, low, two_hours, paused = others
    await client.post(f"/v1/jobs/{paused}/pause")
    noon = await still_node._read.now()
    for query, expected in [
        ({}, {plain, *others}),
        ({"status": "active"}, {plain, report, mail, low, two_hours}),
        ({"status": "paused"}, {paused}),
        ({"status": "failed"}, set()),
        ({"task": "Report.weekly"}, {report}),
        ({"task": "report.weekly"}, set()),
        ({"queue": "mail"}, {mail}),
        ({"priority": "low"}, {low}),
        ({"tag": "eu"}, {mail}),
        ({"tag": "bill"}, set()),
        ({"q": "rePORT"}, {report}),
        ({"q": "ärger & c"}, {report}),
        ({"q": "invoice"}, {mail}),
        ({"q": "%"}, set()),
        ({"due_before": _at(noon, hours=1)}, {plain, report, mail}),
        ({"due_after": _at(noon, hours=2)}, {low}),
        ({"due_after": _at(noon, hours=1), "due_before": _at(noon, hours=3)}, {two_hours}),
        ({"queue": "default", "priority": "normal", "status": "active", "q": "report"}, {report}),
    ]:
        answer = await client.get("/v1/jobs", params=query)
        assert {job["id"] for job in answer.json()["items"]} == expected, query
        assert answer.json()["next_cursor"] is None


def _at(noon: datetime, **later: float) -> str:
    return (noon + timedelta(**later)).isoformat()


@pytest.mark.parametrize("sort", ["-created_at", "created_at"])
async def test_pages_show_each_job_once_also_while_jobs_are_added(
    client: httpx2.AsyncClient, sort: str
) -> None:
    there = await create(client, *({"name": f"job {n}"} for n in range(17)))
    seen: list[str] = []
    async for page in pages(client, "/v1/jobs", limit=4, sort=sort):
        assert len(page) <= 4
        seen += [job["id"] for job in page]
        if len(seen) < 16:
            await create(client, {}, {})
    assert len(seen) == len(set(seen))
    wanted = there if sort == "created_at" else there[::-1]
    assert [job for job in seen if job in there] == wanted
    added_later = [job for job in seen if job not in there]
    assert bool(added_later) == (sort == "created_at")


async def test_repeating_jobs_are_listed_by_their_next_run(client: httpx2.AsyncClient) -> None:
    at_noon = [{"schedule": f"0 {hour} * * *"} for hour in (19, 13, 16, 13, 11)]
    seven, one, four, other_one, tomorrow = await create(client, *at_noon)
    await create(client, {}, {"schedule": {"at": "2099-01-01T00:00Z"}})  # due once
    await client.post(f"/v1/jobs/{four}/pause")
    found = [
        [job["id"] for job in page] async for page in pages(client, "/v1/jobs", limit=2, sort="next_run_at")
    ]
    assert [job for page in found for job in page] == [one, other_one, seven, tomorrow]
    short = await client.get(
        "/v1/jobs", params={"sort": "next_run_at", "due_before": _at(await _now(client), hours=6)}
    )
    assert [job["id"] for job in short.json()["items"]] == [one, other_one]


async def _now(client: httpx2.AsyncClient) -> datetime:
    (first, *_) = (await client.get("/v1/jobs", params={"sort": "next_run_at"})).json()["items"]
    return datetime.fromisoformat(first["next_run_at"]) - timedelta(hours=1)


async def test_a_full_last_page_is_followed_by_an_empty_one(client: httpx2.AsyncClient) -> None:
    await create(client, {}, {}, {}, {})
    assert [len(page) async for page in pages(client, "/v1/jobs", limit=2)] == [2, 2, 0]


async def test_a_rare_filter_gets_short_pages_not_a_slow_one(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "_SEEN", 5)
    (rare,) = await create(client, {"tags": ["rare"]})
    await create(client, *({} for _ in range(10)))
    found = [[job["id"] for job in page] async for page in pages(client, "/v1/jobs", tag="rare")]
    assert found == [[], [], [rare]]
