"""Checkpoints of a worker: a task goes on only after a server has stored them, whatever happens to the connection."""

import asyncio
from pathlib import Path
from threading import Event

from support.checkpoint_tasks import app as child_app
from support.worker_server import Conversation, claim_of, run_of, working
from tickwork import App, Context
from tickwork.model.checkpoint import StoredCheckpoint
from tickwork.model.worker_protocol import (
    Checkpoint,
    Checkpointed,
    Checkpoints,
    Recall,
    Recalled,
    RefusedCheckpoint,
    Revoke,
    Run,
)

LONG_AFTER_THE_LEASE = 60.0
CHILD_TASKS = "support.checkpoint_tasks:app"


class Shop:
    """A task with two steps in each way of running, which says what it has run."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.ended: list[BaseException | None] = []
        self.has_ended = Event()
        self.app = App()
        self.app.task(name="coroutine")(self._coroutine)
        self.app.task(name="thread")(self._thread)
        self.app.task(name="plain")(self._plain)

    async def _coroutine(self, *, ctx: Context) -> list[object]:
        async def pay() -> str:
            self.ran.append("pay")
            return "paid"

        async def ship() -> str:
            self.ran.append("ship")
            return "shipped"

        try:
            before = ctx.state
            results = [await ctx.step("pay", pay), await ctx.step("ship", ship)]
            await ctx.checkpoint({"parcels": 1})
        except BaseException as error:
            self.ended.append(error)
            raise
        return [before, *results]

    def _thread(self, *, ctx: Context) -> list[object]:
        def run(name: str) -> str:
            self.ran.append(name)
            return name

        try:
            return [ctx.state, ctx.step("pay", run, "pay"), ctx.step("ship", run, "ship")]
        except BaseException as error:
            self.ended.append(error)
            raise
        finally:
            self.has_ended.set()

    async def _plain(self) -> str:
        return "done"


async def stored(conversation: Conversation) -> Checkpoint:
    """The next checkpoint, which the server says to have stored."""
    message = await conversation.expect(Checkpoints)
    await conversation.send(Checkpointed(message.number))
    (checkpoint,) = message.items
    return checkpoint


def of_run(checkpoint: Checkpoint, run: Run) -> bool:
    return (checkpoint.tenant, checkpoint.at, checkpoint.job, checkpoint.attempt) == (
        run.tenant, run.at, run.job, run.attempt,
    )  # fmt: skip


async def test_a_coroutine_goes_on_when_its_step_is_stored() -> None:
    shop = Shop()
    async with working(shop.app) as bench:
        server = await bench.connected()
        run = run_of("coroutine")
        await server.run(run)
        message = await server.expect(Checkpoints)
        (first,) = message.items
        assert of_run(first, run)
        assert (first.number, first.step, first.value) == (1, "pay", b'"paid"')
        assert shop.ran == ["pay"]
        await server.send(Checkpointed(message.number))
        second, third = await stored(server), await stored(server)
        outcome = await server.outcome()
    assert (second.number, second.step) == (2, "ship")
    assert (third.number, third.step, third.value) == (3, None, b'{"parcels":1}')
    assert (outcome.kind, outcome.result) == ("completed", b'[null,"paid","shipped"]')


async def test_so_does_a_thread() -> None:
    shop = Shop()
    async with working(shop.app) as bench:
        server = await bench.connected()
        await server.run(run_of("thread"))
        assert [(await stored(server)).step, (await stored(server)).step] == ["pay", "ship"]
        assert (await server.outcome()).result == b'[null,"pay","ship"]'


async def test_so_does_a_child_process() -> None:
    async with working(child_app, path=CHILD_TASKS) as bench:
        server = await bench.connected()
        for task in ("child", "async_child"):
            await server.run(run_of(task))
            steps = [await stored(server) for _ in range(3)]
            assert [(step.number, step.step) for step in steps] == [(1, "pay"), (2, "ship"), (3, None)]
            assert (await server.outcome()).result == b'[null,"paid","shipped"]'


async def test_a_later_attempt_learns_first_what_is_stored() -> None:
    shop = Shop()
    run = run_of("coroutine", attempt=2)
    async with working(shop.app) as bench:
        server = await bench.connected()
        await server.run(run)
        assert (await server.expect(Recall)).items == [claim_of(run)]
        assert shop.ran == []
        await server.send(Recalled(claim_of(run), StoredCheckpoint(b"[1]", {"pay": b'"paid before"'})))
        assert (await stored(server)).step == "ship"
        assert (await stored(server)).step is None
        outcome = await server.outcome()
    assert shop.ran == ["ship"]
    assert outcome.result == b'[[1],"paid before","shipped"]'


async def test_in_a_child_process_too() -> None:
    run = run_of("child", attempt=3)
    async with working(child_app, path=CHILD_TASKS) as bench:
        server = await bench.connected()
        await server.run(run)
        await server.expect(Recall)
        await server.send(Recalled(claim_of(run), StoredCheckpoint(b"[1]", {"pay": b'"paid before"'})))
        assert [(await stored(server)).step, (await stored(server)).step] == ["ship", None]
        assert (await server.outcome()).result == b'[[1],"paid before","shipped"]'


async def test_a_task_without_a_context_is_not_delayed() -> None:
    shop = Shop()
    async with working(shop.app) as bench:
        server = await bench.connected()
        await server.run(run_of("plain", attempt=2))
        assert (await server.outcome()).kind == "completed"


async def test_what_a_lost_connection_left_unanswered_is_sent_to_the_next_server() -> None:
    shop = Shop()
    async with working(shop.app, servers=2) as bench:
        first = await bench.connected()
        await first.run(run_of("coroutine"))
        unanswered = await first.expect(Checkpoints)
        await first.drop()
        second = await bench.conversation(server=1)
        await second.welcome()
        assert await stored(second) == unanswered.items[0]
        await stored(second)
        await stored(second)
        assert (await second.outcome()).kind == "completed"
    assert shop.ran == ["pay", "ship"]


async def test_and_the_question_what_is_stored_likewise() -> None:
    shop = Shop()
    run = run_of("coroutine", attempt=2)
    async with working(shop.app, servers=2) as bench:
        first = await bench.connected()
        await first.run(run)
        await first.expect(Recall)
        await first.drop()
        second = await bench.conversation(server=1)
        await second.welcome()
        assert (await second.expect(Recall)).items == [claim_of(run)]
        await second.send(Recalled(claim_of(run), StoredCheckpoint(None, {"pay": b'"1"', "ship": b'"2"'})))
        await stored(second)
        assert (await second.outcome()).result == b'[null,"1","2"]'
    assert shop.ran == []


async def test_a_stale_attempt_is_ended_by_its_next_checkpoint() -> None:
    shop = Shop()
    async with working(shop.app) as bench:
        server = await bench.connected()
        await server.run(run_of("coroutine"))
        message = await server.expect(Checkpoints)
        refused = RefusedCheckpoint(0, "another attempt runs", is_stale=True)
        await server.send(Checkpointed(message.number, [refused]))
        outcome = await server.outcome()
    assert (outcome.kind, outcome.reason) == ("lost", "another attempt runs")
    assert [str(error) for error in shop.ended] == ["another attempt runs"]
    assert shop.ran == ["pay"]


async def test_what_the_server_cannot_store_fails_the_attempt_for_good() -> None:
    shop = Shop()
    async with working(shop.app) as bench:
        server = await bench.connected()
        await server.run(run_of("thread"))
        message = await server.expect(Checkpoints)
        await server.send(Checkpointed(message.number, [RefusedCheckpoint(0, "step 'pay': too many")]))
        failure = (await server.outcome()).failure
    assert failure is not None
    assert (failure.type, failure.message, failure.retry) == (
        "tickwork.CheckpointError", "step 'pay': too many", False,
    )  # fmt: skip


async def test_without_a_server_a_thread_waits_until_the_lease_ends_and_no_longer() -> None:
    shop = Shop()
    async with working(shop.app) as bench:
        server = await bench.connected()
        await server.run(run_of("thread"))
        await server.expect(Checkpoints)
        assert not shop.has_ended.is_set()
        await server.drop()
        bench.clock.advance(LONG_AFTER_THE_LEASE)
        again = await bench.conversation()
        await asyncio.to_thread(shop.has_ended.wait)
        await again.welcome()
    assert [type(error).__name__ for error in shop.ended] == ["AttemptLost"]
    assert shop.ran == ["pay"]


async def test_a_thread_that_is_told_to_stop_ends_at_its_checkpoint() -> None:
    shop = Shop()
    async with working(shop.app) as bench:
        server = await bench.connected()
        run = run_of("thread")
        await server.run(run)
        await server.expect(Checkpoints)
        await server.send(Revoke([claim_of(run)], "cancelled"))
        outcome = await server.outcome()
    assert (outcome.kind, outcome.reason) == ("cancelled", "cancelled")
    assert [type(error).__name__ for error in shop.ended] == ["AttemptLost"]


async def test_a_child_process_that_is_told_to_stop_ends_at_its_checkpoint(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    async with working(child_app, path=CHILD_TASKS) as bench:
        server = await bench.connected()
        run = run_of("telling_child", f'{{"ended": "{ended}"}}')
        await server.run(run)
        await server.expect(Checkpoints)
        await server.send(Revoke([claim_of(run)], "cancelled"))
        assert (await server.outcome()).kind == "cancelled"
    assert ended.read_text() == "AttemptLost"


async def test_attempts_that_store_at_the_same_time_share_a_message() -> None:
    app = App()
    everybody_is_there = asyncio.Event()
    begun = 0

    @app.task(name="many")
    async def many(*, ctx: Context) -> None:
        nonlocal begun
        begun += 1
        if begun == 50:
            everybody_is_there.set()
        await everybody_is_there.wait()
        await ctx.checkpoint(1)

    async with working(app) as bench:
        server = await bench.connected()
        await server.run(*(run_of("many", job=job) for job in range(1, 51)))
        count = 0
        messages = 0
        while count < 50:
            message = await server.expect(Checkpoints)
            await server.send(Checkpointed(message.number))
            count += len(message.items)
            messages += 1
        assert messages <= 3
        await server.outcomes(50)


async def test_no_more_is_sent_than_a_server_need_keep_in_memory() -> None:
    app = App()

    @app.task(name="large")
    async def large(*, ctx: Context) -> None:
        await asyncio.gather(
            *(ctx.step(str(number), asyncio.to_thread, str.ljust, "", 200_000) for number in range(12))
        )

    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of("large"))
        received = 0
        while received < 12:
            message = await server.expect(Checkpoints)
            assert sum(len(each.value) for each in message.items) <= 1024 * 1024
            received += len(message.items)
            await server.send(Checkpointed(message.number))
        assert (await server.outcome()).kind == "completed"
