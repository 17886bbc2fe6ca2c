"""Looking for jobs: every filter, both orders, and pages that neither lose nor repeat anything."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from tickwork.node import Node
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
        ({"q": "co & ärger"}, {report}),
        ({"q": "weekly report"}, {report}),
        ({"q": "eport"}, set()),
        ({"q": "invoice"}, {mail}),
        ({"q": "7"}, {mail}),
        ({"q": "bill"}, {mail}),
        ({"task": "Report.*"}, {report}),
        ({"recurring": "true"}, {two_hours, paused}),
        ({"recurring": "false", "queue": "mail"}, {mail}),
        ({"health": "unknown"}, {plain, *others}),
        ({"health": "failing"}, set()),
        ({"created_before": _at(noon, seconds=1)}, {plain, *others}),
        ({"created_after": _at(noon, seconds=1)}, set()),
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


async def test_jobs_are_listed_by_their_next_run(client: httpx2.AsyncClient) -> None:
    at_noon = [{"schedule": f"0 {hour} * * *"} for hour in (19, 13, 16, 13, 11)]
    seven, one, four, other_one, tomorrow = await create(client, *at_noon)
    (now, in_2099) = await create(client, {}, {"schedule": {"at": "2099-01-01T00:00Z"}})  # due once
    await client.post(f"/v1/jobs/{four}/pause")
    found = [
        [job["id"] for job in page] async for page in pages(client, "/v1/jobs", limit=2, sort="next_run_at")
    ]
    assert [job for page in found for job in page] == [now, one, other_one, seven, tomorrow, in_2099]
    recurring = {"sort": "next_run_at", "recurring": "true"}
    short = await client.get("/v1/jobs", params={**recurring, "due_before": _at(await _now(client), hours=6)})
    assert [job["id"] for job in short.json()["items"]] == [one, other_one]


async def _now(client: httpx2.AsyncClient) -> datetime:
    query = {"sort": "next_run_at", "recurring": "true"}
    (first, *_) = (await client.get("/v1/jobs", params=query)).json()["items"]
    return datetime.fromisoformat(first["next_run_at"]) - timedelta(hours=1)


async def test_a_full_last_page_is_followed_by_an_empty_one(client: httpx2.AsyncClient) -> None:
    await create(client, {}, {}, {}, {})
    assert [len(page) async for page in pages(client, "/v1/jobs", limit=2)] == [2, 2, 0]


async def test_a_page_is_full_however_rare_the_filter(client: httpx2.AsyncClient) -> None:
    rare = await create(client, *({"tags": ["rare"]} for _ in range(3)))
    await create(client, *({} for _ in range(300)))
    found = [[job["id"] for job in page] async for page in pages(client, "/v1/jobs", tag="rare", limit=2)]
    assert found == [[rare[2], rare[1]], [rare[0]]]


async def test_several_tags_must_all_be_there(client: httpx2.AsyncClient) -> None:
    _, both, _ = await create(
        client, {"tags": ["eu"]}, {"tags": ["billing", "eu"]}, {"tags": ["billing", "us"]}
    )
    answer = await client.get("/v1/jobs?tag=eu&tag=billing")
    assert [job["id"] for job in answer.json()["items"]] == [both]


async def test_a_description_and_an_owner_are_kept_shown_and_found(client: httpx2.AsyncClient) -> None:
    (job,) = await create(client, {"description": "Sends the invoices", "owner": "team-billing"})
    shown = (await client.get(f"/v1/jobs/{job}")).json()
    assert (shown["description"], shown["owner"]) == ("Sends the invoices", "team-billing")
    await create(client, {})
    for query in ({"owner": "team-billing"}, {"q": "invoice send"}):
        answer = await client.get("/v1/jobs", params=query)
        assert [each["id"] for each in answer.json()["items"]] == [job], query
    edited = await client.patch(f"/v1/jobs/{job}", json={"owner": None, "description": "none"})
    assert (edited.json()["description"], edited.json()["owner"]) == ("none", None)
    answer = await client.get("/v1/jobs", params={"owner": "team-billing"})
    assert answer.json()["items"] == []


@pytest.mark.parametrize(
    ("field", "value"), [("owner", ""), ("owner", "x" * 201), ("description", "x" * 2001), ("owner", 7)]
)
async def test_a_bad_owner_or_description_is_refused(
    client: httpx2.AsyncClient, field: str, value: object
) -> None:
    answer = await client.post("/v1/jobs", json={"task": "work", field: value})
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == [field]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("q=%25", "q"),
        ("task=*.weekly", "task"),
        ("task=rep*", "task"),
        ("health=fialing", "health"),
        ("sort=name", "sort"),
        ("recurring=yes", "recurring"),
        ("count=all", "count"),
        ("created_after=yesterday", "created_after"),
        ("owner=a&owner=b", "owner"),
        ("&".join(f"tag=t{n}" for n in range(11)), "tag"),
    ],
)
async def test_a_filter_that_cannot_be_is_named(client: httpx2.AsyncClient, query: str, field: str) -> None:
    answer = await client.get(f"/v1/jobs?{query}")
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == [field]


async def test_a_list_can_be_counted(client: httpx2.AsyncClient) -> None:
    await create(client, *({"queue": "mail"} for _ in range(5)), {})
    for kind in ("exact", "estimate"):
        answer = await client.get("/v1/jobs", params={"queue": "mail", "limit": 2, "count": kind})
        assert answer.json()["count"] == {"value": 5, "kind": "exact"}
        assert len(answer.json()["items"]) == 2
