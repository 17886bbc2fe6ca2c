"""Checkpoints: stored once, by the attempt that runs and by no other, and there for the next until the history ends."""

from datetime import timedelta

import asyncpg
import msgspec
import pytest

from support.node_steps import run_due
from tickwork.model.checkpoint import (
    ALL_STEPS_LIMIT,
    EMPTY_CHECKPOINT,
    MOST_STEPS,
    STEP_LIMIT,
    CheckpointView,
    StoredCheckpoint,
)
from tickwork.model.dead_letter import DeadLetterChoice
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.public_ids import from_micros
from tickwork.model.worker_protocol import Checkpointed, Claim, Failure, Run
from tickwork.node import Node
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker, state_of, step_of

TENANT = 1
AT_ONCE = RetryRequest(initial=0, max_attempts=3)
BROKEN = Failure("ValueError", "no", "Traceback …")
ROWS = "SELECT count(*) FROM tickwork.checkpoint"


async def start(node: Node, worker: ScriptedWorker, retry: RetryRequest = AT_ONCE) -> Run:
    await node.jobs.create(TENANT, [JobRequest(task="work", retry=retry)])
    return await claim(node, worker)


async def claim(node: Node, worker: ScriptedWorker) -> Run:
    await run_due(node)
    (run,) = await worker.runs()
    return run


def claim_of(run: Run) -> Claim:
    return Claim(run.tenant, run.at, run.job, run.attempt)


async def view(node: Node, run: Run) -> CheckpointView:
    shown = await node.checkpoints.view(run.tenant, run.job, from_micros(run.at))
    return msgspec.json.decode(msgspec.json.encode(shown), type=CheckpointView)


async def recalled(worker: ScriptedWorker, run: Run) -> StoredCheckpoint:
    (answer,) = await worker.recall(run)
    assert answer.claim.attempt == run.attempt
    return answer.stored


async def test_the_next_attempt_learns_what_was_stored(still_node: Node, worker: ScriptedWorker) -> None:
    run = await start(still_node, worker)
    assert (
        await worker.checkpoint(step_of(run, "pay", b'"paid"', 1, 0.5), step_of(run, "ship", b"7", 2)) == []
    )
    assert await worker.checkpoint(state_of(run, b'{"page":1}', 3)) == []
    assert await worker.checkpoint(state_of(run, b'{"page":2}', 4)) == []
    await worker.fail(run, BROKEN)
    again = await claim(still_node, worker)
    assert await recalled(worker, again) == StoredCheckpoint(b'{"page":2}', {"pay": b'"paid"', "ship": b"7"})
    shown = await view(still_node, run)
    assert (shown.state, shown.state_attempt) == ({"page": 2}, 1)
    assert [(step.name, step.attempt, step.result, step.took) for step in shown.steps] == [
        ("pay", 1, "paid", 0.5),
        ("ship", 1, 7, 0.0),
    ]


