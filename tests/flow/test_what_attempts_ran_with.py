"""Each attempt is shown with what its worker was given, however its job was edited before, meanwhile and since."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from support.node_steps import later, run_due
from support.waiting import eventually
from tickwork.model.access import Author
from tickwork.model.errors import NotFound
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.past_attempt_input import ExecutionInput, ExecutionRetry
from tickwork.model.public_ids import from_micros
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT, JOB = 1, 1
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
BROKEN = Failure("ValueError", "no")
OLD, NEW, NEWEST = {"n": "old"}, {"n": "new"}, {"n": "newest"}
_WAIT_IN_CLAIM = """
CREATE OR REPLACE FUNCTION tickwork.was_tried(tenant integer, at timestamptz, job bigint, attempts integer)
    RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN true; END $$"""


async def create(node: Node, **fields: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(**{"task": "work", "payload": OLD, **fields})])


async def edit(node: Node, **patch: Any) -> None:
    await node.jobs.patch(TENANT, JOB, patch)


async def handed_out(node: Node, worker: ScriptedWorker) -> Run:
    await run_due(node)
    (run,) = await worker.runs()
    return run


async def shown(node: Node, run: Run, attempt: int | None = None) -> ExecutionInput:
    return await node.history.input(TENANT, run.job, from_micros(run.at), attempt)


def payload(value: ExecutionInput | Run) -> object:
    raw = value.payload if isinstance(value, Run) else bytes(value.payload)
    return msgspec.json.decode(raw)


async def test_a_job_that_is_not_edited_writes_nothing(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await create(still_node)
    run = await handed_out(still_node, worker)
    await worker.complete(run)
    given = await shown(still_node, run)
    assert (payload(given), given.source, given.version, given.attempt) == (OLD, "job", 1, 1)
    await edit(still_node, name="other", priority="high", tags=["a"])
    for table in ("job_version", "attempt_version", "retry_payload"):
        assert await connection.fetchval(f"SELECT count(*) FROM tickwork.{table}") == 0  # noqa: S608


@pytest.mark.parametrize("pause", [timedelta(0), MINUTE])
async def test_what_ended_before_the_edit_ran_with_the_old_and_what_came_after_it_with_the_new(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, pause: timedelta
) -> None:
    await create(still_node, schedule="every 1h")
    await later(clock, worker, HOUR)
    before = await handed_out(still_node, worker)
    await worker.complete(before)
    await later(clock, worker, pause)
    await edit(still_node, payload=NEW)
    await still_node.runs.run(TENANT, JOB)
    after = await handed_out(still_node, worker)
    await worker.complete(after)
    await later(clock, worker, pause)
    await edit(still_node, payload=NEWEST)
    for run, expected, version in ((before, OLD, 1), (after, NEW, 2)):
        given = await shown(still_node, run)
        assert (payload(run), payload(given)) == (expected, expected)
        assert (given.source, given.version, given.current_version) == ("earlier version", version, 3)


async def test_what_runs_across_an_edit_has_what_it_was_given(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await create(still_node, retry=RetryRequest(max_attempts=3))
    first = await handed_out(still_node, worker)
    await later(clock, worker, MINUTE)
    await edit(still_node, payload=NEW)
    assert payload(await shown(still_node, first)) == OLD
    await later(clock, worker, HOUR)
    await worker.fail(first, BROKEN)
    await later(clock, worker, HOUR)
    second = await handed_out(still_node, worker)
    assert payload(second) == NEW
    await worker.report(second, AttemptOutcome.COMPLETED, start_delay=(2 * HOUR + MINUTE).total_seconds())
    await edit(still_node, payload=NEWEST)
    assert [payload(await shown(still_node, first, number)) for number in (1, 2)] == [OLD, NEW]
    with pytest.raises(NotFound):
        await shown(still_node, first, 3)


async def test_the_task_and_the_http_call_are_shown_without_secrets(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    http = {"url": "http://127.0.0.1:9/a?token=tell", "headers": {"authorization": "Bearer tell"}}
    await still_node.jobs.create(TENANT, [msgspec.convert({"http": http, "payload": OLD}, JobRequest)])
    builtin = await ScriptedWorker.connect(still_node, ["http"], tenant_id=None)
    run = await handed_out(still_node, builtin)
    await edit(still_node, http={"url": "http://127.0.0.1:9/b"})
    given = await shown(still_node, run)
    assert given.http is not None
    assert given.http.url.startswith("http://127.0.0.1:9/a")
    assert "tell" not in msgspec.json.encode(given).decode()


async def test_a_worker_that_comes_back_is_given_the_same_again(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await create(still_node)
    await handed_out(still_node, worker)
    await edit(still_node, payload=NEW)
    back = await worker.come_back([])
    (again,) = await back.runs()
    assert payload(again) == OLD
    assert payload(await shown(still_node, again)) == OLD


async def test_a_claim_that_began_before_the_edit_hands_out_nothing_old(
    nodes: list[Node], clock: SettableClock, connection: asyncpg.Connection
) -> None:
    """It has read the old job, and reaches the execution when the edit is done."""
    worker = await ScriptedWorker.connect(nodes[0], ["work"])
    await create(nodes[0], start_within="1s", retry=RetryRequest(max_attempts=2))
    await worker.fail(await handed_out(nodes[0], worker), BROKEN)
    await later(clock, worker, HOUR)
    await connection.execute(_WAIT_IN_CLAIM)
    await connection.execute("SELECT pg_advisory_lock(7)")
    claiming = asyncio.create_task(nodes[0].step("claim"))
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
    await eventually(lambda: connection.fetchval(waiting), within=30, what="the claim")
    await edit(nodes[1], payload=NEW)
    await connection.execute("SELECT pg_advisory_unlock(7)")
    await claiming
    given = [*await worker.runs()]
    await run_due(nodes[0])
    given += await worker.runs()
    assert [payload(run) for run in given] == [NEW]
    assert payload(await shown(nodes[0], given[0])) == NEW


async def test_edits_and_claims_at_the_same_time_agree_on_what_was_given(
    nodes: list[Node], connection: asyncpg.Connection
) -> None:
    """However they interleave, what is shown of each run is what its worker got."""
    workers = [await ScriptedWorker.connect(node, ["work"]) for node in nodes[:2]]
    await create(nodes[0], payload={"n": 0}, schedule="every 1h", overlap="allow")
    runs: list[Run] = []

    async def edit_often() -> None:
        for number in range(1, 41):
            await edit(nodes[2], payload={"n": number})

    async def run_often(node: Node, worker: ScriptedWorker) -> None:
        for _ in range(40):
            await node.runs.run(TENANT, JOB)
            await node.step("claim")
            for run in await worker.runs():
                runs.append(run)
                if len(runs) % 2:
                    await worker.complete(run)

    await asyncio.gather(edit_often(), *map(run_often, nodes[:2], workers))
    for node, worker in zip(nodes[:2], workers, strict=True):
        await run_due(node)
        runs.extend(await worker.runs())
    assert len(runs) == 80
    for run in runs:
        assert payload(await shown(nodes[0], run)) == payload(run)


async def test_a_job_that_is_edited_without_end_forgets_its_oldest_versions(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tickwork.store.past_attempt_input_store._MOST_VERSIONS", 2)
    await create(still_node)
    run = await handed_out(still_node, worker)
    await worker.complete(run)
    for number in range(4):
        await later(clock, worker, MINUTE)
        await edit(still_node, payload={"n": number})
    given = await shown(still_node, run)
    assert (given.is_kept, given.payload, given.version) == (False, None, 1)


async def test_a_retry_may_bring_its_own_payload(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await create(still_node, retry=RetryRequest(max_attempts=1))
    first = await handed_out(still_node, worker)
    await worker.fail(first, BROKEN)
    await still_node.dead_letters.retry(
        TENANT, JOB, from_micros(first.at), ExecutionRetry(payload=NEW), Author(1, "ann", is_session=True)
    )
    will = await shown(still_node, first)
    assert (payload(will), will.source, will.attempt) == (NEW, "retry", 2)
    second = await handed_out(still_node, worker)
    await worker.fail(second, BROKEN)
    await still_node.dead_letters.retry(TENANT, JOB, from_micros(first.at))
    third = await handed_out(still_node, worker)
    back = await worker.come_back([])
    (again,) = await back.runs()
    assert [payload(run) for run in (second, third, again)] == [NEW, NEW, NEW]
    given = await shown(still_node, first, 3)
    assert given.given_by is not None
    assert (given.given_by.name, given.given_by.session, given.source) == ("ann", True, "retry")
    assert payload(await shown(still_node, first, 1)) == OLD
