"""A worker that drains."""

import asyncio

from support.worker_server import START, claim_of, run_of, working
from tickwork import App
from tickwork.execute import worker as worker_module
from tickwork.model.worker_protocol import Ack, Drain, Outcomes


class Steady:
    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.finish = asyncio.Event()
        self.app = App()
        self.app.task(name="steady")(self._run)

    async def _run(self) -> None:
        self.began.set()
        await self.finish.wait()


async def test_returns_unstarted_attempts_and_finishes_the_rest(monkeypatch):
    monkeypatch.setattr(worker_module, "_BEAT", 0.01)
    steady = Steady()
    async with working(steady.app, slots=1) as bench:
        server = await bench.connected()
        running, waiting = run_of("steady"), run_of("steady", job=2)
        early = run_of("steady", job=3, not_before=START + 10**15)
        await server.run(running, waiting, early)
        await steady.began.wait()
        bench.worker.drain()
        await server.expect(Drain)
        returned = await server.outcomes(2)
        assert {(outcome.job, outcome.kind) for outcome in returned} == {(2, "returned"), (3, "returned")}
        while not server.beats.empty():
            server.beats.get_nowait()
        assert (await server.beats.get()).credit == 0  # beats continue, so that its lease does not expire
        assert not bench.running.done()
        steady.finish.set()
        assert (await server.outcome()).kind == "completed"
        await bench.running


async def test_does_not_exit_before_its_outcomes_are_recorded():
    steady = Steady()
    async with working(steady.app) as bench:
        server = await bench.connected()
        server.acknowledge = False
        await server.run(run_of("steady"))
        await steady.began.wait()
        steady.finish.set()
        unacknowledged = await server.expect(Outcomes)
        bench.worker.drain()
        await server.expect(Drain)
        await server.drop()
        again = await bench.conversation()
        again.acknowledge = False
        hello = await again.welcome()
        assert (hello.credit, hello.holding) == (0, [claim_of(run_of("steady"))])
        await again.expect(Drain)
        repeated = await again.expect(Outcomes)
        assert repeated.items == unacknowledged.items
        assert not bench.running.done()
        await again.send(Ack(repeated.number))
        await bench.running


async def test_returns_attempts_that_arrive_while_it_drains():
    steady = Steady()
    async with working(steady.app) as bench:
        server = await bench.connected()
        await server.run(run_of("steady"))
        await steady.began.wait()
        bench.worker.drain()
        await server.expect(Drain)
        await server.run(run_of("steady", job=2))
        assert (await server.outcome()).kind == "returned"
        steady.finish.set()
        assert (await server.outcome()).kind == "completed"
        await bench.running


async def test_closes_the_connection_when_it_has_no_attempts():
    async with working(Steady().app) as bench:
        server = await bench.connected()
        bench.worker.drain()
        await server.expect(Drain)
        await server.closed.wait()
        await bench.running


async def test_a_worker_that_never_connected_exits_at_once():
    async with working(Steady().app) as bench:
        await bench.servers[0].close()
        bench.worker.drain()
        await bench.running
        await bench.servers[0].open()


async def test_stop_now_stops_running_attempts():
    steady = Steady()
    async with working(steady.app) as bench:
        server = await bench.connected()
        await server.run(run_of("steady"))
        await steady.began.wait()
        bench.worker.drain()
        await server.expect(Drain)
        bench.worker.stop_now()
        await bench.running
        assert not steady.finish.is_set()
