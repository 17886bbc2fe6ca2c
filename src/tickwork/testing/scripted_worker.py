"""A worker that a test controls, on a real connection to the gateway."""

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, TypeVar

from tickwork.inprocess_connection import InProcessConnection
from tickwork.model.access import Caller, Scope
from tickwork.model.execution import AttemptOutcome
from tickwork.model.worker_protocol import (
    Ack,
    Beat,
    Checkpoint,
    Checkpointed,
    Checkpoints,
    Claim,
    Failure,
    FromServer,
    Hello,
    LogLine,
    Note,
    Noted,
    Notes,
    Outcome,
    Outcomes,
    Recall,
    Recalled,
    Refused,
    RefusedCheckpoint,
    Renewed,
    Revoke,
    Run,
    Runs,
    TaskOffer,
    Welcome,
)  # fmt: skip
from tickwork.node import Node

_ANYTHING = {"type": "object"}
Tasks = Sequence[str] | Mapping[str, dict[str, Any]]  # names, or names with the schemas of their parameters
_Message = TypeVar("_Message")


class ScriptedWorker:
    """A worker without code: it receives runs from a node and reports the outcomes that the test chooses."""

    def __init__(self, node: Node, tasks: Tasks, tenant_id: int | None = 1) -> None:
        """Without a tenant it is a built-in worker, which serves all tenants."""
        self._node = node
        self._tasks = tasks if isinstance(tasks, Mapping) else dict.fromkeys(tasks, _ANYTHING)
        self._tenant_id = tenant_id
        self._caller = Caller(tenant_id, "test", 1, frozenset({Scope.WORKER})) if tenant_id else None
        self._connection = InProcessConnection()
        self._attended = asyncio.create_task(node.gateway.attend(self._caller, self._connection.server_end))
        self._inbox: list[FromServer] = []
        self._sent = 0
        self.welcome: Welcome | None = None
        self.refused: Refused | None = None

    @classmethod
    async def connect(
        cls, node: Node, tasks: Tasks, *, tenant_id: int | None = 1, credit: int = 1000, **hello: Any
    ) -> "ScriptedWorker":
        """`hello`: further fields of its Hello, such as queues, labels and resources."""
        worker = cls(node, tasks, tenant_id)
        await worker.greet(credit=credit, **hello)
        return worker

    @classmethod
    async def offer_only(cls, node: Node, tasks: Tasks, *, tenant_id: int = 1) -> None:
        """Make the tasks known, and leave no worker to run them."""
        worker = await cls.connect(node, tasks, tenant_id=tenant_id)
        await worker.leave_silently()

    async def greet(
        self,
        *,
        credit: int = 1000,
        resume: str | None = None,
        holding: Sequence[Claim] = (),
        defaults: Mapping[str, Any] | None = None,
        **hello: Any,
    ) -> None:
        """`defaults`: job defaults of all its tasks."""
        self._credit = credit
        said = dict(defaults or {})
        tasks = [TaskOffer(task, parameters, None, said) for task, parameters in self._tasks.items()]
        common: dict[str, Any] = {
            "name": "scripted",
            "host": "here",
            "version": "0",
            "slots": credit,
            "credit": credit,
        }
        await self._connection.send(
            Hello(**{**common, **hello}, tasks=tasks, resume=resume, holding=list(holding))
        )
        answer = await self._connection.receive()
        self.welcome = answer if isinstance(answer, Welcome) else None
        self.refused = answer if isinstance(answer, Refused) else None
        await self._node.step("claim")  # the node learns which lanes there are

    async def come_back(self, holding: Sequence[Run], **hello: Any) -> "ScriptedWorker":
        """Reconnect on another connection, still with these runs."""
        await self.leave_silently()
        back = ScriptedWorker(self._node, self._tasks, self._tenant_id)
        claims = [Claim(run.tenant, run.at, run.job, run.attempt) for run in holding]
        await back.greet(resume=self.welcome.token if self.welcome else None, holding=claims, **hello)
        return back

    async def next_of(self, kind: type[_Message]) -> _Message:
        """Wait for a message, from a node that runs by itself."""
        while True:
            message = await self._connection.receive()
            if isinstance(message, kind):
                return message

    async def tell(self, run: Run, kind: AttemptOutcome, **details: Any) -> None:
        """Report to a node that runs by itself."""
        self._sent += 1
        await self._connection.send(Outcomes(self._sent, [_outcome(run, kind, **details)]))

    async def complete_live(self, run: Run, result: bytes | None = None) -> None:
        """Report to a node that runs by itself, and wait until that is recorded."""
        await self.tell(run, AttemptOutcome.COMPLETED, result=result)
        await self.next_of(Ack)

    async def runs(self) -> list[Run]:
        """Runs that were handed over since the last call."""
        return [run for message in await self._take(Runs) for run in message.items]

    async def revokes(self) -> list[Revoke]:
        """Revocations that arrived since the last call."""
        return await self._take(Revoke)

    async def beat(self, running: Sequence[tuple[Claim, int]] = (), **report: Any) -> Renewed | Refused:
        """Send a heartbeat and return the node's answer. `report`: further fields, such as load, labels, resources."""
        beat = Beat(sent=monotonic(), credit=self._credit, running=list(running), **report)
        await self._connection.send(beat)
        await self._exchange_messages()
        await self._node.step("renew")
        answers: list[Renewed | Refused] = [*await self._take(Renewed), *await self._take(Refused)]
        return answers[0]

    async def complete(self, run: Run, result: bytes | None = None) -> None:
        """Report that it completed, and wait until that is recorded."""
        await self.report(run, AttemptOutcome.COMPLETED, result=result)

    async def fail(self, run: Run, failure: Failure) -> None:
        """Report that it failed, and wait until that is recorded."""
        await self.report(run, AttemptOutcome.FAILED, failure=failure)

    async def report(self, run: Run, kind: AttemptOutcome, **details: Any) -> None:
        """Report any outcome, and wait until that is recorded. `start_delay` and `run_time` are in seconds."""
        await self._report([_outcome(run, kind, **details)])

    async def report_all(self, runs: Sequence[Run], result: bytes | None = None) -> None:
        """Report that all of these completed, in one message."""
        await self.report_together(runs, AttemptOutcome.COMPLETED, result=result)

    async def report_together(self, runs: Sequence[Run], kind: AttemptOutcome, **details: Any) -> None:
        """Report the same outcome of all of these, in one message."""
        await self._report([_outcome(run, kind, **details) for run in runs])

    async def _report(self, outcomes: list[Outcome]) -> None:
        self._sent += 1
        await self._connection.send(Outcomes(self._sent, outcomes))
        await self._exchange_messages()
        await self._node.step("record")
        if Ack(self._sent) not in await self._take(Ack):
            raise AssertionError("the node did not acknowledge the outcomes")

    async def log(self, run: Run, *texts: str, first: int = 0, **details: Any) -> None:
        """Send log lines, and wait until they are stored."""
        await self.send_notes([note_of(run, *texts, first=first, **details)])
        await self._node.step("write logs")
        if Noted(self._sent) not in await self._take(Noted):
            raise AssertionError("the node did not acknowledge the notes")

    async def send_notes(self, notes: list[Note]) -> None:
        """Send log lines and progress, without waiting until they are stored."""
        self._sent += 1
        await self._connection.send(Notes(self._sent, notes))
        await self._exchange_messages()

    async def checkpoint(self, *checkpoints: Checkpoint) -> list[RefusedCheckpoint]:
        """Send steps and states in one message. Returns those that were refused, when the others are stored."""
        await self.send_checkpoints(*checkpoints)
        while await self._node.step("store checkpoints"):
            pass
        (answer,) = await self._take(Checkpointed)
        return answer.refused

    async def send_checkpoints(self, *checkpoints: Checkpoint) -> None:
        """Send steps and states, without waiting until they are stored."""
        self._sent += 1
        await self._connection.send(Checkpoints(self._sent, list(checkpoints)))
        await self._exchange_messages()

    async def checkpointed(self) -> list[Checkpointed]:
        """Answers about checkpoints that arrived since the last call."""
        return await self._take(Checkpointed)

    async def recall(self, *runs: Run) -> list[Recalled]:
        """Ask what earlier attempts have stored, and return the node's answers."""
        claims = [Claim(run.tenant, run.at, run.job, run.attempt) for run in runs]
        await self._connection.send(Recall(claims))
        await self._exchange_messages()
        await self._node.step("store checkpoints")
        return await self._take(Recalled)

    async def leave_silently(self) -> None:
        """Close the connection without a message."""
        await self._connection.close()
        await self._attended

    async def _take(self, kind: type[_Message]) -> list[_Message]:
        await self._exchange_messages()
        taken: list[_Message] = [message for message in self._inbox if isinstance(message, kind)]
        self._inbox = [message for message in self._inbox if not isinstance(message, kind)]
        return taken

    async def _exchange_messages(self) -> None:
        """Let the session read and write all messages. It may have to wait for the database before it continues."""
        while not (self._attended.done() or self._is_listened_to()):  # noqa: ASYNC110 (there is no event to wait for)
            await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)
        while not self._connection.quiet:
            self._inbox.append(await self._connection.receive())
            await asyncio.sleep(0)

    def _is_listened_to(self) -> bool:
        return self._connection.all_read


def note_of(run: Run, *texts: str, first: int = 0, **details: Any) -> Note:
    lines = [LogLine(run.at + first + number, "info", text) for number, text in enumerate(texts)]
    return Note(run.tenant, run.at, run.job, run.attempt, first, lines, **details)


def step_of(run: Run, name: str, result: bytes = b"null", number: int = 1, took: float = 0.0) -> Checkpoint:
    return Checkpoint(run.tenant, run.at, run.job, run.attempt, number, name, result, took)


def state_of(run: Run, state: bytes, number: int = 1) -> Checkpoint:
    return Checkpoint(run.tenant, run.at, run.job, run.attempt, number, None, state)


def _outcome(
    run: Run, kind: AttemptOutcome, *, start_delay: float = 0.0, run_time: float = 0.001, **details: Any
) -> Outcome:
    started = run.at + int(start_delay * 1e6)
    finished = started + int(run_time * 1e6)
    return Outcome(run.tenant, run.at, run.job, run.attempt, kind, started, finished, **details)
