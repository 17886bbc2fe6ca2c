"""Runs tasks in child processes, which can be killed. A child lives on for the next attempt."""

import asyncio
import os
import signal
import sys
from contextlib import suppress

import msgspec

from tickwork.execute.attempt import Attempt, Handler
from tickwork.execute.ending import Ending, as_it_is, failed
from tickwork.model.errors import Invalid
from tickwork.model.protocol import Run
from tickwork.model.task import TaskDefinition

LENGTH_BYTES = 4
_FAREWELL = 1.0  # seconds for an idle child to leave by itself

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Ending).decode


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
        return Handler(self._run, as_it_is)

    async def close(self) -> None:
        await asyncio.gather(*(child.close() for child in self._idle))
        self._idle.clear()

    async def _run(self, attempt: Attempt) -> Ending:
        child = await self._take_child()
        try:
            ending = await child.run(attempt.run)
        except (EOFError, ConnectionError):
            return failed("ProcessDied", f"the child process {await child.bury()} before the task ended")
        except BaseException:
            await child.bury()
            raise
        self._idle.append(child)
        return ending

    async def _take_child(self) -> "_Child":
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
        return await _Child.start(self._app or "")


class _Child:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, app: str) -> "_Child":
        """In a session of its own: Ctrl-C is for the worker, which lets running tasks end."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tickwork.execute.runners.child", app),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        return cls(process)

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def run(self, run: Run) -> Ending:
        message = _encode(run)
        to_child, from_child = self._process.stdin, self._process.stdout
        if not to_child or not from_child:
            raise EOFError
        to_child.write(len(message).to_bytes(LENGTH_BYTES) + message)
        await to_child.drain()
        length = int.from_bytes(await from_child.readexactly(LENGTH_BYTES))
        return _decode(await from_child.readexactly(length))

    async def bury(self) -> str:
        """Kill it with all it has started, and say how it ended."""
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        status = await self._process.wait()
        return f"was killed by signal {-status}" if status < 0 else f"left with exit code {status}"

    async def close(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(_FAREWELL):
                await self._process.wait()
        except TimeoutError:
            await self.bury()
