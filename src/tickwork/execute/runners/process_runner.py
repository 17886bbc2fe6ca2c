"""Runs tasks in child processes, which can be killed. A child is reused for the next attempt, unless its task has
limits: then each attempt has a child of its own, below a supervisor."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, cast

import msgspec

from tickwork.execute.attempt_ending import Ending, failed, unchanged
from tickwork.execute.attempt_state import Attempt, Handler
from tickwork.execute.runners.child_checkpoints import answer_of
from tickwork.execute.runners.child_protocol import (
    CANCEL,
    LENGTH_BYTES,
    Begin,
    Ended,
    FromChild,
    Keep,
    Logged,
)
from tickwork.execute.runners.contained.supervisor_handle import (
    Report,
    SupervisorHandle,
    exceeded_limit,
    signal_words,
)
from tickwork.log_setup import logs_in_use
from tickwork.model.current_span_and_job_origin import current_traceparent
from tickwork.model.errors import Invalid
from tickwork.model.process_limits import NO_LIMITS, ProcessBounds, Usage, bounds_of
from tickwork.model.task import TaskDefinition
from tickwork.model.worker_protocol import Run
from tickwork.tracing.opentelemetry_setup import uses_own_pipeline

if TYPE_CHECKING:
    from concurrent.futures import Future

_INPUT, _OUTPUT = 0, 1
_GRACE = 1.0  # seconds for a task that was told to stop, before its process is killed
_EXIT_TIMEOUT = 1.0  # seconds for an idle child to exit by itself
_FINAL_OUTPUT_TIMEOUT = 0.2  # seconds for the last output of a dead child to arrive

_encode = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], FromChild] = msgspec.msgpack.Decoder(FromChild).decode


class ProcessRunner:
    def __init__(self, app: str | None) -> None:
        self._app = app
        self._idle: list[_Child] = []
        self.cgroup: str | None = None  # the folder to make a cgroup in for each child with limits

    def handler(self, task: TaskDefinition) -> Handler:
        if self._app is None:
            raise Invalid.field(
                "app",
                f"task {task.name} runs in a child process, which must know where to import it",
                'such as "tasks:app"',
            )
        uses_context = task.context_parameter is not None
        if task.process_limits != NO_LIMITS:
            run_within = partial(self._run_within, bounds_of(task.process_limits))
            return Handler(run_within, unchanged, uses_context)
        return Handler(self._run, unchanged, uses_context)

    async def close(self) -> None:
        await asyncio.gather(*(child.close() for child in self._idle))
        self._idle.clear()

    async def _run(self, attempt: Attempt) -> Ending:
        try:
            child = self._take_idle() or await _Child.start(self._app or "")
        except OSError as error:
            return failed("ProcessDied", f"no child process could be started: {error}")
        try:
            ending = await child.run(attempt)
        except BaseException:
            await child.stop()
            raise
        if ending is None:
            return failed("ProcessDied", f"the child process {await child.kill()} before the task ended")
        attempt.outboxes.logs.report_usage(attempt, child.usage)
        self._idle.append(child)
        return ending

    async def _run_within(self, bounds: ProcessBounds, attempt: Attempt) -> Ending:
        supervisor = SupervisorHandle(bounds, attempt.run.timeout, self.cgroup)
        try:
            child = await _LimitedChild.start_within(self._app or "", supervisor)
        except OSError as error:
            supervisor.close()
            return failed("ProcessDied", f"no child process could be started: {error}")
        try:
            ending = await child.run(attempt)
            await child.close()
        except BaseException:
            await child.stop()
            raise
        finally:
            report = child.report()
            supervisor.close()
            if report:
                attempt.outboxes.logs.report_usage(attempt, report.usage)
        if ending is not None:
            return ending
        died = failed("ProcessDied", f"the child process {child.exit_words()} before the task ended")
        return (exceeded_limit(report, bounds) if report else None) or died

    def _take_idle(self) -> "_Child | None":
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
        return None


def _arguments(app: str) -> list[str]:
    traced = ["traced"] if uses_own_pipeline() else []
    return ["-m", "tickwork.execute.runners.child_main", app, *logs_in_use(), *traced]


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def _within_current_span(run: Run) -> Run:
    """The child's spans belong to the span of the attempt, not to the one that handed it over."""
    return msgspec.structs.replace(run, traceparent=current_traceparent()) if run.traceparent else run


