"""What has not ended stays in the way of a job's next due times, whatever became of those between."""

from datetime import datetime, timedelta

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.model.backfill import BackfillRequest
from tickwork.model.job import JobRequest
from tickwork.model.overlap import Overlap
from tickwork.model.public_ids import parse_execution_id, parse_job_id
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
_MINUTE = timedelta(minutes=1)
_STATUSES = "SELECT status::text FROM tickwork.execution WHERE job_id = $1 ORDER BY scheduled_for"
_WAITING = """
    SELECT scheduled_for FROM tickwork.execution WHERE status = 'pending' AND blocked_by IS NOT NULL
    ORDER BY scheduled_for"""


class Steps:
    """A job that is due every minute, one minute after the other."""

    def __init__(
        self, node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
    ) -> None:
        self.node = node
        self.clock = clock
        self.worker = worker
        self.connection = connection

    async def create(self, overlap: Overlap) -> None:
        request = JobRequest(task="work", schedule="every 1m", overlap=overlap)
        (job,) = await self.node.jobs.create(TENANT, [request])
        self.job = parse_job_id(job.id)

    async def pass_minutes(self, count: int = 1) -> None:
        for _ in range(count):
            await later(self.clock, self.worker, _MINUTE)
            await self.go_on()

    async def go_on(self) -> None:
        await self.node.step("release queued")
        await run_due(self.node)

    async def waiting(self) -> list[datetime]:
        return [row[0] for row in await self.connection.fetch(_WAITING)]

    async def cancel(self, *times: datetime) -> None:
        for at in times:
            await self.node.history.cancel(TENANT, self.job, at)

    async def now(self) -> datetime:
        now: datetime = await self.connection.fetchval("SELECT tickwork.clock()")
        return now

    async def complete(self) -> None:
        for run in await self.worker.runs():
            await self.worker.complete(run)

    async def statuses(self) -> list[str]:
        return [row[0] for row in await self.connection.fetch(_STATUSES, self.job)]


@pytest.fixture
def steps(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> Steps:
    return Steps(still_node, clock, worker, connection)


async def test_skip_sees_it_past_a_due_time_at_which_the_job_was_run_by_hand(steps: Steps) -> None:
    await steps.create("skip")
    await steps.pass_minutes()
    await steps.clock.advance(_MINUTE)
    by_hand = await steps.node.runs.run(TENANT, steps.job)
    _, taken = parse_execution_id(by_hand.id)
    assert taken == await steps.now()
    await steps.cancel(taken)
    await steps.go_on()
    await steps.pass_minutes()
    assert await steps.statuses() == ["running", "cancelled", "skipped"]


async def test_skip_sees_it_past_a_due_time_that_was_filled_afterwards(steps: Steps) -> None:
    await steps.create("skip")
    await steps.pass_minutes(2)
    skipped_at = await steps.now()
    await later(steps.clock, steps.worker, timedelta(seconds=1))
    request = BackfillRequest(from_=skipped_at, to=await steps.now(), policy="failed")
    await steps.node.backfills.start(TENANT, steps.job, request)
    await steps.node.step("backfill")
    await steps.go_on()
    _, filled = await steps.worker.runs()
    await steps.worker.complete(filled)
    await steps.pass_minutes()
    assert await steps.statuses() == ["running", "completed", "skipped"]


async def test_a_queue_sees_it_past_one_that_was_cancelled_and_retried(steps: Steps) -> None:
    await steps.create("queue")
    await steps.pass_minutes(2)
    (waiting,) = await steps.waiting()
    await steps.cancel(waiting)
    await steps.node.dead_letters.retry(TENANT, steps.job, waiting)
    await steps.go_on()
    _, retried = await steps.worker.runs()
    await steps.worker.complete(retried)
    await steps.pass_minutes()
    assert await steps.statuses() == ["running", "completed", "pending"]


async def test_a_queue_closes_up_when_one_in_its_middle_is_cancelled(steps: Steps) -> None:
    await steps.create("queue")
    await steps.pass_minutes(4)
    await steps.cancel((await steps.waiting())[1])
    await steps.go_on()
    assert await steps.statuses() == ["running", "pending", "cancelled", "pending"]
    await steps.complete()
    await steps.go_on()
    assert await steps.statuses() == ["completed", "running", "cancelled", "pending"]
    await steps.complete()
    await steps.go_on()
    assert await steps.statuses() == ["completed", "completed", "cancelled", "running"]


async def test_a_queue_goes_on_where_it_was_after_all_that_waited_were_cancelled(steps: Steps) -> None:
    await steps.create("queue")
    await steps.pass_minutes(4)
    await steps.cancel(*await steps.waiting())
    await steps.pass_minutes()
    assert await steps.statuses() == ["running", *["cancelled"] * 3, "pending"]
    await steps.complete()
    await steps.go_on()
    assert await steps.statuses() == ["completed", *["cancelled"] * 3, "running"]


async def test_one_that_waited_for_several_cancelled_ones_goes_on_at_once(steps: Steps) -> None:
    await steps.create("queue")
    await steps.pass_minutes(5)
    await steps.cancel(*(await steps.waiting())[:3])
    await steps.complete()
    await steps.go_on()
    assert await steps.statuses() == ["completed", *["cancelled"] * 3, "running"]


async def test_one_run_by_hand_and_one_fired_ahead_do_not_wait_for_each_other(steps: Steps) -> None:
    await steps.create("queue")
    await steps.pass_minutes()
    await later(steps.clock, steps.worker, _MINUTE - timedelta(milliseconds=100))
    await run_due(steps.node)
    await steps.node.runs.run(TENANT, steps.job, "queue")
    assert await steps.statuses() == ["running", "pending", "pending"]
    for _ in range(3):
        await steps.complete()
        await later(steps.clock, steps.worker, timedelta(seconds=1))
        await steps.go_on()
    assert await steps.statuses() == ["completed"] * 3


async def test_a_job_that_replaces_from_now_on_ends_all_that_had_queued_up(steps: Steps) -> None:
    await steps.create("queue")
    await steps.pass_minutes(3)
    await steps.node.jobs.patch(TENANT, steps.job, {"overlap": "replace"})
    await steps.pass_minutes()
    assert await steps.statuses() == ["cancelled"] * 3 + ["running"]


@pytest.mark.parametrize(("overlap", "next_one"), [("skip", "skipped"), ("queue", "pending")])
async def test_what_overlapped_until_an_edit_is_in_the_way_after_it(
    steps: Steps, overlap: Overlap, next_one: str
) -> None:
    await steps.create("allow")
    await steps.create("allow")
    await steps.pass_minutes(2)
    await steps.node.jobs.patch(TENANT, steps.job, {"overlap": overlap})
    _, newer = [run for run in await steps.worker.runs() if run.job == steps.job]
    await steps.worker.complete(newer)
    await steps.pass_minutes()
    assert await steps.statuses() == ["running", "completed", next_one]


async def test_a_job_that_replaces_from_now_on_ends_all_that_overlapped(steps: Steps) -> None:
    await steps.create("allow")
    await steps.pass_minutes(3)
    await steps.node.jobs.patch(TENANT, steps.job, {"overlap": "replace"})
    await steps.pass_minutes()
    assert await steps.statuses() == ["cancelled"] * 3 + ["running"]
