"""A slot runs one attempt after the other, and what is said of one must not hit the next."""

import asyncio

from support.worker_server import claim_of, run_of, working
from tickwork import App
from tickwork.model.worker_protocol import Revoke


async def test_forgetting_what_has_ended_does_not_stop_what_runs_in_its_slot():
    began, gate = asyncio.Event(), asyncio.Event()
    app = App()

    @app.task(name="short")
    async def short() -> None:
        await asyncio.sleep(0)

    @app.task(name="long")
    async def long() -> str:
        began.set()
        await gate.wait()
        return "through"

    async with working(app, slots=1) as bench:
        first = await bench.connected()
        first.acknowledge = False
        ended, revoked, running = run_of("short"), run_of("short", job=2), run_of("long", job=3)
        await first.run(ended, revoked, running)
        await began.wait()
        await first.send(Revoke([claim_of(revoked)], "cancelled"))
        await first.drop()
        second = await bench.conversation()
        hello = await second.welcome(forget=[claim_of(ended)])
        assert hello.credit >= 1
        gate.set()
        outcomes = {outcome.job: outcome.result for outcome in await second.outcomes(2)}
        assert outcomes[3] == b'"through"'
        await second.drop()
        assert (await (await bench.conversation()).welcome()).credit >= 1
