"""Circuit breakers on several nodes, step by step, and with a real target that dies and comes back."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.loopback_target import respond, target
from support.node_steps import run_due
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.execute.attempt_ending import AttemptFailed, ending_of_error, ending_of_json
from tickwork.execute.runners.http.circuit_breaker_runner import CircuitBreakerRunner
from tickwork.model.circuit_breaker import FAILURES_IN_A_ROW, LONGEST_PAUSE, PACE, PAUSE, BreakerState
from tickwork.model.errors import Conflict
from tickwork.model.execution import AttemptOutcome, ExecutionFilter, ExecutionView
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import HTTP_TASK, JobRequest, RetryRequest
from tickwork.model.public_ids import parse_execution_id, parse_job_id
from tickwork.model.worker import LEASE
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SITE = "https://api.example.com"
SECOND = timedelta(seconds=1)
ONCE = RetryRequest(max_attempts=1)


class Site:
    """What is at the other end: it answers or it does not, and it can be made to take its time."""

    def __init__(self) -> None:
        self.up = False
        self.calls: list[Run] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, run: Run) -> bytes:
        self.calls.append(run)
        await self.may_answer.wait()
        if not self.up:
            raise AttemptFailed(Failure("ConnectError", "api.example.com could not be connected to: refused"))
        return b"{}"


class HttpNode:
    """A node that stands still, with a built-in worker that calls the site."""

    def __init__(self, node: Node, site: Site, worker: ScriptedWorker) -> None:
        self.node = node
        self.worker = worker
        self._call = CircuitBreakerRunner(site, node.breakers.admit, node.breakers.report_call)

    @classmethod
    async def open(cls, settings: Settings, site: Site) -> "HttpNode":
        node = Node(settings)
        await node.open()
        return cls(node, site, await ScriptedWorker.connect(node, [HTTP_TASK], tenant_id=None))

    async def take(self) -> list[Run]:
        """What is due and handed to this node."""
        await run_due(self.node)
        return await self.worker.runs()

    async def do(self, run: Run) -> None:
        try:
            ending = ending_of_json(await self._call(run))
        except Exception as error:  # noqa: BLE001 (as a slot does)
            ending = ending_of_error(error)
        await self.worker.report(
            run, ending.kind, result=ending.result, failure=ending.failure, reason=ending.reason
        )

    async def work(self) -> int:
        """Do all that is due; how many runs that were."""
        runs = await self.take()
        for run in runs:
            await self.do(run)
        return len(runs)

    async def look(self) -> None:
        await self.node.step("update breakers")

    async def add(self, count: int = 1, tenant_id: int = TENANT, **fields: Any) -> list[str]:
        requests = [JobRequest(http=HttpTarget(url=f"{SITE}/hook"), **fields) for _ in range(count)]
        return [job.id for job in await self.node.jobs.create(tenant_id, requests)]

    async def executions(self, **wanted: Any) -> list[ExecutionView]:
        """Oldest first."""
        return (await self.node.history.list(TENANT, ExecutionFilter(**wanted), 500)).items[::-1]

    async def state(self, tenant_id: int = TENANT) -> BreakerState | None:
        views = await self.node.breakers.list(tenant_id)
        return views[0].state if views else None

    async def break_(self) -> None:
        """Let so many calls fail that the breaker opens."""
        await self.add(FAILURES_IN_A_ROW, retry=ONCE)
        await self.work()
        await self.look()


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
async def three(settings: Settings, clock: SettableClock, site: Site) -> AsyncIterator[list[HttpNode]]:
    nodes = [await HttpNode.open(settings, site) for _ in range(3)]
    yield nodes
    for node in nodes:
        await node.node.stop()


@pytest.fixture
async def one(settings: Settings, clock: SettableClock, site: Site) -> AsyncIterator[HttpNode]:
    node = await HttpNode.open(settings, site)
    yield node
    await node.node.stop()


async def pass_time(clock: SettableClock, nodes: list[HttpNode], by: timedelta) -> None:
    """Workers go on beating, and nodes look at their breakers."""
    while by:
        step = min(by, 5 * SECOND)
        await clock.advance(step)
        by -= step
        for node in nodes:
            await node.worker.beat()
    for node in nodes:
        await node.look()


async def test_opens_on_failures_that_several_nodes_saw_and_all_of_them_hold(
    three: list[HttpNode], site: Site
) -> None:
    one, two, three_ = three
    await one.add(3, retry=ONCE)
    await one.work()
    await one.look()
    assert await two.state() is BreakerState.CLOSED
    await two.add(2, retry=ONCE)
    await two.work()
    await two.look()
    assert await one.state() is BreakerState.OPEN
    await three_.look()
    await three_.add()
    assert await three_.work() == 1
    assert len(site.calls) == 5


async def test_what_it_holds_says_so_and_uses_no_attempt(
    one: HttpNode, clock: SettableClock, site: Site
) -> None:
    await one.break_()
    await one.add(retry=ONCE)
    await one.work()
    (held,) = await one.executions(status="pending")
    assert held.waiting_for == "limit"
    assert held.reason.startswith(
        f"circuit breaker open: {SITE} failed 5 times in a row (ConnectError: api.example.com could not"
    )
    assert held.reason.endswith(" UTC on")
    job, at = parse_execution_id(held.id)
    (attempt,) = await one.node.history.attempts(TENANT, job, at)
    assert (attempt.outcome, attempt.error.type) == ("held", "CircuitOpen")
    site.up = True
    await pass_time(clock, [one], PAUSE)
    await one.work()
    ended = await one.node.history.get(TENANT, job, at)
    assert (ended.status, ended.reason) == ("completed", None)


async def test_exactly_one_probe_when_three_nodes_race(
    three: list[HttpNode], clock: SettableClock, site: Site
) -> None:
    await three[0].break_()
    for node in three:
        await node.look()
    await pass_time(clock, three, PAUSE)
    taken: list[tuple[HttpNode, Run]] = []
    for node in three:
        await node.add(5)
        taken += [(node, run) for run in await node.take()]
    assert len(taken) == 15
    site.calls.clear()
    site.may_answer.clear()
    doing = [asyncio.create_task(node._call(run)) for node, run in taken]
    await eventually(lambda: sum(task.done() for task in doing) == 14, within=20)
    assert len(site.calls) == 1
    site.may_answer.set()
    await asyncio.wait(doing)


async def test_a_probe_that_fails_keeps_it_open_for_longer(
    one: HttpNode, clock: SettableClock, site: Site
) -> None:
    await one.break_()
    await one.add(8, retry=ONCE)
    await one.work()
    for round_ in range(6):
        calls = len(site.calls)
        (before,) = await one.node.breakers.list(TENANT)
        await pass_time(clock, [one], min(PAUSE * 2**round_, LONGEST_PAUSE))
        assert await one.work() == 1
        await one.look()
        assert len(site.calls) == calls + 1
        (after,) = await one.node.breakers.list(TENANT)
        assert (after.state, after.since) == ("open", before.since)
        assert after.next_probe_at > before.next_probe_at


async def test_lets_all_go_in_order_and_not_all_at_once_when_it_closes(
    one: HttpNode, clock: SettableClock, site: Site
) -> None:
    await one.break_()
    for _ in range(PACE):
        await one.add(4)
        await one.add(1, priority="high")
        await clock.advance(timedelta(milliseconds=1))
    await one.work()
    assert len(await one.executions(status="pending")) == 5 * PACE
    site.up = True
    site.calls.clear()
    await pass_time(clock, [one], PAUSE)
    assert await one.work() == 1
    await one.look()
    rounds = []
    while await one.executions(status="pending"):
        await pass_time(clock, [one], 2 * SECOND)
        rounds.append(await one.work())
    assert rounds == [PACE, PACE * 2, PACE * 2 - 1]
    order = [(run.at, run.job) for run in site.calls]
    assert order[:PACE] == sorted(order[:PACE])
    assert order[PACE:] == sorted(order[PACE:])
    assert {run.attempt for run in site.calls} == {2}
    assert all(each.status == "completed" for each in await one.executions() if each.attempt > 1)


async def test_another_probe_is_tried_when_the_node_of_the_first_died(
    three: list[HttpNode], clock: SettableClock, site: Site
) -> None:
    one, two, _ = three
    await one.break_()
    await two.look()
    await one.add(1, timeout=30)
    await two.add(2, timeout=30)
    await one.work()
    await two.work()
    await pass_time(clock, [one, two], PAUSE)
    site.may_answer.clear()
    (probe,) = await one.take()
    lost = asyncio.create_task(one._call(probe))
    await eventually(lambda: len(site.calls) == FAILURES_IN_A_ROW + 1, within=5)
    await one.worker.leave_silently()
    site.may_answer.set()
    site.up = True
    await pass_time(clock, [two], timedelta(seconds=30))
    assert await two.state() is BreakerState.HALF_OPEN
    assert await two.work() == 0
    await pass_time(clock, [two], LEASE)
    assert await two.work() >= 1
    await two.look()
    assert await two.state() is BreakerState.CLOSED
    await lost
    await one.look()
    assert await one.state() is BreakerState.CLOSED


async def test_a_probe_that_is_broken_off_makes_room_for_the_next(
    one: HttpNode, clock: SettableClock, site: Site
) -> None:
    await one.break_()
    await one.add(2)
    await one.work()
    await pass_time(clock, [one], PAUSE)
    site.may_answer.clear()
    (probe,) = await one.take()
    doing = asyncio.create_task(one._call(probe))
    await eventually(lambda: len(site.calls) == FAILURES_IN_A_ROW + 1, within=5)
    assert await one.state() is BreakerState.HALF_OPEN
    doing.cancel()
    await asyncio.wait([doing])
    site.may_answer.set()
    site.up = True
    await one.look()
    assert await one.work() == 1
    await one.look()
    assert await one.state() is BreakerState.CLOSED


async def test_the_next_call_is_the_probe_when_nothing_waits(
    one: HttpNode, clock: SettableClock, site: Site
) -> None:
    await one.break_()
    await pass_time(clock, [one], PAUSE)
    assert await one.state() is BreakerState.HALF_OPEN
    site.up = True
    await one.add()
    await one.work()
    await one.look()
    assert await one.state() is BreakerState.CLOSED


async def test_a_held_execution_waits_for_its_jobs_resumption_when_that_is_paused(
    one: HttpNode, clock: SettableClock, site: Site
) -> None:
    await one.break_()
    (job,) = await one.add()
    await one.work()
    await one.node.jobs.pause(TENANT, parse_job_id(job))
    (held,) = await one.executions(status="pending")
    assert (held.waiting_for, held.reason) == ("paused", None)
    site.up = True
    await one.node.breakers.reset(TENANT, SITE)
    await pass_time(clock, [one], 2 * SECOND)
    assert await one.work() == 0
    await one.node.jobs.resume(TENANT, parse_job_id(job))
    assert await one.work() == 1
    assert not await one.executions(status="pending")


async def test_a_job_that_is_resumed_while_the_breaker_is_open_is_held_again(
    one: HttpNode, clock: SettableClock, site: Site
) -> None:
    await one.break_()
    (job,) = await one.add()
    await one.work()
    await one.node.jobs.pause(TENANT, parse_job_id(job))
    await one.node.jobs.resume(TENANT, parse_job_id(job))
    assert await one.work() == 1
    (held,) = await one.executions(status="pending")
    assert held.waiting_for == "limit"
    assert held.reason.startswith("circuit breaker open")
    (view,) = await one.node.breakers.list(TENANT)
    assert view.waiting == 1
    site.up = True
    await pass_time(clock, [one], PAUSE)
    await one.work()
    assert not await one.executions(status="pending")


async def test_an_edit_to_another_destination_goes_on_at_once(one: HttpNode, site: Site) -> None:
    await one.break_()
    (job,) = await one.add()
    await one.work()
    site.up = True
    await one.node.jobs.patch(TENANT, parse_job_id(job), {"http": {"url": "https://b.example.com/"}})
    await one.work()
    assert [each.status for each in await one.executions()][-1] == "completed"


@pytest.mark.parametrize("way", ["execution", "job"])
async def test_a_held_execution_that_is_cancelled_is_let_go_no_more(
    one: HttpNode, clock: SettableClock, connection: asyncpg.Connection, site: Site, way: str
) -> None:
    await one.break_()
    (job,) = await one.add()
    await one.work()
    (held,) = await one.executions(status="pending")
    if way == "job":
        await one.node.jobs.cancel(TENANT, parse_job_id(job))
    else:
        await one.node.history.cancel(TENANT, *parse_execution_id(held.id))
    (view,) = await one.node.breakers.list(TENANT)
    assert view.waiting == 0
    site.up = True
    await pass_time(clock, [one], PAUSE)
    assert await one.work() == 0
    assert await connection.fetchval("SELECT count(*) FROM tickwork.held_by_breaker") == 0


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("skip", ["pending", "skipped"]),
        ("queue", ["pending", "pending"]),
        ("replace", ["cancelled", "pending"]),
    ],
)
async def test_a_held_execution_has_not_ended_for_those_that_come_after_it(
    one: HttpNode, clock: SettableClock, overlap: str, expected: list[str]
) -> None:
    await one.break_()
    (job,) = await one.add(schedule="every 1m", overlap=overlap)
    for _ in range(2):
        await clock.advance(timedelta(minutes=1))
        await one.node.step("release queued")
        await one.worker.beat()
        for run in await one.take():
            await one.worker.report(run, AttemptOutcome.HELD, reason="circuit breaker open")
    assert [each.status for each in await one.executions(job=parse_job_id(job))] == expected


async def test_one_tenants_breaker_never_touches_anothers(
    one: HttpNode, connection: asyncpg.Connection, site: Site
) -> None:
    other = await connection.fetchval(
        "INSERT INTO tickwork.tenant (name, signing_secret) VALUES ('other', 'x') RETURNING id"
    )
    await one.break_()
    site.up = True
    await one.add(tenant_id=other)
    await one.work()
    assert len(site.calls) == FAILURES_IN_A_ROW + 1
    assert await one.state(other) is None
    with pytest.raises(Conflict, match="not failed"):
        await one.node.breakers.reset(other, SITE)


async def test_reset_closes_it_and_lets_all_go(one: HttpNode, clock: SettableClock, site: Site) -> None:
    await one.break_()
    await one.add(3)
    await one.work()
    site.up = True
    view = await one.node.breakers.reset(TENANT, "HTTPS://api.example.com:443/hook")
    assert (view.state, view.destination, view.waiting) == ("closed", SITE, 3)
    await pass_time(clock, [one], 2 * SECOND)
    assert await one.work() == 3
    assert not await one.executions(status="pending")


async def test_a_hold_that_is_written_after_it_closed_is_let_go(
    one: HttpNode, clock: SettableClock, connection: asyncpg.Connection, site: Site
) -> None:
    await one.break_()
    await one.add(2)
    first, second = await one.take()
    await one.node.breakers.reset(TENANT, SITE)
    await one.do(first)
    site.up = True
    await pass_time(clock, [one], 2 * SECOND)
    assert await one.work() == 1
    await pass_time(clock, [one], timedelta(minutes=2))
    assert await one.state() is None
    await one.worker.report(second, AttemptOutcome.HELD, reason="circuit breaker open: …")
    await pass_time(clock, [one], SECOND)
    assert await one.work() == 1
    assert not await one.executions(status="pending")


async def test_a_destination_that_works_costs_nothing_and_leaves_nothing(
    one: HttpNode, clock: SettableClock, connection: asyncpg.Connection, site: Site
) -> None:
    site.up = True
    await one.add(10)
    await one.work()
    await one.look()
    assert await connection.fetchval("SELECT count(*) FROM tickwork.breaker") == 0
    site.up = False
    await one.add(1, retry=ONCE)
    await one.work()
    await one.look()
    assert await one.state() is BreakerState.CLOSED
    await pass_time(clock, [one], timedelta(minutes=1))
    assert await one.state() is None


async def test_a_real_target_that_dies_is_left_alone_and_taken_up_again_by_itself(
    node: Node, connection: asyncpg.Connection
) -> None:
    async with target(respond()) as gone:
        url = gone.url()
    requests = [JobRequest(http=HttpTarget(url=url), retry=ONCE)] * FAILURES_IN_A_ROW
    await node.jobs.create(TENANT, requests)
    (view,) = await eventually(lambda: open_ones(node), within=20)
    await node.jobs.create(TENANT, [JobRequest(http=HttpTarget(url=url))] * 20)
    await eventually(lambda: waiting(node, 20), within=20)
    async with target(respond(), port=gone.port) as back:
        await connection.execute(
            "UPDATE tickwork.breaker SET probe_at = tickwork.clock(), look_at = tickwork.clock()"
        )
        await eventually(lambda: len(back.requests) == 20, within=30)
    assert view.destination == url.rstrip("/")
    assert "could not be connected to" in view.last_error


async def open_ones(node: Node) -> list:
    return [each for each in await node.breakers.list(TENANT) if each.state == "open"]


async def waiting(node: Node, count: int) -> bool:
    return sum(each.waiting for each in await node.breakers.list(TENANT)) == count
