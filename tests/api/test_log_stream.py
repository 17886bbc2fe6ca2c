"""The log of an execution as server-sent events, over real connections to real nodes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from datetime import datetime
from typing import Any

import httpx2
import pytest

from support.waiting import eventually
from tickwork.api import log_routes as logs
from tickwork.cli.server_command import listen, serving_http, url_of
from tickwork.client.async_client import AsyncClient
from tickwork.config import Settings
from tickwork.model.access import Scope
from tickwork.model.attempt_log import BEGINNING, AttemptProgress, LogEntry
from tickwork.model.execution import AttemptOutcome, ExecutionStatus
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import execution_id, from_micros, parse_key_id
from tickwork.model.worker_protocol import Noted, Run, Runs
from tickwork.node import Node
from tickwork.record import log_reader
from tickwork.testing.scripted_worker import ScriptedWorker, note_of

TENANT = 1
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
async def worker(node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(node, ["work"])


async def start(node: Node, worker: ScriptedWorker) -> Run:
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    return (await worker.next_of(Runs)).items[0]


async def note(worker: ScriptedWorker, run: Run, *texts: str, first: int = 0, **details: object) -> None:
    await worker.send_notes([note_of(run, *texts, first=first, **details)])
    if not await worker._take(Noted):
        await worker.next_of(Noted)


def name(run: Run) -> str:
    return execution_id(run.job, from_micros(run.at))


def identity(run: Run) -> tuple[int, int, datetime]:
    return run.tenant, run.job, from_micros(run.at)


def raw(url: str, key: str | None) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=url, headers={"authorization": f"Bearer {key}"}, trust_env=False)


async def events(response: httpx2.Response) -> AsyncIterator[dict[str, str]]:
    async for line in response.aiter_lines():
        if line.startswith("id:"):
            event = {"id": line[4:]}
        elif line.startswith("event:"):
            event = {"event": line[7:]} | (event if "event" not in event else {})
        elif line.startswith("data:"):
            yield event | {"data": line[6:]}
            event = {"event": ""}
        elif not line:
            event = {}


async def test_a_follower_sees_what_is_stored_then_what_comes_then_the_end(
    node: Node, worker: ScriptedWorker, serve: Serve
) -> None:
    run = await start(node, worker)
    await note(worker, run, "stored")
    async with AsyncClient(await serve(node), node.first_key) as client:
        news: Any = client.follow_execution_logs(name(run))
        assert (await anext(news)).text == "stored"
        await note(worker, run, "live", first=1)
        assert (await anext(news)).text == "live"
        await note(worker, run, fraction=0.5, message="half")
        assert await anext(news) == AttemptProgress(attempt=1, fraction=0.5, message="half")
        await worker.tell(run, AttemptOutcome.COMPLETED)
        assert [each async for each in news] == []


async def test_a_follower_sees_what_another_node_records(
    node: Node, worker: ScriptedWorker, serve: Serve, settings: Settings
) -> None:
    run = await start(node, worker)
    other = Node(settings)
    await other.start()
    try:
        async with AsyncClient(await serve(other), node.first_key) as client:
            news: Any = client.follow_execution_logs(name(run))
            waiting = asyncio.create_task(anext(news))
            await eventually(lambda: other._feeds._feeds, within=10, what="following")
            await note(worker, run, "from afar")
            assert (await waiting).text == "from afar"
            await worker.tell(run, AttemptOutcome.COMPLETED)
            assert [each async for each in news] == []
    finally:
        await other.stop()


async def test_goes_on_after_the_last_event_seen_without_loss_or_repeat(
    node: Node, worker: ScriptedWorker, serve: Serve
) -> None:
    run = await start(node, worker)
    await note(worker, run, *"abcdef")
    await worker.tell(run, AttemptOutcome.COMPLETED)
    path = f"/v1/executions/{name(run)}/logs"
    async with raw(await serve(node), node.first_key) as client:
        async with client.stream("GET", path, headers={"accept": "text/event-stream"}) as response:
            assert response.headers["content-type"] == "text/event-stream"
            seen = [await anext(aiter(events(response)))]
        last = {"last-event-id": seen[0]["id"]}
        async with client.stream("GET", path, params={"follow": "true"}, headers=last) as response:
            rest = [event async for event in events(response)]
    assert seen[0]["id"] == "1-0"
    assert [event["id"] for event in rest if event["event"] == "log"] == ["1-1", "1-2", "1-3", "1-4", "1-5"]
    assert rest[-1] == {"event": "end", "data": '{"status":"completed"}'}


async def test_begins_with_the_last_lines_when_asked_to(
    node: Node, worker: ScriptedWorker, serve: Serve
) -> None:
    run = await start(node, worker)
    await note(worker, run, *"abcdef")
    await worker.tell(run, AttemptOutcome.COMPLETED)
    async with AsyncClient(await serve(node), node.first_key) as client:
        seen: list[Any] = [each async for each in client.follow_execution_logs(name(run), tail=2)]
    assert [entry.text for entry in seen] == ["e", "f"]


async def test_a_client_whose_node_stops_goes_on_when_there_is_one_again(
    node: Node, worker: ScriptedWorker, settings: Settings
) -> None:
    run = await start(node, worker)
    await note(worker, run, "before")
    first = Node(settings)
    await first.start()
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    async with AsyncClient(url_of(listener), node.first_key) as client:
        news: Any = client.follow_execution_logs(name(run))
        async with serving_http(first, listener):
            assert (await anext(news)).text == "before"
        await first.stop()
        await note(worker, run, "between", first=1)
        await worker.tell(run, AttemptOutcome.COMPLETED)
        async with serving_http(node, listen("127.0.0.1", port)):
            assert [each.text async for each in news] == ["between"]


async def test_all_followers_of_an_execution_share_one_feed_and_leave_nothing_behind(
    node: Node, worker: ScriptedWorker, serve: Serve
) -> None:
    run = await start(node, worker)
    await note(worker, run, "stored")
    url = await serve(node)
    async with AsyncClient(url, node.first_key) as one, AsyncClient(url, node.first_key) as two:
        streams: list[Any] = [client.follow_execution_logs(name(run)) for client in (one, two, one)]
        for stream in streams:
            assert (await anext(stream)).text == "stored"
        (shared,) = node._feeds._feeds.values()
        assert shared.followers == 3
        await note(worker, run, "live", first=1)
        for stream in streams:
            assert (await anext(stream)).text == "live"
            await stream.aclose()
    await eventually(lambda: not node._feeds._feeds, within=10, what="the end of the feed")


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_nothing_is_told_of_what_others_run(
    node: Node, worker: ScriptedWorker, serve: Serve, accept: str
) -> None:
    run = await start(node, worker)
    caller = await node.keys.authenticate(node.first_key)
    _, foreign = await node.keys.create(caller, "theirs", [Scope.ADMIN], "other", None)
    async with raw(await serve(node), foreign) as client:
        answer = await client.get(f"/v1/executions/{name(run)}/logs", headers={"accept": accept})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_stream_ends_when_its_key_is_revoked(
    node: Node, worker: ScriptedWorker, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_KEY_CHECK_INTERVAL", 0.0)
    run = await start(node, worker)
    await note(worker, run, "stored")
    caller = await node.keys.authenticate(node.first_key)
    key, secret = await node.keys.create(caller, "short-lived", [Scope.READ], None, None)
    path = f"/v1/executions/{name(run)}/logs?follow=true"
    async with raw(await serve(node), secret) as client, client.stream("GET", path) as response:
        told = aiter(events(response))
        assert (await anext(told))["id"] == "1-0"
        await node.keys.revoke(caller, parse_key_id(key.id))
        await note(worker, run, "secret", first=1)
        assert [event async for event in told] == []


async def test_a_look_at_the_head_of_a_stream_ends(node: Node, worker: ScriptedWorker, serve: Serve) -> None:
    run = await start(node, worker)
    async with raw(await serve(node), node.first_key) as client:
        answer = await client.head(f"/v1/executions/{name(run)}/logs?follow=true")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")


async def test_pages_over_http_and_refuses_what_makes_no_sense(
    node: Node, worker: ScriptedWorker, live_client: httpx2.AsyncClient
) -> None:
    run = await start(node, worker)
    await note(worker, run, *"abc")
    path = f"/v1/executions/{name(run)}/logs"
    page = (await live_client.get(path, params={"limit": 2})).json()
    assert [item["text"] for item in page["items"]] == ["a", "b"]
    rest = (await live_client.get(path, params={"cursor": page["next_cursor"]})).json()
    assert ([item["text"] for item in rest["items"]], rest["next_cursor"]) == (["c"], None)
    tail = (await live_client.get(path, params={"tail": 1})).json()
    assert [item["line"] for item in tail["items"]] == [2]
    for query, field in [
        ({"tail": 1, "cursor": page["next_cursor"]}, "tail"),
        ({"attempt": 0}, "attempt"),
        ({"tail": 501}, "tail"),
        ({"follow": "maybe"}, "follow"),
        ({"cursor": "nonsense"}, "cursor"),
    ]:
        answer = await live_client.get(path, params=query)
        assert answer.status_code == 422, query
        assert [error["path"] for error in answer.json()["errors"]] == [field]


async def test_lines_that_are_kept_a_moment_after_the_end_are_shown_before_it(still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await still_node.step("claim")
    (run,) = await worker.runs()
    news: Any = still_node.logs.follow(*identity(run), None, BEGINNING)
    first = asyncio.create_task(anext(news))
    await worker.send_notes([note_of(run, "last words")])
    await worker.complete(run)
    (followed,) = still_node._feeds._feeds.values()
    await eventually(lambda: followed.state and followed.state.status.ended, within=10, what="seeing the end")
    await still_node.step("write logs")
    assert (await first).text == "last words"
    assert [each async for each in news] == [ExecutionStatus.COMPLETED]


async def test_a_follower_that_is_slow_misses_nothing_and_holds_one_page(
    still_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "_PAGE", 10)
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await still_node.step("claim")
    (run,) = await worker.runs()
    await worker.log(run, "0")
    async with aclosing(still_node.logs.follow(*identity(run), None, BEGINNING)) as news:
        seen = [await anext(news)]
        (followed,) = still_node._feeds._feeds.values()
        for number in range(1, 100):
            await worker.log(run, str(number), first=number)
        await eventually(lambda: followed.end.line == 100, within=10, what="reading on")
        assert len(followed._lines) <= 10
        seen += [await anext(news) for _ in range(99)]
    assert [entry.text for entry in seen if isinstance(entry, LogEntry)] == [str(n) for n in range(100)]


async def test_silence_is_told_so_that_the_connection_is_known_to_live(
    still_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "_SILENCE", 0.01)
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await still_node.step("claim")
    (run,) = await worker.runs()
    async with aclosing(still_node.logs.follow(*identity(run), None, BEGINNING)) as news:
        assert await anext(news) is None
