"""The worker's end of a supervisor: how to start one, how to stop what it runs, and what it reports."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from tickwork.execute.attempt_ending import Ending, failed
from tickwork.model.process_limits import ProcessBounds, Usage
from tickwork.model.quantities import format_size

GRACE = 1.0  # seconds between SIGTERM and SIGKILL
_STOP_TIMEOUT = GRACE + 0.7  # seconds until all has ended that was told to stop
_SLACK = 10.0  # seconds after its timeout in which a worker should have ended the process
_MAIN = str(Path(__file__).resolve().with_name("supervisor_main.py"))


class Report(msgspec.Struct, frozen=True):
    """How a process ended, and what it has used."""

    status: int = 0  # exit code; negative: signal
    reason: str | None = None  # the limit that it exceeded: memory, cpu, processes or time
    cpu_seconds: float = 0.0
    peak_memory: int = 0
    left: int = 0  # processes that it had left behind, and that were ended
    error: int = 0  # the number of the error because of which it was not started

    @property
    def usage(self) -> Usage:
        return Usage(self.cpu_seconds, self.peak_memory)


_decode = msgspec.json.Decoder(Report).decode


class SupervisorHandle:
    """`ended` becomes the report when nothing of the process is left; None if the supervisor itself was killed."""

    def __init__(self, bounds: ProcessBounds, timeout: float, cgroup: str | None) -> None:
        self._bounds = bounds
        self._timeout = timeout
        self._cgroup = cgroup
        self._ours, self._theirs = socket.socketpair()
        self._received = b""
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[Report | None] = self._loop.create_future()

    @property
    def descriptor(self) -> int:
        """Of the socket that the supervisor inherits."""
        return self._theirs.fileno()

    def command_line(self, program: str, name: str, arguments: Sequence[str]) -> list[str]:
        settings = {
            "control": self.descriptor,
            "name": name,
            "memory": self._bounds.memory,
            "cpu_time": self._bounds.cpu_time,
            "files": self._bounds.files,
            "processes": self._bounds.processes,
            "time": self._timeout + _SLACK,
            "grace": GRACE,
            "cgroup": self._cgroup,
        }
        return [sys.executable, "-I", "-S", _MAIN, json.dumps(settings), program, *arguments]

    def begin(self) -> None:
        """Called when the supervisor has started."""
        self._theirs.close()
        self._ours.setblocking(False)
        self._loop.add_reader(self._ours, self._receive)

    async def stop(self) -> Report | None:
        """End the process with all that it has started."""
        self.send_stop()
        await asyncio.wait({self.ended}, timeout=_STOP_TIMEOUT)
        return self.ended.result() if self.ended.done() else None

    def send_stop(self) -> None:
        with suppress(OSError):  # it has ended
            self._ours.send(b"stop")

    def close(self) -> None:
        """The supervisor ends what is left when its worker closes the socket."""
        self._loop.remove_reader(self._ours)
        self._ours.close()
        self._theirs.close()

    def _receive(self) -> None:
        try:
            piece = self._ours.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        self._received += piece
        if not piece or self._received.endswith(b"\n"):
            self._loop.remove_reader(self._ours)
            if not self.ended.done():
                self.ended.set_result(_read(self._received))


def _read(received: bytes) -> Report | None:
    try:
        return _decode(received)
    except msgspec.DecodeError:
        return None


def exceeded_limit(report: Report, bounds: ProcessBounds) -> Ending | None:
    """How an attempt ends whose process used too much."""
    if report.reason == "memory" and bounds.memory is not None:
        used = f"it used {_megabytes(report.peak_memory)} of memory at most"
        return failed("MemoryLimit", f"ended at its memory limit of {format_size(bounds.memory)}: {used}")
    if report.reason == "cpu" and bounds.cpu_time is not None:
        used = f"it used {report.cpu_seconds:.1f} s"
        return failed("CpuTimeLimit", f"ended at its limit of {bounds.cpu_time:g} s of CPU time: {used}")
    if report.reason == "processes" and bounds.processes is not None:
        return failed("ProcessLimit", f"ended at its limit of {bounds.processes:,} processes and threads")
    return None


def _megabytes(size: int) -> str:
    return f"{size / 1024**2:.0f} MiB"


def signal_words(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"signal {number} ({name})"


def folder_problem(folder: str | None) -> str | None:
    if folder is not None and not os.path.isdir(folder):  # noqa: PTH112 (a text, as the job wrote it)
        return f"there is no folder {folder} on this worker"
    return None