class _Child(asyncio.SubprocessProtocol):
    """Waits for the process to exit, not for the end of its output: its own children may keep the pipe open."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._process: asyncio.SubprocessTransport
        self._attempt: Attempt
        self.usage = Usage(0.0, 0)  # of the last attempt
        self._received = bytearray()
        self._answer: asyncio.Future[Ending | None] = loop.create_future()
        self._exited: asyncio.Future[None] = loop.create_future()

    @classmethod
    async def start(cls, app: str) -> "_Child":
        """Start it in its own session, so that Ctrl-C reaches only the worker, which lets running tasks end."""
        _, child = await asyncio.get_running_loop().subprocess_exec(
            cls, sys.executable, *_arguments(app), stderr=None, env=_environment(), start_new_session=True
        )
        return child

    @property
    def alive(self) -> bool:
        return not self._exited.done()

    async def run(self, attempt: Attempt) -> Ending | None:
        """Returns None if the process died before the task ended."""
        self._attempt = attempt
        self._answer = asyncio.get_running_loop().create_future()
        self._send(_encode(Begin(_within_current_span(attempt.run), attempt.recalled())))
        return await asyncio.shield(self._answer)  # `stop` waits for the answer after a cancellation

    async def stop(self) -> None:
        """Ask the task to stop, then kill the process with all its children."""
        try:
            self._send(CANCEL)
            await asyncio.wait({self._answer}, timeout=_GRACE)
        finally:
            await self.kill()

    async def kill(self) -> str:
        """Kill the process with all its children, and describe how it ended."""
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.get_pid(), signal.SIGKILL)
            else:
                self._process.kill()
        await asyncio.wait({self._exited})
        status = self._process.get_returncode() or 0
        self._process.close()
        return f"was killed by signal {-status}" if status < 0 else f"left with exit code {status}"

    async def close(self) -> None:
        self._input.close()
        await asyncio.wait({self._exited}, timeout=_EXIT_TIMEOUT)
        await self.kill()

    @property
    def _input(self) -> asyncio.WriteTransport:
        return cast("asyncio.WriteTransport", self._process.get_pipe_transport(_INPUT))

    def _send(self, message: bytes) -> None:
        with suppress(OSError, RuntimeError):  # it has died, which process_exited handles
            self._input.write(len(message).to_bytes(LENGTH_BYTES) + message)

    def _handle(self, message: bytes) -> None:
        match _decode(message):
            case Logged(now, batch):
                self._attempt.outboxes.logs.add_batch(self._attempt, now, batch)
            case Keep(checkpoint):
                stored = self._attempt.keep(checkpoint)
                stored.add_done_callback(partial(self._answer_keep, self._attempt, checkpoint.number))
            case Ended(ending, usage) if not self._answer.done():
                self.usage = usage
                self._answer.set_result(ending)

    def _answer_keep(self, attempt: Attempt, number: int, stored: "Future[None]") -> None:
        """Unless the attempt has ended without waiting for it: the next one has checkpoints with the same numbers."""
        if attempt is self._attempt and (kept := answer_of(number, stored)):
            self._send(_encode(kept))

    def _give_up(self) -> None:
        if not self._answer.done():
            self._answer.set_result(None)

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 (there is only one)
        self._received += data
        while len(self._received) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self._received[:LENGTH_BYTES])
            if len(self._received) < end:
                return
            self._handle(bytes(self._received[LENGTH_BYTES:end]))
            del self._received[:end]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 (the reason does not matter)
        if fd == _OUTPUT:
            self._give_up()

    def process_exited(self) -> None:
        if not self._exited.done():
            self._exited.set_result(None)
        if self._answer.done():
            self._process.close()
        else:
            asyncio.get_running_loop().call_later(_FINAL_OUTPUT_TIMEOUT, self._give_up)


class _LimitedChild(_Child):
    """For one attempt. The process that the loop knows is its supervisor."""

    _supervisor: SupervisorHandle

    @classmethod
    async def start_within(cls, app: str, supervisor: SupervisorHandle) -> "_LimitedChild":
        _, child = await asyncio.get_running_loop().subprocess_exec(
            cls,
            *supervisor.command_line(sys.executable, sys.executable, _arguments(app)),
            stderr=None,
            env=_environment(),
            start_new_session=True,
            pass_fds=(supervisor.descriptor,),
        )
        child.supervise_by(supervisor)
        supervisor.begin()
        return child

    def supervise_by(self, supervisor: SupervisorHandle) -> None:
        self._supervisor = supervisor

    def report(self) -> Report | None:
        ended = self._supervisor.ended
        return ended.result() if ended.done() else None

    def exit_words(self) -> str:
        report = self.report()
        if report is None:
            return "was killed together with its supervisor"
        if report.status < 0:
            return f"was killed by {signal_words(-report.status)}"
        return f"left with exit code {report.status}"

    async def close(self) -> None:
        """Let it exit by itself, or end it."""
        self._input.close()
        await asyncio.wait({self._supervisor.ended}, timeout=_EXIT_TIMEOUT)
        await self.kill()

    async def kill(self) -> str:
        if not self._supervisor.ended.done():
            await self._supervisor.stop()
        if self._supervisor.ended.done():
            await asyncio.wait({self._exited}, timeout=_EXIT_TIMEOUT)
            self._process.close()  # earlier, this would kill the supervisor and not what it supervises
        return self.exit_words()
