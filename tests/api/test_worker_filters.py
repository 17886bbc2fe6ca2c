"""The filters, the order and the pages of the list of workers, and what REST workers report with a heartbeat."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest

from support.rest_worker import RestWorker
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


async def names(client: httpx2.AsyncClient, **query: Any) -> list[str]:
    answer = await client.get("/v1/workers", params=query)
    assert answer.status_code == 200, answer.text
    return [item["name"] for item in answer.json()["items"]]


@pytest.fixture
async def fleet(clock: SettableClock, client: httpx2.AsyncClient, still_node: Node) -> None:
    gone = await ScriptedWorker.connect(still_node, ["work"], name="gone", host="old")
    await gone.leave_silently()
    await clock.advance(timedelta(minutes=1))
    await ScriptedWorker.connect(
        still_node, ["work"], name="eu-1", host="h1", version="1.2", labels={"region": "eu", "gpu": "a100"}
    )
    await ScriptedWorker.connect(
        still_node, ["mail"], name="us-1", host="h2", version="1.3", labels={"region": "us"}, queues=["mail"]
    )
    await ScriptedWorker.connect(still_node, ["work"], name="eu-2", host="h2", labels={"region": "eu"})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["eu-2", "us-1", "eu-1", "gone"]),
        ({"sort": "name"}, ["eu-1", "eu-2", "gone", "us-1"]),
        ({"status": "online"}, ["eu-2", "us-1", "eu-1"]),
        ({"status": "offline"}, ["gone"]),
        ({"status": "draining"}, []),
        ({"queue": "mail", "status": "online"}, ["eu-2", "us-1", "eu-1"]),
        ({"queue": "other", "status": "online"}, ["eu-2", "eu-1"]),
        ({"task": "mail"}, ["us-1"]),
        ({"label": "region=eu"}, ["eu-2", "eu-1"]),
        ({"label": "gpu"}, ["eu-1"]),
        ({"label": ["region=eu", "gpu=a100"]}, ["eu-1"]),
        ({"label": ["region=eu", "gpu=b200"]}, []),
        ({"host": "h2"}, ["eu-2", "us-1"]),
        ({"version": "1.3"}, ["us-1"]),
        ({"q": "EU-"}, ["eu-2", "eu-1"]),
        ({"q": "a100"}, ["eu-1"]),
        ({"q": "mail"}, ["us-1"]),
        ({"q": "%"}, []),
    ],
)
async def test_filters(
    fleet: None, client: httpx2.AsyncClient, query: dict[str, Any], expected: list[str]
) -> None:
    assert await names(client, **query) == expected


@pytest.mark.parametrize("sort", ["-started_at", "name"])
async def test_pages_are_full_or_the_last(client: httpx2.AsyncClient, still_node: Node, sort: str) -> None:
    for number in range(4):
        await ScriptedWorker.connect(still_node, ["work"], name=f"box-{number % 2}", labels={"a": "1"})
        await ScriptedWorker.connect(still_node, ["work"], name="other")
    whole = (await client.get("/v1/workers", params={"label": "a", "sort": sort})).json()["items"]
    seen: list[Any] = []
    query: dict[str, Any] = {"label": "a", "sort": sort, "limit": 2}
    for is_last in (False, True):
        page = (await client.get("/v1/workers", params=query)).json()
        assert (len(page["items"]), page["next_cursor"] is None) == (2, is_last)
        seen += page["items"]
        query["cursor"] = page["next_cursor"]
    assert [each["id"] for each in seen] == [each["id"] for each in whole]


async def test_a_cursor_of_another_order_and_an_unknown_filter_are_errors(
    fleet: None, client: httpx2.AsyncClient
) -> None:
    cursor = (await client.get("/v1/workers", params={"limit": 1})).json()["next_cursor"]
    assert (await client.get("/v1/workers", params={"cursor": cursor, "sort": "name"})).status_code == 422
    for query in ({"status": "alive"}, {"labels": "x"}, {"sort": "load"}, {"label": "x" * 201}):
        answer = await client.get("/v1/workers", params=query)
        assert [error["path"].split("[")[0] for error in answer.json()["errors"]] == [*query], answer.text


async def test_a_rest_worker_reports_its_load_and_changes_what_it_has(
    live_client: httpx2.AsyncClient,
) -> None:
    worker = await RestWorker.register(live_client, labels={"region": "us"})
    job = {"task": "work", "requires": {"labels": {"region": "eu"}, "storage": "5Gi"}}
    await live_client.post("/v1/jobs", json=job)
    path = f"/v1/workers/{worker.id}"
    assert (await live_client.post(f"{path}/claim", json={})).json()["items"] == []
    load = {"cpu": 0.25, "disk_used": 10, "disk_total": 100}
    report = {"load": load, "labels": {"region": "eu"}, "resources": {"storage": "10Gi"}}
    assert (await live_client.post(f"{path}/heartbeat", json=report)).status_code == 200
    shown = (await live_client.get(path)).json()
    assert {name: value for name, value in shown["load"].items() if value is not None} == load
    assert (shown["labels"], shown["resources"]) == ({"region": "eu"}, {"storage": 10.0 * 1024**3})
    assert len((await live_client.post(f"{path}/claim", json={"wait": 5})).json()["items"]) == 1
    assert (await live_client.post(f"{path}/heartbeat")).status_code == 200  # says nothing, changes nothing
    assert (await live_client.get(path)).json()["labels"] == {"region": "eu"}


@pytest.mark.parametrize(
    ("report", "path"),
    [
        ({"load": {"cpu": 1.5}}, "load.cpu"),
        ({"load": {"cpus": 1}}, "load.cpus"),
        ({"load": {"disk_used": -1}}, "load.disk_used"),
        ({"resources": {"storage": "lots"}}, "resources.storage"),
        ({"labels": {"a": 1}}, "labels.a"),
    ],
)
async def test_a_wrong_report_names_the_field_and_changes_nothing(
    live_client: httpx2.AsyncClient, report: dict[str, Any], path: str
) -> None:
    worker = await RestWorker.register(live_client)
    answer = await live_client.post(f"/v1/workers/{worker.id}/heartbeat", json=report)
    assert answer.status_code == 422, answer.text
    assert path in [error["path"] for error in answer.json()["errors"]]
    assert (await live_client.get(f"/v1/workers/{worker.id}")).json()["load"] is None
