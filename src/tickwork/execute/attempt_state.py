"""One attempt of a worker, from its arrival until its outcome is recorded, and the arguments of its task."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from tickwork.execute.attempt_ending import AttemptFailed, Ending
from tickwork.model.checkpoint import StoredCheckpoint
from tickwork.model.public_ids import execution_id, from_micros, job_id
from tickwork.model.task import TaskDefinition
from tickwork.model.task_checkpoints import NewCheckpoint, TaskCheckpoints
from tickwork.model.task_context import Context, Listener
from tickwork.model.worker_protocol import Claim, Failure, Micros, Outcome, Run

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tickwork.execute.checkpoint_outbox import CheckpointOutbox
    from tickwork.execute.log.outbox import LogOutbox

Slot = asyncio.Task[None]
Key = tuple[int, Micros, int, int]  # tenant, at, job, attempt: as in every message


class Handler(NamedTuple):
    """Runs the attempts of one task."""

    begin: "Callable[[Attempt], Coroutine[Any, Any, Any]]"
    conclude: Callable[[Any], Ending]  # what the coroutine returned -> how the attempt ended
    takes_context: bool = False


class Outboxes(NamedTuple):
    """What attempts have for the server while they run. One for all attempts of a worker."""

    logs: "LogOutbox"
    checkpoints: "CheckpointOutbox"


class Attempt:
    __slots__ = (
        "context",
        "done",
        "handler",
        "has_log",
        "key",
        "outboxes",
        "reported_running",
        "run",
        "slot",
        "started",
        "stopped_as",
    )

    def __init__(self, key: Key, run: Run, handler: Handler, outboxes: Outboxes) -> None:
        self.key = key
        self.run = run
        self.handler = handler
        self.outboxes = outboxes
        self.started: Micros = 0  # 0: not started
        self.slot: Slot | None = None  # the slot that waits for it
        self.context: Context | None = None
        self.stopped_as: Ending | None = (
            None  # set when it is stopped: its ending, whatever its code does then
        )
        self.done = (
            False  # its outcome is queued for the server, or is no longer wanted; its code may still run
        )
        self.reported_running = False  # a beat has reported it to the server
        self.has_log = False  # the outbox of logs has a buffer for it

    @property
    def execution_id(self) -> str:
        return execution_id(self.run.job, from_micros(self.run.at))

    def make_context(self) -> Context:
        self.context = context_of(self.run, self, self.make_checkpoints)
        return self.context

    def make_checkpoints(self) -> TaskCheckpoints:
        return TaskCheckpoints(self)

    def log(self, level: str, text: str) -> None:
        self.outboxes.logs.log(self, level, text)

    def print(self, stream: str, text: str) -> None:
        self.outboxes.logs.print(self, stream, text)

    def progress(self, fraction: float, message: str | None) -> None:
        self.outboxes.logs.progress(self, fraction, message)

    def recalled(self) -> StoredCheckpoint:
        return self.outboxes.checkpoints.recalled(self)

    def keep(self, checkpoint: NewCheckpoint) -> "Future[None]":
        return self.outboxes.checkpoints.keep(self, checkpoint)

    def outcome(self, ending: Ending, finished: Micros) -> Outcome:
        return Outcome(
            *self.key,
            ending.kind,
            self.started or finished,
            max(self.started, finished),  # the database's clock may have been set back
            ending.result,
            ending.failure,
            ending.snooze,
            ending.reason,
            ending.accepted,
        )

    def claim(self) -> Claim:
        return Claim(*self.key)


def context_of(run: Run, listener: Listener, checkpoints: Callable[[], TaskCheckpoints]) -> Context:
    scheduled_for = from_micros(run.at)
    return Context(
        attempt=run.attempt,
        execution_id=execution_id(run.job, scheduled_for),
        job_id=job_id(run.job),
        scheduled_for=scheduled_for,
        listener=listener,
        parents=run.parents,
        checkpoints=checkpoints,
    )


def arguments_of(task: TaskDefinition, run: Run, make_context: Callable[[], Context]) -> dict[str, Any]:
    try:
        arguments = task.decode(run.payload)
    except ValueError as error:
        raise AttemptFailed(
            Failure("BadPayload", f"the payload does not fit the task: {error}", retry=False)
        ) from None
    if task.context_parameter:
        arguments[task.context_parameter] = make_context()
    return arguments
