"""Lost servers, expired leases and revoked attempts: nothing is lost and nothing outdated is reported."""

import asyncio

from support.worker_server import START, claim_of, run_of, working
from tickwork import App
from tickwork.execute import worker as worker_module
from tickwork.model.worker_protocol import Hello, Outcomes, Refused, Revoke, Runs

LONG_AFTER_THE_LEASE = 60.0


class BlockingTask:
    """A task that waits for the test, with events for its start and its cancellation."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.finish = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.quick_runs = 0
        self.app = App()
        self.app.task(name="blocking")(self._wait)
        self.app.task(name="quick")(self._quick)

    async def _wait(self) -> str:
        self.began.set()
        try:
            await self.finish.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "finished"

    async def _quick(self) -> str:
        self.quick_runs += 1
        return "done"


async def test_keeps_running_without_a_server_and_reports_to_the_next_one():
    task = BlockingTask()
    async with working(task.app, servers=2) as bench:
        first = await bench.connected()
        run, waiting = run_of("blocking"), run_of("quick", job=2, not_before=START + 10**15)
        await first.run(run, waiting)
        await task.began.wait()
        await first.drop()
        task.finish.set()
        second = await bench.conversation(server=1)
        hello = await second.welcome()
        outcome = await second.outcome()
    assert hello.resume == "token"
    assert hello.holding == [claim_of(run), claim_of(waiting)]
    assert (outcome.kind, outcome.result) == ("completed", b'"finished"')


async def test_repeats_outcomes_until_they_are_acknowledged():
    task = BlockingTask()
    async with working(task.app) as bench:
        first = await bench.connected()
        first.acknowledge = False
        await first.run(run_of("quick"))
        unacknowledged = await first.outcome()
        await first.drop()
        second = await bench.conversation()
        second.acknowledge = False
        hello = await second.welcome()
        assert hello.holding == [claim_of(run_of("quick"))]
        assert await second.outcome() == unacknowledged
        await second.drop()
        third = await bench.conversation()
        await third.welcome()
        assert await third.outcome() == unacknowledged
        await third.drop()
        fourth = await bench.conversation()
        assert (await fourth.welcome()).holding == []


async def test_drops_attempts_that_are_no_longer_its_own():
    task = BlockingTask()
    async with working(task.app) as bench:
        first = await bench.connected()
        first.acknowledge = False
        running, ended = run_of("blocking"), run_of("quick", job=2)
        waiting = run_of("quick", job=3, not_before=START + 10**15)
        await first.run(running, ended, waiting)
        await task.began.wait()
        await first.outcome()
        await first.drop()
        second = await bench.conversation()
        await second.welcome(forget=[claim_of(running), claim_of(ended), claim_of(waiting)])
        await task.cancelled.wait()
        await second.run(run_of("quick", job=4))
        assert (await second.outcome()).job == 4
        await second.drop()
        assert (await (await bench.conversation()).welcome()).holding == []


async def test_registers_as_a_new_worker_when_it_is_refused():
    task = BlockingTask()
    async with working(task.app) as bench:
        first = await bench.connected()
        await first.run(run_of("blocking"))
        await task.began.wait()
        await first.drop()
        second = await bench.conversation()
        assert (await second.expect(Hello)).resume == "token"
        await second.send(Refused("the lease is gone"))
        await task.cancelled.wait()
        third = await bench.conversation()
        hello = await third.welcome(token="another")
        assert (hello.resume, hello.holding) == (None, [])
        await third.run(run_of("quick", job=2))
        assert (await third.outcome()).job == 2


async def test_stops_running_attempts_when_its_lease_expires_and_reports_them_as_lost():
    task = BlockingTask()
    async with working(task.app) as bench:
        first = await bench.connected()
        first.renew = first.acknowledge = False
        await first.run(run_of("blocking"), run_of("quick", job=2, not_before=START + 10**15))
        await task.began.wait()
        bench.clock.advance(LONG_AFTER_THE_LEASE)
        await first.run(run_of("quick", job=3))  # makes the worker check its lease
        await task.cancelled.wait()
        assert task.quick_runs == 0
        second = await bench.conversation()
        hello = await second.welcome()
        assert (hello.resume, len(hello.holding)) == ("token", 3)
        outcomes = {outcome.job: outcome.kind for outcome in await second.outcomes(2)}
        assert outcomes == {1: "lost", 3: "completed"}


async def test_still_reports_attempts_that_ended_before_the_lease_expired():
    task = BlockingTask()
    async with working(task.app) as bench:
        first = await bench.connected()
        first.acknowledge = False
        await first.run(run_of("quick", job=2))
        await first.outcome()
        bench.clock.advance(LONG_AFTER_THE_LEASE)
        await first.drop()
        second = await bench.conversation()
        await second.welcome()
        assert (await second.outcome()).kind == "completed"


async def test_starts_nothing_after_a_task_blocked_it_for_longer_than_its_lease():
    blocking = App()
    started: list[str] = []

    @blocking.task(name="block")
    async def block() -> None:
        bench.clock.advance(LONG_AFTER_THE_LEASE)

    @blocking.task(name="next")
    async def next_one() -> None:
        started.append("next")

    async with working(blocking) as bench:
        first = await bench.connected()
        first.renew = False
        await first.run(run_of("block"), run_of("next", job=2))
        second = await bench.conversation()
        hello = await second.expect(Hello)
        assert started == []
        assert claim_of(run_of("next", job=2)) in hello.holding


async def test_stops_in_time_when_no_server_can_be_reached():
    task = BlockingTask()
    async with working(task.app) as bench:
        first = await bench.connected()
        await first.run(run_of("blocking"))
        await task.began.wait()
        (server,) = bench.servers
        await first.drop()
        await server.close()
        bench.clock.advance(LONG_AFTER_THE_LEASE)
        await task.cancelled.wait()
        await server.open()


async def test_attempts_keep_running_while_the_lease_is_renewed(monkeypatch):
    monkeypatch.setattr(worker_module, "_BEAT", 0.01)
    task = BlockingTask()
    async with working(task.app) as bench:
        server = await bench.connected()
        await server.run(run_of("blocking"))
        await task.began.wait()
        for _ in range(10):
            bench.clock.advance(4.0)  # ten times this is far beyond one lease
            await server.beats.get()
            await server.beats.get()
        task.finish.set()
        assert (await server.outcome()).kind == "completed"


async def test_leaves_a_silent_server_but_keeps_its_attempts(monkeypatch):
    task = BlockingTask()
    async with working(task.app, servers=2) as bench:
        first = await bench.connected()
        first.renew = False
        monkeypatch.setattr(worker_module, "_SILENCE_LIMIT", 0.02)
        await first.run(run_of("blocking"))
        second = await bench.conversation(server=1)
        hello = await second.expect(Hello)
    assert (hello.resume, hello.holding) == ("token", [claim_of(run_of("blocking"))])
    assert not first._messages.qsize()


async def test_connects_to_the_next_server_after_an_invalid_message():
    task = BlockingTask()
    async with working(task.app, servers=2) as bench:
        first = await bench.connected()
        await first.socket.send(b"\x00nonsense")
        second = await bench.conversation(server=1)
        assert (await second.welcome()).resume == "token"


async def test_a_waiting_attempt_that_is_revoked_never_starts():
    task = BlockingTask()
    async with working(task.app, slots=1) as bench:
        server = await bench.connected()
        waiting, early = (
            run_of("quick", job=2),
            run_of("quick", job=3, not_before=bench.clock.database + 20_000),
        )
        await server.run(run_of("blocking"), waiting, early)
        await task.began.wait()
        await server.send(Revoke([claim_of(waiting), claim_of(early)], "the job was paused"))
        outcomes = await server.outcomes(2)
        task.finish.set()
        assert (await server.outcome()).job == 1
        await server.run(run_of("quick", job=4, not_before=bench.clock.database + 30_000))
        assert (await server.outcome()).job == 4
    assert [(outcome.kind, outcome.reason) for outcome in outcomes] == [
        ("cancelled", "the job was paused")
    ] * 2


async def test_revoking_an_attempt_that_it_does_not_have_changes_nothing():
    task = BlockingTask()
    async with working(task.app) as bench:
        server = await bench.connected()
        server.acknowledge = False
        await server.run(run_of("quick"))
        ended = await server.outcome()
        await server.send(Revoke([claim_of(run_of("quick")), claim_of(run_of("quick", job=9))], "too late"))
        await server.run(run_of("quick", job=2))
        assert (await server.outcome()).job == 2
        assert ended.kind == "completed"


async def test_two_attempts_at_one_execution_are_told_apart():
    task = BlockingTask()
    async with working(task.app) as bench:
        server = await bench.connected()
        await server.send(Runs([run_of("blocking", attempt=1)]))
        await task.began.wait()
        await server.send(Revoke([claim_of(run_of("blocking", attempt=2))], "another attempt"))
        task.finish.set()
        outcome = (await server.expect(Outcomes)).items[0]
    assert (outcome.attempt, outcome.kind) == (1, "completed")
