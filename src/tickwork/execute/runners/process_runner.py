"""Runs tasks in child processes, which can be killed. A child is reused for the next attempt."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import msgspec

from tickwork.execute.attempt_ending import Ending, failed, unchanged
from tickwork.execute.attempt_state import Attempt, Handler
from tickwork.execute.runners.child_protocol import CANCEL, LENGTH_BYTES, Ended, FromChild, Logged
from tickwork.log_setup import logs_in_use
from tickwork.model.current_span_and_job_origin import current_traceparent
from tickwork.model.errors import Invalid
from tickwork.model.task import TaskDefinition
from tickwork.model.worker_protocol import Run
from tickwork.tracing.opentelemetry_setup import uses_own_pipeline

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

    def handler(self, task: TaskDefinition) -> Handler:
        if self._app is None:
            raise Invalid.field(
                "app",
                f"task {task.name} runs in a child process, which must know where to import it",
                'such as "tasks:app"',
            )
        return Handler(self._run, unchanged)

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
        self._idle.append(child)
        return ending

    def _take_idle(self) -> "_Child | None":
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
        return None


def _within_current_span(run: Run) -> Run:
    """The child's spans belong to the span of the attempt, not to the one that handed it over."""
    return msgspec.structs.replace(run, traceparent=current_traceparent()) if run.traceparent else run


class _Child(asyncio.SubprocessProtocol):
    """Waits for the process to exit, not for the end of its output: its own children may keep the pipe open."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._process: asyncio.SubprocessTransport
        self._attempt: Attempt
        self._received = bytearray()
        self._answer: asyncio.Future[Ending | None] = loop.create_future()
        self._exited: asyncio.Future[None] = loop.create_future()

    @classmethod
    async def start(cls, app: str) -> "_Child":
        """Start it in its own session, so that Ctrl-C reaches only the worker, which lets running tasks end."""
        _, child = await asyncio.get_running_loop().subprocess_exec(
            cls,
            *(sys.executable, "-m", "tickwork.execute.runners.child_main", app, *logs_in_use()),
            *(["traced"] if uses_own_pipeline() else []),
            stderr=None,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        return child

    @property
    def alive(self) -> bool:
        return not self._exited.done()

    async def run(self, attempt: Attempt) -> Ending | None:
        """Returns None if the process died before the task ended."""
        self._attempt = attempt
        self._answer = asyncio.get_running_loop().create_future()
        self._send(_encode(_within_current_span(attempt.run)))
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
                self._attempt.log_outbox.add_batch(self._attempt, now, batch)
            case Ended(ending) if not self._answer.done():
                self._answer.set_result(ending)

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
