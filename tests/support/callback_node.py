"""A node that stands still, with a built-in worker whose HTTP targets accept what they are sent and report later."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import msgspec

from support.node_steps import run_due
from tickwork.config import Settings
from tickwork.model.execution import AttemptOutcome, AttemptView, ExecutionView
from tickwork.model.http_callback_reports import (
    CallbackComplete,
    CallbackFail,
    CallbackHeartbeat,
    CallbackProgress,
)
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import HTTP_TASK, JobRequest
from tickwork.model.public_ids import execution_id, from_micros, parse_execution_id
from tickwork.model.rest_worker import ErrorReport, ReportedAttempt
from tickwork.model.worker_protocol import Accepted, Run
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
URL = "https://print.example.com/jobs"
HOUR = 3600.0
Answer = TypeVar("Answer")


class CallbackNode:
    def __init__(self, node: Node, worker: ScriptedWorker) -> None:
        self.node = node
        self.worker = worker

    @classmethod
    async def open(cls, settings: Settings, *, credit: int = 1000) -> "CallbackNode":
        node = Node(settings)
        await node.open()
        return cls(node, await ScriptedWorker.connect(node, [HTTP_TASK], tenant_id=None, credit=credit))

    async def create(self, **fields: Any) -> str:
        target = HttpTarget(url=URL, completion="callback")
        (job,) = await self.node.jobs.create(TENANT, [JobRequest(http=target, **fields)])
        return job.id

    async def take(self) -> list[Run]:
        await run_due(self.node)
        return await self.worker.runs()

    async def accept(self, run: Run, *, within: float = HOUR, heartbeat: float | None = None) -> None:
        """The target answers 202."""
        accepted = Accepted(within, heartbeat)
        await self.worker.report(run, AttemptOutcome.ACCEPTED, accepted=accepted)

    async def accept_all(self, runs: Sequence[Run], *, heartbeat: float | None = None) -> None:
        """All targets answer 202 at once."""
        accepted = Accepted(HOUR, heartbeat)
        await self.worker.report_together(runs, AttemptOutcome.ACCEPTED, accepted=accepted)

    async def accept_with_status(self, run: Run, target: HttpTarget, url: str) -> None:
        """The target answers 202 and says where its status is."""
        accepted = Accepted(HOUR, status_url=url, target=msgspec.json.encode(target), first_poll=30.0)
        await self.worker.report(run, AttemptOutcome.ACCEPTED, accepted=accepted)

    async def accepted(self, *, within: float = HOUR, heartbeat: float | None = None, **fields: Any) -> Run:
        """A new job whose target has accepted it."""
        await self.create(**fields)
        (run,) = await self.take()
        await self.accept(run, within=within, heartbeat=heartbeat)
        return run

    async def complete(self, run: Run, result: Any = None) -> ReportedAttempt:
        report = CallbackComplete(result=result)
        return await self._recorded(self.node.callbacks.complete(*_place(run), report))

    async def fail(self, run: Run, **fields: Any) -> ReportedAttempt:
        report = CallbackFail(error=ErrorReport("OutOfPaper", "the tray is empty"), **fields)
        return await self._recorded(self.node.callbacks.fail(*_place(run), report))

    async def progress(self, run: Run, **fields: Any) -> ReportedAttempt:
        return await self._recorded(self.node.callbacks.progress(*_place(run), CallbackProgress(**fields)))

    async def heartbeat(self, run: Run) -> Any:
        return await self.node.callbacks.heartbeat(*_place(run), CallbackHeartbeat())

    async def enforce(self) -> None:
        """Deadlines are looked at, and what follows is recorded."""
        await self.node.step("end callbacks")
        await self.node.step("record")

    async def settle_polls(self) -> None:
        """What was asked is answered and recorded."""
        await self._recorded(self.node.status_polls.settle())

    async def cancel(self, run: Run) -> None:
        await self.node.history.cancel(TENANT, *parse_execution_id(name_of(run)))

    async def execution(self, run: Run) -> ExecutionView:
        return await self.node.history.get(TENANT, *parse_execution_id(name_of(run)))

    async def attempts(self, run: Run) -> Sequence[AttemptView]:
        return await self.node.history.attempts(TENANT, *parse_execution_id(name_of(run)))

    async def _recorded(self, report: Coroutine[Any, Any, Answer]) -> Answer:
        reporting = asyncio.create_task(report)
        while not reporting.done():
            await self.node.step("record")
            await self.node.step("write logs")
            await asyncio.sleep(0)
        return await reporting


def name_of(run: Run) -> str:
    return execution_id(run.job, from_micros(run.at))


def _place(run: Run) -> tuple[int, Any, int]:
    return run.job, from_micros(run.at), run.attempt
