"""GET /v1/events: past events by page, and the live stream over real sockets, across nodes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Any

import httpx2
import pytest

from support.waiting import eventually
from tickwork.cli.server_command import listen, serving_http, url_of
from tickwork.client.async_client import AsyncClient
from tickwork.config import Settings
from tickwork.model.stream_event import StreamEvent  # noqa: TC001 (pytest reads annotations)
from tickwork.model.worker_protocol import Runs
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker


async def numbered(node: Node) -> None:
    while await node.step("number events"):
        pass


async def test_past_events_come_latest_first_in_pages(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    for name in ("a", "b", "c"):
        await client.post("/v1/jobs", json={"task": "work", "name": name, "schedule": "@daily"})
    await numbered(still_node)
    query = {"kind": "job.created", "limit": "2"}
    first = (await client.get("/v1/events", params=query)).json()
    assert [event["job_name"] for event in first["items"]] == ["c", "b"]
    second = (await client.get("/v1/events", params=query | {"cursor": first["next_cursor"]})).json()
    assert [event["job_name"] for event in second["items"]] == ["a"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"job": "key:first"}, ["first"]),
        ({"tag": "billing"}, ["second"]),
        ({"task": "work"}, ["second", "first"]),
        ({"queue": "slow"}, ["second"]),
        ({"kind": "job.*,execution.failed"}, ["second", "first"]),
        ({"kind": "execution.failed"}, []),
    ],
)
async def test_events_are_filtered(
    client: httpx2.AsyncClient,
    still_node: Node,
    worker: ScriptedWorker,
    query: dict[str, str],
    names: list[str],
) -> None:
    jobs: list[dict[str, Any]] = [{"key": "first"}, {"key": "second", "tags": ["billing"], "queue": "slow"}]
    for job in jobs:
        await client.post("/v1/jobs", json={"task": "work", "schedule": "@daily", **job})
    await numbered(still_node)
    answer = await client.get("/v1/events", params={**query})
    shown = [event["job_key"] for event in answer.json()["items"] if event["kind"] == "job.created"]
    assert shown == names


async def test_an_unknown_kind_is_named_with_those_there_are(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/v1/events", params={"kind": "execution.exploded"})
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["path"] == "kind"
    assert "execution.failed" in error["hint"]


async def test_a_tenant_sees_only_its_own_events(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, connect: Any
) -> None:
    await client.post("/v1/jobs", json={"task": "work"})
    key = (await client.post("/v1/keys", json={"name": "k", "scopes": ["read"], "tenant": "other"})).json()[
        "secret"
    ]
    await numbered(still_node)
    other = await connect(still_node, key)
    events = (await other.get("/v1/events", params={})).json()["items"]
    assert [event["kind"] for event in events] == ["key.created"]


Serve = Callable[[Node], Awaitable[str]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Puts a node on the network; gives its URL."""
    async with AsyncExitStack() as stack:

        async def serve(node: Node) -> str:
            listener = listen("127.0.0.1", 0)
            await stack.enter_async_context(serving_http(node, listener))
            return url_of(listener)

        yield serve


@pytest.fixture
async def two_nodes(settings: Settings) -> AsyncIterator[list[Node]]:
    nodes = [Node(settings), Node(settings)]
    for node in nodes:
        await node.start()
    yield nodes
    for node in nodes:
        await node.stop()


async def test_no_news_is_lost_or_out_of_order_when_a_follower_moves_to_another_node(
    two_nodes: list[Node], serve: Serve
) -> None:
    """One job after the other is created on both nodes; the follower moves after every few events."""
    await ScriptedWorker.offer_only(two_nodes[0], ["work"])
    key = two_nodes[0].first_key
    clients = [AsyncClient(await serve(node), key) for node in two_nodes]
    load = asyncio.create_task(_create_in_turns(clients, 60))
    seen: list[StreamEvent] = []
    for turn in range(12):
        after = seen[-1].id if seen else 0
        stream = clients[turn % 2].follow_events(kind="job.created", after=after or 0)
        async with aclosing(stream) as events:  # type: ignore[type-var]
            async for event in events:
                seen.append(event)
                if len(seen) == 5 * (turn + 1):
                    break
    await load
    for client in clients:
        await client.close()
    names = [event.job_name for event in seen]
    assert sorted(names, key=lambda name: int(name or 0)) == names
    assert len(names) == 60
    numbers = [event.id for event in seen]
    assert numbers == sorted({*numbers}, key=lambda number: number or 0)


async def _create_in_turns(clients: list[AsyncClient], count: int) -> None:
    for number in range(count):
        await clients[number % 2].create_job(task="work", name=str(number), schedule="@daily")


async def test_the_pulse_reaches_a_follower_on_another_node(two_nodes: list[Node], serve: Serve) -> None:
    worker = await ScriptedWorker.connect(two_nodes[0], ["work"])
    first, second = [AsyncClient(await serve(node), two_nodes[0].first_key) for node in two_nodes]
    kinds: list[str] = []

    async def follow() -> None:
        async for event in second.follow_events(kind="execution.started,execution.completed"):
            kinds.append(event.kind)  # noqa: PERF401 (it is looked at while it grows)

    following = asyncio.create_task(follow())

    async def completed() -> bool:
        await first.create_job(task="work")
        runs = await worker.next_of(Runs)
        await worker.complete_live(runs.items[0])
        return "execution.completed" in kinds

    await eventually(completed, within=60)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await first.close()
    await second.close()
    assert kinds[:2] == ["execution.started", "execution.completed"]
