"""A commit happens and its answer is lost, in each place where there is one: whoever asked asks again, and it must be
as if nothing had been lost."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from urllib.parse import parse_qs, urlsplit

import asyncpg
import httpx2
import msgspec
import pytest

from support.node_steps import run_due
from support.proxy import COMMIT, Upstream, Wire
from tickwork.api.asgi_app import build_app
from tickwork.config import Settings
from tickwork.dispatch import rescue
from tickwork.loop_names import LoopName
from tickwork.model.access import Caller, Scope
from tickwork.model.errors import Unavailable
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.public_ids import parse_execution_id, parse_worker_id
from tickwork.model.rest_worker import (
    ClaimRequest,
    CompleteReport,
    ErrorReport,
    FailReport,
    StartReport,
    WorkerRequest,
)
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
CALLER = Caller(TENANT, "default", 1, frozenset({Scope.WORKER}))
_MINUTE = timedelta(minutes=1)


@pytest.fixture
async def wire(database_url: str) -> AsyncIterator[Wire]:
    folder = parse_qs(urlsplit(database_url).query)["host"][0]
    wire = await Wire(Upstream(f"{folder}/.s.PGSQL.5432")).open()
    yield wire
    await wire.close()


@pytest.fixture
async def node(
    wire: Wire, database_url: str, settings: Settings, clock: SettableClock
) -> AsyncIterator[Node]:
    """A still node whose way to the database can be broken."""
    url = f"postgresql://tickwork@127.0.0.1:{wire.port}{urlsplit(database_url).path}"
    node = Node(msgspec.structs.replace(settings, database_url=url))
    await node.open()
    yield node
    await node.stop()


@pytest.fixture
async def worker(node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(node, tasks=["work"])


async def test_of_firing(
    node: Node, wire: Wire, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap="allow")] * 3)
    await clock.advance(_MINUTE)
    await worker.beat()
    await _without_an_answer(node, wire, "fire")
    await run_due(node)
    await node.step("reconcile")

    runs = await worker.runs()
    assert sorted(run.job for run in runs) == [1, 2, 3]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 3
    await worker.report_all(runs)
    assert await _statuses(connection) == ["completed"] * 3
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0


async def test_of_firing_of_which_the_statistics_count_each_once(
    node: Node, wire: Wire, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await node.step("keep up statistics")
    await node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap="allow")] * 3)
    await clock.advance(_MINUTE)
    await worker.beat()
    await _without_an_answer(node, wire, "fire")
    await run_due(node)
    for _ in range(3):
        await node.step("write statistics")
        await clock.advance(_MINUTE)
    while await node.step("keep up statistics"):
        pass
    assert await connection.fetchval("SELECT sum(fired) FROM tickwork.statistic") == 3


async def test_of_claiming(
    node: Node, wire: Wire, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work")] * 3)
    await _without_an_answer(node, wire, "claim")
    await node.step("claim")
    await node.step("reconcile")
    runs = await worker.runs()
    assert sorted(run.job for run in runs) == [1, 2, 3]
    await worker.report_all(runs)
    assert await _statuses(connection) == ["completed"] * 3


async def test_of_claiming_while_the_database_then_stays_away(
    node: Node, wire: Wire, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    """What may have been handed over stays in doubt for as long as nobody can tell."""
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    await _without_an_answer(node, wire, "claim")
    with wire.cut(), pytest.raises(Unavailable):
        await node.step("reconcile")
    await node.step("reconcile")
    (run,) = await worker.runs()
    await worker.complete(run)
    assert await _statuses(connection) == ["completed"]


async def test_does_not_hand_over_again_what_ended_while_it_was_in_doubt_about_something_else(
    node: Node, wire: Wire, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    await node.step("claim")
    (first,) = await worker.runs()
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    await _without_an_answer(node, wire, "claim")
    await worker.tell(first, AttemptOutcome.COMPLETED)
    await worker.runs()  # the session has read it, and the database does not know it yet
    await node.step("reconcile")
    (second,) = await worker.runs()
    assert second.job != first.job
    await node.step("record")
    await worker.complete(second)
    assert await _statuses(connection) == ["completed"] * 2
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0


@pytest.mark.parametrize(
    ("outcome", "status", "counted"),
    [
        (AttemptOutcome.COMPLETED, "completed", (1, 0, 0)),
        (AttemptOutcome.FAILED, "pending", (2, 1, 0)),
        (AttemptOutcome.RETURNED, "pending", (2, 0, 0)),
        (AttemptOutcome.CANCELLED, "cancelled", (1, 0, 0)),
    ],
)
async def test_of_recording(
    node: Node,
    wire: Wire,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    outcome: AttemptOutcome,
    status: str,
    counted: tuple[int, int, int],
) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    await node.step("claim")
    (run,) = await worker.runs()
    await worker.tell(run, outcome)
    await worker.runs()  # the session has read it
    await _without_an_answer(node, wire, "record")
    await node.step("record")
    row = await connection.fetchrow("SELECT status::text, attempt, failures, losses FROM tickwork.execution")
    assert tuple(row) == (status, *counted)
    rows = await connection.fetchval("SELECT count(*) FROM tickwork.attempt")
    assert rows == (outcome is not AttemptOutcome.COMPLETED)


async def test_an_outcome_told_on_two_connections_before_either_is_recorded_counts_once(
    node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work", retry=RetryRequest(max_attempts=1))])
    await node.step("claim")
    (run,) = await worker.runs()
    await worker.tell(run, AttemptOutcome.FAILED)
    await worker.runs()  # the session has read it
    back = await worker.come_back([run])
    await back.tell(run, AttemptOutcome.FAILED)
    await back.runs()
    await node.step("record")
    row = await connection.fetchrow("SELECT status::text, attempt, failures, losses FROM tickwork.execution")
    assert tuple(row) == ("failed", 1, 1, 0)


async def test_of_rescuing(
    node: Node,
    wire: Wire,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rescue, "_GRACE", 0.0)
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    await node.step("claim")
    await worker.leave_silently()
    await clock.advance(_MINUTE)
    await _without_an_answer(node, wire, "rescue")
    await node.step("rescue")
    row = await connection.fetchrow("SELECT status::text, attempt, failures, losses FROM tickwork.execution")
    assert tuple(row) == ("pending", 2, 0, 1)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.attempt") == 1


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/j1/run", "/v1/jobs/batch"])
async def test_of_a_request(
    node: Node, wire: Wire, worker: ScriptedWorker, connection: asyncpg.Connection, path: str
) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    headers = {"Authorization": f"Bearer {node.first_key}", "Idempotency-Key": "once"}
    body = {"/v1/jobs": {"task": "work"}, "/v1/jobs/batch": [{"task": "work"}] * 2}.get(path)
    transport = httpx2.ASGITransport(app=build_app(node))
    async with httpx2.AsyncClient(transport=transport, base_url="http://test", headers=headers) as http:
        before = await _made(connection)
        wire.lost_answer = COMMIT
        assert (await http.post(path, json=body)).status_code == 503
        made = await _made(connection)
        assert made > before
        again = await http.post(path, json=body)
        assert (again.is_success, again.headers["idempotent-replayed"]) == (True, "true")
        assert await _made(connection) == made


async def test_of_a_claim_over_rest(
    node: Node, wire: Wire, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await _rest_worker(node)
    await node.jobs.create(TENANT, [JobRequest(task="work")] * 2)

    async def beat_before(*_: object) -> bool:
        return False

    monkeypatch.setattr(node.rest_workers._workers, "heartbeat", beat_before)
    wire.lost_answer = COMMIT
    with pytest.raises(Unavailable):
        await node.rest_workers.claim(CALLER, worker, ClaimRequest(max=2))
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 1
    (again,) = (await node.rest_workers.claim(CALLER, worker, ClaimRequest(max=2))).items
    execution = parse_execution_id(again.id)
    await node.reports.start(CALLER, *execution, StartReport(1))
    (other,) = (await node.rest_workers.claim(CALLER, worker, ClaimRequest(max=2))).items
    assert other.id != again.id


@pytest.mark.parametrize("kind", [AttemptOutcome.COMPLETED, AttemptOutcome.FAILED])
async def test_of_a_report_over_rest(
    node: Node, wire: Wire, connection: asyncpg.Connection, kind: AttemptOutcome
) -> None:
    worker = await _rest_worker(node)
    await node.jobs.create(TENANT, [JobRequest(task="work", retry=RetryRequest(max_attempts=1))])
    (run,) = (await node.rest_workers.claim(CALLER, worker, ClaimRequest())).items
    execution = parse_execution_id(run.id)
    reports = {
        AttemptOutcome.COMPLETED: partial(node.reports.complete, report=CompleteReport(1, "done")),
        AttemptOutcome.FAILED: partial(
            node.reports.fail, report=FailReport(attempt=1, error=ErrorReport("Broken", "it broke"))
        ),
    }
    for _ in range(2):
        reporting = asyncio.create_task(reports[kind](CALLER, *execution))
        if await connection.fetchval("SELECT finished_at IS NULL FROM tickwork.execution"):
            await _until_submitted(node)
            await _without_an_answer(node, wire, "record")
            await node.step("record")
        assert (await reporting).outcome is kind
    assert await _statuses(connection) == [str(kind)]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0


async def _rest_worker(node: Node) -> int:
    registered = await node.rest_workers.register(CALLER, WorkerRequest(name="rest", tasks=["work"], slots=2))
    return parse_worker_id(registered.id)


async def _until_submitted(node: Node) -> None:
    while not node._recorder._waiting:  # noqa: ASYNC110 (nothing tells of it)
        await asyncio.sleep(0)


async def _without_an_answer(node: Node, wire: Wire, step: LoopName) -> None:
    wire.lost_answer = COMMIT
    with pytest.raises(Unavailable):
        await node.step(step)
    assert wire.lost_answer is None


async def _statuses(connection: asyncpg.Connection) -> list[str]:
    return [row[0] for row in await connection.fetch("SELECT status::text FROM tickwork.execution")]


async def _made(connection: asyncpg.Connection) -> int:
    count: int = await connection.fetchval(
        "SELECT (SELECT count(*) FROM tickwork.job) + (SELECT count(*) FROM tickwork.execution)"
    )
    return count
