"""The targets of HTTP jobs: they have accepted attempts, and report later, twice, too late or never."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from simulation.simulated_worker import AcceptedAttempt
from simulation.simulated_world import Server, SimulatedWorld
from support.observed_history import Operation
from tickwork.model.errors import Conflict, NotFound, Unavailable
from tickwork.model.http_callback_reports import CallbackComplete, CallbackFail
from tickwork.model.public_ids import from_micros
from tickwork.model.rest_worker import ErrorReport, ReportedAttempt

_BETWEEN_STEPS = 0.001  # seconds between steps of recording, until a report is answered


class Targets:
    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world

    async def call_back(self, server: Server) -> None:
        """One report whose time has come. One that got no answer is repeated, and some are repeated for no reason."""
        due = [each for each in self._world.accepted if each.report_at <= self._world.seconds()]
        if not due or "record" in server.standing:
            return
        accepted = self._world.random.choice(due)
        answer = await self._report(server, accepted)
        if answer != "unknown" and self._world.random.random() < 0.7:
            self._world.accepted.remove(accepted)

    def hurry(self) -> None:
        """Report all that is left soon."""
        now = self._world.seconds()
        self._world.accepted = [
            each._replace(report_at=min(each.report_at, now)) if each.report_at < float("inf") else each
            for each in self._world.accepted
        ]

    async def _report(self, server: Server, accepted: AcceptedAttempt) -> str:
        run, result = accepted.run, self._note_end(accepted)
        place = run.job, from_micros(run.at), run.attempt
        callbacks = server.node.callbacks
        if accepted.completes:
            report = callbacks.complete(*place, CallbackComplete(result=result))
        else:
            report = callbacks.fail(*place, CallbackFail(error=ErrorReport("Boom", "it broke")))
        answer = await self._answered(server, report)
        seen = self._world.seen_attempts[accepted.place]
        self._world.note(f"target: {seen.key} {run.attempt} {seen.outcome}: {answer}")
        self._world.operations.append(
            Operation("callback", answer, 0, run.job, seen.key, attempt=run.attempt, outcome=seen.outcome)  # type: ignore[arg-type]
        )
        return answer

    def _note_end(self, accepted: AcceptedAttempt) -> Any:
        """In the ledger, when it is told for the first time."""
        result = f"{accepted.run.attempt} at its target"
        seen = self._world.seen_attempts[accepted.place]
        if seen.outcome is None:
            self._world.seen_attempts[accepted.place] = seen._replace(
                ended_at=self._world.now,
                outcome="completed" if accepted.completes else "failed",
                result="\\x" + msgspec.json.encode(result).hex() if accepted.completes else None,
            )
        return result

    async def _answered(self, server: Server, report: Coroutine[Any, Any, ReportedAttempt]) -> str:
        """The report waits until it is recorded, which is another loop's work. What was to be recorded before is
        recorded first: what the report reads must not depend on how fast the database is."""
        server.access.arm(None)
        answered: asyncio.Task[ReportedAttempt] | None = None
        try:
            await server.node.step("record")
            answered = asyncio.create_task(report)
            while not answered.done():
                await asyncio.wait([answered], timeout=_BETWEEN_STEPS)
                await server.node.step("record")
            await answered
        except Unavailable:
            if answered is None:
                report.close()
            else:
                answered.cancel()
                await asyncio.gather(answered, return_exceptions=True)
            return "unknown"
        except (Conflict, NotFound):
            return "refused"
        finally:
            await self._world.still()
        return "ok"
