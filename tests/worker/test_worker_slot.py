"""A slot runs one attempt after the other, and a message about one must not affect the next."""

import asyncio

from support.worker_server import claim_of, run_of, working
from tickwork import App
from tickwork.model.worker_protocol import Revoke


async def test_forgetting_an_ended_attempt_does_not_stop_the_next_one_in_its_slot():
    began, finish = asyncio.Event(), asyncio.Event()
    app = App()

    @app.task(name="short")
    async def short() -> None:
        await asyncio.sleep(0)

    @app.task(name="long")
    async def long() -> str:
        began.set()
        await finish.wait()
        return "done"

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
        finish.set()
        outcomes = {outcome.job: outcome.result for outcome in await second.outcomes(2)}
        assert outcomes[3] == b'"done"'
        await second.drop()
        assert (await (await bench.conversation()).welcome()).credit >= 1
