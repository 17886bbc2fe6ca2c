"""Each filter of the list of executions finds what it names, page by page, and says how far it has looked."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest

from tickwork.model.errors import TIMEOUT
from tickwork.model.execution import AttemptOutcome, ExecutionFilter, ExecutionStatus
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.store import execution_search
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

UNSERVED = {"queue": "far", "requires": {"labels": {"region": "mars"}}}


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, tasks=["work", "other"])


async def create(client: httpx2.AsyncClient, **fields: Any) -> str:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def page(client: httpx2.AsyncClient, **query: Any) -> dict[str, Any]:
    answer = await client.get("/v1/executions", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def found(client: httpx2.AsyncClient, **query: Any) -> list[str]:
    """The jobs of all pages. None is short without saying how far it has looked."""
    jobs: list[str] = []
    while True:
        part = await page(client, **query)
        assert (
            part["next_cursor"] is None
            or part["searched_until"]
            or len(part["items"]) == query.get("limit", 50)
        )
        jobs += [execution["job_id"] for execution in part["items"]]
        if part["next_cursor"] is None:
            return jobs
        query["cursor"] = part["next_cursor"]


async def start(node: Node, worker: ScriptedWorker) -> list[Run]:
    await node.step("claim")
    return await worker.runs()


async def number(node: Node) -> None:
    while await node.step("number events"):
        pass


@pytest.mark.parametrize("numbered", [False, True], ids=["at once", "later"])
async def test_failed_attempts_are_found_by_their_error(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, numbered: bool
) -> None:
    good = await create(client)
    (run,) = await start(still_node, worker)
    await worker.complete(run)
    failed = await create(client, retry={"max_attempts": 1}, tags=["billing"])
    (run,) = await start(still_node, worker)
    await worker.fail(run, Failure("ValueError", "no good"))
    slow = await create(client, retry={"max_attempts": 2, "initial": "1h"})
    (run,) = await start(still_node, worker)
    await worker.fail(run, Failure(TIMEOUT, "took too long"))
    if numbered:
        await number(still_node)
    for query, expected in [
        ({"status": "failed"}, [failed]),
        ({"error": "ValueError"}, [failed]),
        ({"error": "KeyError"}, []),
        ({"timed_out": "true"}, [slow]),
        ({"timed_out": "true", "error": "ValueError"}, []),
        ({"retrying": "true"}, [slow]),
        ({"waiting_for": "retry"}, [slow]),
        ({"status": "failed", "tag": "billing"}, [failed]),
        ({"status": "failed", "tag": "mail"}, []),
        ({"tag": "billing"}, [failed]),
        ({"error": "ValueError", "job": failed}, [failed]),
        ({"error": "ValueError", "job": good}, []),
    ]:
        assert await found(client, **query) == expected, query


@pytest.mark.parametrize("numbered", [False, True], ids=["at once", "later"])
async def test_a_rare_error_is_found_without_looking_at_other_failures(
    client: httpx2.AsyncClient,
    still_node: Node,
    worker: ScriptedWorker,
    monkeypatch: pytest.MonkeyPatch,
    numbered: bool,
) -> None:
    rare = await create(client, retry={"max_attempts": 1})
    (run,) = await start(still_node, worker)
    await worker.fail(run, Failure("KeyError", "gone"))
    for _ in range(5):
        await create(client, retry={"max_attempts": 1})
        (run,) = await start(still_node, worker)
        await worker.fail(run, Failure("ValueError", "no good"))
    if numbered:
        await number(still_node)
    monkeypatch.setattr(execution_search, "_SLICES", (2,))
    assert (await page(client, status="failed", tag="none"))["searched_until"] is not None
    for query, expected in (({"error": "KeyError"}, [rare]), ({"timed_out": "true"}, [])):
        answer = await page(client, **query)
        assert [execution["job_id"] for execution in answer["items"]] == expected
        assert (answer["next_cursor"], answer["searched_until"]) == (None, None)


async def test_an_execution_that_is_redriven_is_failed_no_more(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(client, retry={"max_attempts": 1})
    (run,) = await start(still_node, worker)
    await worker.fail(run, Failure("ValueError", "no good"))
    await number(still_node)
    (execution,) = (await page(client, status="failed"))["items"]
    await client.post(f"/v1/executions/{execution['id']}/retry")
    assert await found(client, status="failed") == []
    assert await found(client, error="ValueError") == [job]
    (run,) = await start(still_node, worker)
    await worker.complete(run)
    assert await found(client, status="failed") == []
    assert await found(client, status="completed", error="ValueError") == [job]


async def test_a_failed_execution_with_several_events_is_shown_once(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    jobs = [await create(client, retry={"max_attempts": 4, "initial": 0}) for _ in range(3)]
    for _ in range(4):
        for run in await start(still_node, worker):
            await worker.fail(run, Failure("ValueError", "no good"))
    await number(still_node)
    assert sorted(await found(client, error="ValueError", limit=1)) == sorted(jobs)


async def test_what_waits_is_found_by_what_it_waits_for(
    client: httpx2.AsyncClient, still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    due = await create(client, schedule={"in": "1h"})
    unserved = await create(client, **UNSERVED)
    parent = await create(client, retry={"max_attempts": 1})
    child = await create(client, depends_on=[parent])
    paused = await create(client, **UNSERVED)
    await client.post(f"/v1/jobs/{paused}/pause")
    assert await found(client, waiting_for="due") == [due]
    assert await found(client, waiting_for="worker", queue="far") == [unserved]
    assert await found(client, waiting_for="paused") == [paused]
    assert await found(client, waiting_for="dependency") == [child]
    assert sorted(await found(client, status="pending")) == sorted([due, unserved, parent, child, paused])
    assert await found(client, blocked="true") == []
    (run,) = await start(still_node, worker)
    assert await found(client, status="running") == [parent]
    await worker.fail(run, Failure("ValueError", "no good"))
    assert await found(client, blocked="true") == [child]
    (failed,) = (await page(client, status="failed"))["items"]
    await client.post(f"/v1/executions/{failed['id']}/retry")
    assert await found(client, blocked="true") == []


async def test_what_is_slow_or_late_is_found_before_and_after_it_ends(
    client: httpx2.AsyncClient, still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    late = await create(client)
    unserved = await create(client, **UNSERVED)
    await clock.advance(timedelta(minutes=2))
    await worker.beat()
    assert sorted(await found(client, later_than="1m")) == sorted([late, unserved])
    (run,) = await start(still_node, worker)
    await worker.log(run, fraction=0.1, started=run.at + 120_000_000)
    await clock.advance(timedelta(minutes=6))
    await worker.beat()
    assert await found(client, longer_than="5m") == [late]
    assert await found(client, longer_than="7m") == []
    await worker.report(run, AttemptOutcome.COMPLETED, start_delay=120.0, run_time=360.0)
    await number(still_node)
    assert await found(client, longer_than="5m") == [late]
    assert sorted(await found(client, later_than="1m")) == sorted([late, unserved])
    assert await found(client, later_than="1m", status="completed") == [late]
    assert await found(client, later_than="5m") == [unserved]
    assert await found(client, longer_than="10s") == [late]


async def test_an_error_is_found_by_the_queue_of_its_execution_even_after_a_move(
    client: httpx2.AsyncClient, still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    stays = await create(client, queue="one", retry={"max_attempts": 1})
    moves = await create(client, queue="one", retry={"max_attempts": 2, "initial": "1m"})
    for run in await start(still_node, worker):
        await worker.fail(run, Failure("ValueError", "no good"))
    await number(still_node)
    assert sorted(await found(client, error="ValueError", queue="one")) == sorted([stays, moves])
    assert await found(client, error="ValueError", queue="two") == []
    assert await found(client, error="ValueError", task="other") == []
    await client.patch(f"/v1/jobs/{moves}", json={"queue": "two"})
    for query, expected in [
        ({"error": "ValueError", "queue": "one"}, [stays]),
        ({"error": "ValueError", "queue": "two"}, [moves]),
        ({"error": "ValueError", "task": "work", "queue": "two"}, [moves]),
        ({"retrying": "true", "queue": "one"}, []),
        ({"retrying": "true", "queue": "two"}, [moves]),
        ({"status": "failed", "queue": "one"}, [stays]),
        ({"status": "failed", "queue": "two"}, []),
    ]:
        assert await found(client, **query) == expected, query
    await clock.advance(timedelta(minutes=2))
    await worker.beat()
    (run,) = await start(still_node, worker)
    await worker.complete(run)
    assert await found(client, error="ValueError", queue="two", status="completed") == [moves]


async def test_failures_of_other_lanes_are_passed_over_and_not_looked_up(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for queue in ("rare", *["common"] * 6):
        await create(client, queue=queue, retry={"max_attempts": 1})
        (run,) = await start(still_node, worker)
        await worker.fail(run, Failure("ValueError", "no good"))
    await number(still_node)
    monkeypatch.setattr(execution_search, "_SLICES", (2, 3))
    first = await page(client, status="failed", queue="rare")
    assert first["items"] == []
    assert first["searched_until"] is not None
    assert len(await found(client, status="failed", queue="rare")) == 1
    assert len(await found(client, error="ValueError", queue="common", limit=2)) == 6


def test_a_page_that_is_nearly_full_looks_at_few_more() -> None:
    sizes = execution_search._SliceSizes((500, 2_000, 8_000, 20_000))
    assert sizes.next(0, 50) == 500
    assert sizes.next(0, 50) == 2_000
    assert sizes.next(45, 50) == 500
    assert sizes.next(25, 50) == 4_500
    assert [sizes.next(0, 50), sizes.next(0, 50), sizes.next(0, 50)] == [20_000, 3_000, 0]


async def test_what_completed_is_found_though_much_is_due_later(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = await create(client)
    (run,) = await start(still_node, worker)
    await worker.complete(run)
    for _ in range(5):
        await create(client, schedule={"in": "1h"})
    monkeypatch.setattr(execution_search, "_SLICES", (2,))
    answer = await page(client, status="completed")
    assert [execution["job_id"] for execution in answer["items"]] == [done]
    assert answer["searched_until"] is None


async def test_what_is_to_come_is_shown_without_listing_all_that_waits(
    client: httpx2.AsyncClient, still_node: Node, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [await create(client, schedule={"in": f"{minutes}m"}) for minutes in range(1, 6)]
    overdue = await create(client, **UNSERVED)
    assert await found(client, status="pending", limit=2) == [*reversed(jobs), overdue]
    monkeypatch.setattr(execution_search, "_MOST_CURRENT", None)  # so that listing fails
    first = await page(client, status="pending", limit=5)
    assert [execution["job_id"] for execution in first["items"]] == jobs[::-1]


async def test_a_search_that_finds_little_says_how_far_it_has_looked(
    client: httpx2.AsyncClient,
    still_node: Node,
    worker: ScriptedWorker,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution_search, "_SLICES", (2, 3))
    rare = await create(client, tags=["rare"])
    for _ in range(8):
        await clock.advance(timedelta(seconds=1))
        await create(client)
    first = await page(client, tag="rare")
    assert first["items"] == []
    times = [execution["scheduled_for"] for execution in (await page(client))["items"]]
    assert first["searched_until"] == times[4]
    second = await page(client, tag="rare", cursor=first["next_cursor"])
    assert [execution["job_id"] for execution in second["items"]] == [rare]
    assert (second["next_cursor"], second["searched_until"]) == (None, None)
    assert await found(client, tag="rare", limit=1) == [rare]


async def test_a_large_backlog_is_searched_in_the_order_of_time(
    client: httpx2.AsyncClient, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [await create(client, **UNSERVED) for _ in range(5)]
    expected = sorted(await found(client, waiting_for="worker"))
    monkeypatch.setattr(execution_search, "_MOST_CURRENT", 3)
    assert sorted(await found(client, waiting_for="worker", limit=2)) == expected == sorted(jobs)


async def test_matches_are_counted(
    client: httpx2.AsyncClient,
    still_node: Node,
    worker: ScriptedWorker,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _ in range(10):
        await create(client)
        await clock.advance(timedelta(seconds=1))
    for run in await start(still_node, worker):
        await worker.report(run, AttemptOutcome.COMPLETED)
    assert (await page(client))["count"] is None
    for kind in ("exact", "estimate"):
        assert (await page(client, count=kind, limit=2))["count"] == {"value": 10, "kind": "exact"}
    assert (await page(client, count="exact", status="failed"))["count"] == {"value": 0, "kind": "exact"}
    monkeypatch.setattr(execution_search, "_COUNTED_TOGETHER", 5)
    monkeypatch.setattr(execution_search, "_COUNT_WITHIN", {"exact": 0.0, "estimate": 0.0})
    assert (await page(client, count="exact", status="completed"))["count"] == {
        "value": 5,
        "kind": "at least",
    }
    estimate = (await page(client, count="estimate", status="completed"))["count"]
    assert estimate["kind"] == "estimate"
    assert 10 <= estimate["value"] <= 12


async def test_other_tenants_executions_are_never_found(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    await create(client, retry={"max_attempts": 1})
    (run,) = await start(still_node, worker)
    await worker.fail(run, Failure("ValueError", "no good"))
    for wanted in (ExecutionFilter(status=ExecutionStatus.FAILED), ExecutionFilter(error="ValueError")):
        assert (await still_node.history.list(2, wanted, 10)).items == []


@pytest.mark.parametrize(
    "query",
    [
        {"longer_than": "soon"},
        {"later_than": "-1"},
        {"waiting_for": "godot"},
        {"retrying": "false"},
        {"count": "all"},
    ],
)
async def test_nonsense_is_refused_by_name(client: httpx2.AsyncClient, query: dict[str, str]) -> None:
    answer = await client.get("/v1/executions", params=query)
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == [*query]