async def test_steps_of_several_attempts_are_listed_in_their_order(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    await worker.checkpoint(step_of(run, "z"))
    await worker.fail(run, BROKEN)
    again = await claim(still_node, worker)
    await worker.checkpoint(step_of(again, "y"), step_of(again, "a"))
    assert [(step.name, step.attempt) for step in (await view(still_node, run)).steps] == [
        ("z", 1),
        ("y", 2),
        ("a", 2),
    ]


async def test_an_execution_without_a_checkpoint_has_an_empty_one(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    assert await view(still_node, run) == EMPTY_CHECKPOINT
    with pytest.raises(NotFound):
        await still_node.checkpoints.view(2, run.job, from_micros(run.at))


async def test_a_stale_attempt_is_refused(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    """Also before the node has heard that the attempt was taken away: the database decides."""
    run = await start(still_node, worker)
    await worker.checkpoint(step_of(run, "pay", b"1"))
    await connection.execute("UPDATE tickwork.execution SET attempt = 2")
    (refused,) = await worker.checkpoint(step_of(run, "ship", b"2"))
    assert refused.is_stale
    await connection.execute("UPDATE tickwork.execution SET attempt = 1, worker_id = worker_id + 1")
    (refused,) = await worker.checkpoint(state_of(run, b"3"))
    assert refused.is_stale
    assert await connection.fetchval(ROWS) == 1


async def test_so_is_one_that_was_lost_while_another_runs(still_node: Node, worker: ScriptedWorker) -> None:
    run = await start(still_node, worker)
    await worker.checkpoint(step_of(run, "pay", b"1"))
    await worker.report(run, AttemptOutcome.LOST)
    assert (await claim(still_node, worker)).attempt == 2
    refused = await worker.checkpoint(step_of(run, "ship", b"2"), state_of(run, b"3"))
    assert [(each.place, each.is_stale) for each in refused] == [(0, True), (1, True)]
    assert [step.name for step in (await view(still_node, run)).steps] == ["pay"]


async def test_one_of_an_execution_that_was_cancelled_is_refused(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    run = await start(still_node, worker)
    await still_node.history.cancel(run.tenant, run.job, from_micros(run.at))
    (refused,) = await worker.checkpoint(step_of(run, "pay"))
    assert refused.is_stale
    assert await connection.fetchval(ROWS) == 0


async def test_a_worker_cannot_store_for_an_execution_that_it_does_not_have(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    run = await start(still_node, worker)
    stranger = await ScriptedWorker.connect(still_node, ["other"])
    (refused,) = await stranger.checkpoint(step_of(run, "pay"))
    assert refused.is_stale
    assert await stranger.recall(run) == []
    assert await connection.fetchval(ROWS) == 0


async def test_a_repeat_after_a_lost_answer_changes_nothing(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    run = await start(still_node, worker)
    sent = [step_of(run, "pay", b"1", 1), state_of(run, b"2", 2)]
    await worker.checkpoint(*sent)
    before = await connection.fetch("SELECT * FROM tickwork.checkpoint ORDER BY step")
    back = await worker.come_back([run])
    assert await back.checkpoint(*sent, *sent) == []
    assert await connection.fetch("SELECT * FROM tickwork.checkpoint ORDER BY step") == before


async def test_a_state_that_comes_late_does_not_replace_a_newer_one(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    assert await worker.checkpoint(state_of(run, b"3", 3), state_of(run, b"2", 2)) == []
    assert await worker.checkpoint(state_of(run, b"1", 1)) == []
    assert (await view(still_node, run)).state == 3
    await worker.fail(run, BROKEN)
    again = await claim(still_node, worker)
    await worker.checkpoint(state_of(again, b'"of the second attempt"', 1))
    assert (await view(still_node, run)).state == "of the second attempt"


async def test_another_result_under_the_name_of_a_step_is_refused(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    await worker.checkpoint(step_of(run, "pay", b"1"))
    (refused,) = await worker.checkpoint(step_of(run, "pay", b"2"))
    assert not refused.is_stale
    assert refused.reason.startswith("step 'pay': a step of this name is stored with another result")
    (refused,) = await worker.checkpoint(step_of(run, "ship", b"1"), step_of(run, "ship", b"2"))
    assert refused.place == 1
    assert [step.result for step in (await view(still_node, run)).steps] == [1, 1]


@pytest.mark.parametrize(
    ("step", "value", "number", "took"),
    [
        ("", b"1", 1, 0.0),
        ("x" * 201, b"1", 1, 0.0),
        ("\0", b"1", 1, 0.0),
        ("pay", b"", 1, 0.0),
        ("pay", b"NaN", 1, 0.0),
        ("pay", b'"\\u0000"', 1, 0.0),
        ("pay", b'"' + b"x" * STEP_LIMIT + b'"', 1, 0.0),
        ("pay", b"1", 0, 0.0),
        ("pay", b"1", 2**31, 0.0),
        ("pay", b"1", 1, float("nan")),
        ("pay", b"1", 1, -1.0),
    ],
)
async def test_what_is_out_of_bounds_is_refused_beside_what_is_not(
    still_node: Node, worker: ScriptedWorker, step: str, value: bytes, number: int, took: float
) -> None:
    run = await start(still_node, worker)
    refused = await worker.checkpoint(
        step_of(run, "before"), step_of(run, step, value, number, took), step_of(run, "after")
    )
    assert [(each.place, each.is_stale) for each in refused] == [(1, False)]
    assert [step.name for step in (await view(still_node, run)).steps] == ["before", "after"]


async def test_an_execution_has_a_limited_number_of_steps(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    run = await start(still_node, worker)
    steps = [step_of(run, f"{number}") for number in range(MOST_STEPS + 1)]
    (refused,) = await worker.checkpoint(*steps[:500]) or await worker.checkpoint(*steps[500:])
    assert "at most 1,000 steps" in refused.reason
    assert await connection.fetchval(ROWS) == MOST_STEPS


async def test_and_a_limited_size_of_all_of_them(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    run = await start(still_node, worker)
    large = b'"' + b"x" * (STEP_LIMIT - 2) + b'"'
    for number in range(ALL_STEPS_LIMIT // STEP_LIMIT):
        assert await worker.checkpoint(step_of(run, f"{number}", large)) == []
    (refused,) = await worker.checkpoint(step_of(run, "one more", b"1"))
    assert "have at most 4,194,304 bytes" in refused.reason
    assert await worker.checkpoint(state_of(run, large)) == []


async def test_what_another_transaction_has_locked_is_stored_after_it(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    run = await start(still_node, worker)
    async with connection.transaction():
        await connection.execute("SELECT FROM tickwork.execution FOR UPDATE")
        await worker.send_checkpoints(step_of(run, "pay"))
        assert not await still_node.step("store checkpoints")
        assert await worker.checkpointed() == []
    await still_node.step("store checkpoints")
    assert await worker.checkpointed() == [Checkpointed(1)]


async def test_checkpoints_of_many_workers_are_one_transaction(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    others = [await ScriptedWorker.connect(still_node, ["work"], credit=1) for _ in range(4)]
    await still_node.jobs.create(TENANT, [JobRequest(task="work") for _ in range(5)])
    await run_due(still_node)
    workers = [worker, *others]
    for each in workers:
        for run in await each.runs():
            await each.send_checkpoints(step_of(run, "pay"), state_of(run, b"1", 2))
    await still_node.step("store checkpoints")
    assert await connection.fetchval(ROWS) == 10
    assert await connection.fetchval("SELECT count(DISTINCT xmin::text) FROM tickwork.checkpoint") == 1


async def test_steps_survive_a_change_of_the_node(nodes: list[Node]) -> None:
    first, second, _ = nodes
    worker = await ScriptedWorker.connect(first, ["work"])
    run = await start(first, worker)
    await worker.checkpoint(step_of(run, "pay", b"1"))
    await worker.leave_silently()
    moved = ScriptedWorker(second, ["work"])
    assert worker.welcome
    await moved.greet(resume=worker.welcome.token, holding=[claim_of(run)])
    assert await moved.checkpoint(step_of(run, "ship", b"2", 2)) == []
    await moved.fail(run, BROKEN)
    again = await claim(second, moved)
    assert await recalled(moved, again) == StoredCheckpoint(None, {"pay": b"1", "ship": b"2"})


async def test_a_node_that_comes_back_late_does_not_undo_what_another_has_stored(nodes: list[Node]) -> None:
    """The worker has moved on to another node while its own could not write."""
    late, other, _ = nodes
    worker = await ScriptedWorker.connect(late, ["work"])
    run = await start(late, worker)
    await worker.send_checkpoints(state_of(run, b'"old"', 1), step_of(run, "pay", b"1", 2))
    await worker.leave_silently()
    moved = ScriptedWorker(other, ["work"])
    assert worker.welcome
    await moved.greet(resume=worker.welcome.token, holding=[claim_of(run)])
    await moved.checkpoint(
        state_of(run, b'"old"', 1), step_of(run, "pay", b"1", 2), state_of(run, b'"new"', 3)
    )
    await late.step("store checkpoints")
    assert (await view(other, run)).state == "new"


async def test_a_failed_execution_that_is_retried_goes_on_from_its_checkpoint(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker, RetryRequest(max_attempts=1))
    await worker.checkpoint(step_of(run, "pay", b"1"))
    await worker.fail(run, BROKEN)
    await still_node.dead_letters.retry(run.tenant, run.job, from_micros(run.at))
    again = await claim(still_node, worker)
    assert (again.attempt, await recalled(worker, again)) == (2, StoredCheckpoint(None, {"pay": b"1"}))
    await worker.fail(again, BROKEN)
    await still_node.dead_letters.redrive(TENANT, DeadLetterChoice())
    third = await claim(still_node, worker)
    assert await recalled(worker, third) == StoredCheckpoint(None, {"pay": b"1"})


async def test_or_from_the_beginning_if_its_checkpoint_was_deleted(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker, RetryRequest(max_attempts=1))
    place = run.tenant, run.job, from_micros(run.at)
    await worker.checkpoint(step_of(run, "pay", b"1"), state_of(run, b"2", 2))
    with pytest.raises(Conflict, match="the execution is running"):
        await still_node.checkpoints.delete(*place)
    await worker.fail(run, BROKEN)
    assert (await still_node.checkpoints.delete(*place)).steps == []
    await still_node.dead_letters.retry(*place)
    again = await claim(still_node, worker)
    assert await recalled(worker, again) == StoredCheckpoint()
    await worker.checkpoint(step_of(again, "pay", b"3"))
    await worker.complete(again)
    with pytest.raises(Conflict, match="the execution is completed"):
        await still_node.checkpoints.delete(*place)
    with pytest.raises(NotFound):
        await still_node.checkpoints.delete(2, *place[1:])


async def test_it_goes_with_the_day_of_its_execution(
    clock: SettableClock,
    still_node: Node,
    worker: ScriptedWorker,
    database_url: str,
    connection: asyncpg.Connection,
) -> None:
    run = await start(still_node, worker)
    await worker.checkpoint(step_of(run, "pay", b"1"), state_of(run, b"2", 2))
    await worker.complete(run)
    database = Database(database_url, size=1)
    await database.open()
    try:
        await clock.advance(timedelta(days=3))
        await Partitions(database, history_days=7).keep_up()
        assert await connection.fetchval(ROWS) == 2
        await clock.advance(timedelta(days=30))
        await Partitions(database, history_days=7).keep_up()
        assert await connection.fetchval(ROWS) == 0
        days = "SELECT count(*) FROM pg_inherits WHERE inhparent = $1::regclass"
        assert await connection.fetchval(days, "tickwork.checkpoint") == await connection.fetchval(
            days, "tickwork.execution"
        )
    finally:
        await database.close()


async def test_days_that_were_there_before_checkpoints_get_them(
    still_node: Node, worker: ScriptedWorker, database_url: str, connection: asyncpg.Connection
) -> None:
    """As after an upgrade, or when a server of an older version has made the day."""
    run = await start(still_node, worker)
    day = f"{from_micros(run.at):%Y%m%d}"
    await connection.execute(f"DROP TABLE tickwork.checkpoint_{day}")
    (refused,) = await worker.checkpoint(step_of(run, "pay", b"1"))
    assert "could not be stored" in refused.reason
    assert not refused.is_stale
    database = Database(database_url, size=1)
    await database.open()
    try:
        await Partitions(database, history_days=7).make_ahead()
    finally:
        await database.close()
    assert await worker.checkpoint(step_of(run, "pay", b"1")) == []


async def test_an_attempt_without_checkpoints_costs_no_statement_about_them(
    still_node: Node, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a statement about checkpoints")

    for method in ("keep", "recall", "view", "delete"):
        monkeypatch.setattr(f"tickwork.store.checkpoint_store.PostgresCheckpointStore.{method}", refuse)
    run = await start(still_node, worker)
    await worker.fail(run, BROKEN)
    again = await claim(still_node, worker)
    assert not await still_node.step("store checkpoints")
    await worker.complete(again)
