"""A purged job leaves nothing behind, whoever works on it at the same time, and wherever a purge is interrupted."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.left_behind import left_of_job
from support.node_steps import later, run_due
from tickwork.loop_names import LoopName
from tickwork.model.access import Author
from tickwork.model.errors import Conflict, Invalid, NotFound, Unavailable
from tickwork.model.for_each import ForEach
from tickwork.model.job import Dependency, JobRequest, RetryRequest
from tickwork.model.job_filter import JobFilter
from tickwork.model.past_attempt_input import ExecutionRetry
from tickwork.model.public_ids import from_micros, job_id
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.store.create_and_change_job import PostgresJobStore
from tickwork.store.port.define import ParentJob
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT, JOB, OTHER = 1, 1, 2
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ANN = Author(1, "ann", is_session=False)
BROKEN = Failure("ValueError", "secret of ann", "Traceback …")
ONCE = RetryRequest(max_attempts=1)
_LOOPS: tuple[LoopName, ...] = ("fire", "claim", "number events", "index jobs")


async def gone(node: Node) -> None:
    """All that is left to delete."""
    while await node.step("number events") or await node.step("delete purged jobs"):
        pass


async def busy_job(node: Node, clock: SettableClock, worker: ScriptedWorker, **fields: Any) -> None:
    """A job of which every table has something."""
    await node.jobs.create(
        TENANT,
        [JobRequest(task="work", schedule="every 1h", key="mine", retry=ONCE, payload={"n": 1}, **fields)],
    )
    for number in range(3):
        await later(clock, worker, HOUR)
        await run_due(node)
        (run,) = await worker.runs()
        await worker.log(run, "line one", "line two")
        if number:
            await worker.fail(run, BROKEN)
        else:
            await worker.complete(run)
    await node.jobs.patch(TENANT, JOB, {"payload": {"n": 2}, "schedule": "every 2h", "queue": "other"})
    retry = ExecutionRetry(payload={"n": 3})
    await node.dead_letters.retry(TENANT, JOB, from_micros(run.at), retry, ANN)
    await run_due(node)
    (run,) = await worker.runs()
    await worker.fail(run, BROKEN)
    await node.step("number events")


async def test_nothing_of_it_is_left_but_that_it_was_purged(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await busy_job(still_node, clock, worker, heartbeat_url="https://example.com/beat")
    assert {"execution.job_id", "log.job_id", "retry_payload.job_id", "job_version.job_id"} < {
        name for name, _ in await left_of_job(connection, JOB)
    }
    purge = await still_node.purges.purge(TENANT, JOB, author=ANN)
    assert (purge.status, purge.removed["executions"], purge.removed["dead_letters"]) == ("completed", 3, 2)
    assert purge.requested_by is not None
    assert purge.requested_by.name == "ann"
    assert await left_of_job(connection, JOB) == []
    assert await connection.fetchval("SELECT count(*) FROM tickwork.error_group") == 0
    with pytest.raises(NotFound):
        await still_node.jobs.get(TENANT, JOB)
    again = await still_node.purges.purge(TENANT, JOB)
    assert again == purge
    await still_node.step("number events")
    events = await connection.fetch("SELECT kind FROM tickwork.event WHERE job_id = 1")
    assert [event["kind"] for event in events] == ["job.purged"]


async def test_statistics_keep_their_counts_and_other_jobs_their_errors(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await busy_job(still_node, clock, worker)
    await still_node.jobs.create(TENANT, [JobRequest(task="work", retry=ONCE)])
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.fail(run, BROKEN)
    await still_node.step("number events")
    counts = "SELECT sum(failed) FROM tickwork.statistic"
    before = await connection.fetchval(counts)
    await still_node.purges.purge(TENANT, JOB)
    assert await connection.fetchval(counts) == before
    assert await connection.fetchval("SELECT count(*) FROM tickwork.error_group") == 1
    assert await left_of_job(connection, OTHER) != []


async def test_its_key_is_free_at_once(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.define.purge_jobs._AT_ONCE", 0.0)
    await busy_job(still_node, clock, worker)
    purge = await still_node.purges.purge(TENANT, JOB)
    assert purge.status == "running"
    (again,) = await still_node.jobs.create(TENANT, [JobRequest(task="work", key="mine")])
    await gone(still_node)
    assert (await still_node.purges.progress(TENANT, JOB)).status == "completed"
    assert await still_node.jobs.find(TENANT, "mine") == OTHER
    assert (await still_node.jobs.get(TENANT, OTHER)).id == again.id


async def test_is_refused_while_something_runs_and_changes_nothing_then(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1h")])
    await still_node.runs.run(TENANT, JOB)
    await run_due(still_node)
    (run,) = await worker.runs()
    with pytest.raises(Conflict, match="running=cancel"):
        await still_node.purges.purge(TENANT, JOB)
    assert (await still_node.jobs.get(TENANT, JOB)).status == "active"
    await worker.complete(run)
    assert (await still_node.purges.purge(TENANT, JOB)).status == "completed"


async def test_what_runs_can_be_stopped_first_and_its_reports_leave_nothing(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", notify=[])])
    await run_due(still_node)
    (run,) = await worker.runs()
    await still_node.purges.purge(TENANT, JOB, running="cancel")
    await still_node.step("revoke")
    assert await worker.revokes() != []
    await worker.log(run, "too late")
    await worker.complete(run, b'"too late"')
    await gone(still_node)
    assert await left_of_job(connection, JOB) == []


async def test_is_refused_while_other_jobs_depend_on_it(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1h")])
    child = JobRequest(task="work", depends_on=[Dependency(job=job_id(JOB))])
    await still_node.jobs.create(TENANT, [child])
    with pytest.raises(Conflict, match=job_id(OTHER)):
        await still_node.purges.purge(TENANT, JOB)
    await still_node.jobs.cancel(TENANT, OTHER)
    assert (await still_node.purges.purge(TENANT, JOB)).status == "completed"
    assert (await still_node.jobs.get(TENANT, OTHER)).status == "cancelled"


async def test_is_refused_while_other_jobs_depend_on_one_of_its_elements(
    still_node: Node, worker: ScriptedWorker
) -> None:
    """It would wait for ever, because nobody could retry the element that failed."""
    each = Dependency("@list", for_each=ForEach())
    await still_node.jobs.create(
        TENANT,
        [JobRequest(task="work", ref="list"), JobRequest(task="work", depends_on=[each], retry=ONCE)],
    )
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.complete(run, b"[1]")
    await still_node.step("fan out")
    await run_due(still_node)
    (element,) = await worker.runs()
    (child,) = await still_node.jobs.create(
        TENANT, [JobRequest(task="work", depends_on=[job_id(element.job)])]
    )
    await worker.fail(element, BROKEN)
    with pytest.raises(Conflict, match=child.id):
        await still_node.purges.purge(TENANT, OTHER)
    await still_node.dead_letters.retry(TENANT, element.job, from_micros(element.at))
    await run_due(still_node)
    (again,) = await worker.runs()
    assert again.job == element.job


@pytest.mark.parametrize("seconds", [0.0, 1.0])  # the purge has begun, or has ended
@pytest.mark.parametrize("is_new", [True, False])
async def test_no_job_becomes_a_child_after_the_purge_began(
    still_node: Node,
    worker: ScriptedWorker,
    monkeypatch: pytest.MonkeyPatch,
    connection: asyncpg.Connection,
    seconds: float,
    is_new: bool,
) -> None:
    """Not even if the parent was still there when the request was checked: it would wait for ever."""
    monkeypatch.setattr("tickwork.define.purge_jobs._AT_ONCE", seconds)
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1h")] * 2)
    find_parents = PostgresJobStore.find_parents

    async def then_purge(store: PostgresJobStore, tenant_id: int, jobs: set[int]) -> dict[int, ParentJob]:
        found = await find_parents(store, tenant_id, jobs)
        await still_node.purges.purge(TENANT, JOB)
        return found

    monkeypatch.setattr(PostgresJobStore, "find_parents", then_purge)
    parents = [job_id(JOB)]
    create = still_node.jobs.create(TENANT, [JobRequest(task="work", depends_on=[*parents])])
    edit = still_node.jobs.patch(TENANT, OTHER, {"schedule": None, "depends_on": parents})
    request, other = (create, edit) if is_new else (edit, create)
    other.close()
    with pytest.raises(Invalid, match=f"{job_id(JOB)} was deleted meanwhile"):
        await request
    await gone(still_node)
    assert await left_of_job(connection, JOB) == []


async def test_another_node_goes_on_where_one_died(
    nodes: list[Node],
    clock: SettableClock,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = await ScriptedWorker.connect(nodes[0], ["work"])
    monkeypatch.setattr("tickwork.define.purge_jobs._AT_ONCE", 0.0)
    monkeypatch.setattr("tickwork.store.purge_job_store._TIMES", 1)
    monkeypatch.setattr("tickwork.store.purge_job_store._ROWS", 1)
    await busy_job(nodes[0], clock, worker)
    await nodes[0].purges.purge(TENANT, JOB)
    steps = 0
    while (await nodes[0].purges.progress(TENANT, JOB)).status == "running":
        await nodes[steps % 3].step("number events")
        await connection.execute("BEGIN")
        await connection.execute("SELECT FROM tickwork.purge FOR UPDATE")
        assert not await nodes[steps % 3].step("delete purged jobs")  # it leaves to others what they have
        await connection.execute("ROLLBACK")
        assert await nodes[(steps + 1) % 3].step("delete purged jobs")
        steps += 1
    assert steps > 5
    assert await left_of_job(connection, JOB) == []


class _Traffic:
    """Two nodes that fire, run and index six jobs, and a third that searches them, until they are told to stop."""

    def __init__(self, nodes: list[Node], clock: SettableClock, workers: list[ScriptedWorker]) -> None:
        self._nodes = nodes
        self._clock = clock
        self._workers = workers
        self._stopped = False

    async def during(self, action: Awaitable[None]) -> None:
        async def then_stop() -> None:
            try:
                await action
            finally:
                self._stopped = True

        work = map(self._work, self._nodes, self._workers)
        await asyncio.gather(self._tick(), self._search(), *work, then_stop())

    async def _tick(self) -> None:
        while not self._stopped:
            await self._clock.advance(timedelta(milliseconds=500))
            for worker in self._workers:
                await worker.beat()

    async def _work(self, node: Node, worker: ScriptedWorker) -> None:
        while not self._stopped:
            for loop in _LOOPS:
                await node.step(loop)
            runs = await worker.runs()
            if runs:
                await worker.report_all(runs[1:])
                await worker.log(runs[0], "said")
                await worker.fail(runs[0], BROKEN)

    async def _search(self) -> None:
        while not self._stopped:
            page = await self._nodes[2].jobs.list(TENANT, JobFilter(q="job"), 100)
            assert len(page.items) <= 6


async def _purge_four(nodes: list[Node]) -> None:
    for job in range(1, 5):
        await _purge_soon(nodes[job % 2], job)


async def test_is_exact_while_it_fires_runs_and_is_searched_on_two_nodes(
    nodes: list[Node], clock: SettableClock, connection: asyncpg.Connection
) -> None:
    workers = [await ScriptedWorker.connect(node, ["work"]) for node in nodes[:2]]
    alike: dict[str, Any] = {"task": "work", "schedule": "every 1s", "overlap": "allow", "retry": ONCE}
    await nodes[0].jobs.create(TENANT, [JobRequest(**alike, name=f"job {number}") for number in range(6)])
    await _Traffic(nodes, clock, workers).during(_purge_four(nodes))
    for node in nodes:
        await gone(node)
    for job in range(1, 5):
        assert (await nodes[0].purges.progress(TENANT, job)).status == "completed"
        assert await left_of_job(connection, job) == []
    while await nodes[2].step("index jobs"):
        pass
    found = await nodes[2].jobs.list(TENANT, JobFilter(q="job"), 100, count="exact")
    assert [job.name for job in found.items] == ["job 5", "job 4"]
    assert found.count is not None
    assert found.count.value == 2


async def _purge_soon(node: Node, job: int) -> None:
    for _ in range(50):
        try:
            await node.purges.purge(TENANT, job, running="cancel" if job % 2 else "leave")
        except (Conflict, Unavailable):  # something of it runs at this moment
            await asyncio.sleep(0)
        else:
            return
    await node.purges.purge(TENANT, job, running="cancel")


async def test_what_was_written_meanwhile_is_deleted_a_minute_later(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await busy_job(still_node, clock, worker)
    await still_node.purges.purge(TENANT, JOB)
    late = "INSERT INTO tickwork.new_event (tenant_id, kind, job_id) VALUES (1, 'execution.late', 1)"
    await connection.execute(late)
    await later(clock, worker, 2 * MINUTE)
    await gone(still_node)
    assert await left_of_job(connection, JOB) == []
    assert not await still_node.step("delete purged jobs")
