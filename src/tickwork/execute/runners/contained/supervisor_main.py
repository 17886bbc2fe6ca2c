"""The parent of one process: starts it within its limits, watches it with all that it starts, and ends them all.

Started as `python -I -S supervisor_main.py SETTINGS PROGRAM ARGUMENT…`, with the environment, folder, input and outputs
of the process. It uses nothing but the standard library, because it is started for every command.

The worker has the other end of a socket. "stop" from there, or its end because the worker is dead, ends the process:
SIGTERM, a grace period, SIGKILL. The answer, when nothing is left, is a line of JSON: how it ended and what it used.

What a process starts is found among the descendants of this one, however it detaches itself: Linux gives orphans to
the nearest parent that asked for them. Where the worker may make cgroups, each process gets one, and the kernel counts
and ends what is in it.
"""

import ctypes
import errno
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_CHECK_INTERVAL = 0.1  # seconds between two measurements of a process with limits
_SLOW_CHECK_INTERVAL = 1.0
_KILL_INTERVAL = 0.01
_LAST_MOMENT = 0.05  # seconds for what ends together with the process, as the parts of a pipe do
_KILL_TIMEOUT = 5.0  # seconds; what the kernel has not ended by then may wait for a broken disk
_IS_LINUX = sys.platform == "linux"
_TICK, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
_SPARE_MEMORY = 32 * 1024 * 1024


class Settings(NamedTuple):
    control: int  # the socket
    name: str  # of the program, as it is to see it
    memory: int | None  # bytes
    cpu_time: float | None  # seconds
    files: int | None  # open in each process
    processes: int | None  # at once, with their threads
    time: float  # seconds after which it is ended, should the worker not do so
    grace: float  # seconds between SIGTERM and SIGKILL
    cgroup: str | None  # the folder to make one in


class Cgroup:
    """One cgroup of version 2 for one process. Without its controllers it only finds and ends processes."""

    def __init__(self, parent: str) -> None:
        self._path = Path(parent) / f"tickwork-process-{os.getpid()}"
        self._path.mkdir()
        self.limits_memory = (self._path / "memory.max").exists()
        self.limits_processes = (self._path / "pids.max").exists()

    @classmethod
    def make(cls, parent: str | None, memory: int | None, processes: int | None) -> "Cgroup | None":
        """None if there is no parent, or this cannot be done there."""
        if parent is None:
            return None
        try:
            made = cls(parent)
        except OSError:
            return None
        try:
            made._limit(memory, processes)
        except OSError:
            made.remove()
            return None
        return made

    def _limit(self, memory: int | None, processes: int | None) -> None:
        if processes and self.limits_processes:
            self._write("pids.max", processes)
        if memory and self.limits_memory:
            self._write("memory.max", memory)
            with suppress(OSError):  # not there without swap accounting
                self._write("memory.swap.max", 0)
            self._write("memory.oom.group", 1)

    def enter(self) -> None:
        self._write("cgroup.procs", 0)

    def pids(self) -> list[int]:
        """Its processes, also those of groups that they made inside of it."""
        found: list[int] = []
        for folder, _, _ in os.walk(self._path):
            with suppress(OSError):
                found += map(int, (Path(folder) / "cgroup.procs").read_text().split())
        return found

    def kill(self) -> None:
        with suppress(OSError):
            self._write("cgroup.kill", 1)

    def cpu_seconds(self) -> float:
        return self._read("cpu.stat", "usage_usec") / 1e6

    def peak_memory(self) -> int:
        with suppress(OSError, ValueError):
            return int((self._path / "memory.peak").read_text())
        return 0

    def exceeded(self) -> str | None:
        """The limit that the kernel has applied."""
        if self._read("pids.events", "max"):
            return "processes"
        return "memory" if self._read("memory.events", "oom_kill") else None

    def remove(self) -> None:
        for folder, _, _ in os.walk(self._path, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()

    def _write(self, name: str, value: int) -> None:
        (self._path / name).write_text(str(value))

    def _read(self, name: str, field: str) -> int:
        with suppress(OSError, ValueError):
            for line in (self._path / name).read_text().splitlines():
                key, _, value = line.partition(" ")
                if key == field:
                    return int(value)
        return 0


def descendants(parent: int) -> list[int]:
    """All processes below this one."""
    found, waiting = [], [parent]
    while waiting:
        for child in _children(waiting.pop()):
            found.append(child)
            waiting.append(child)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


class Use(NamedTuple):  # what a process that runs uses
    cpu_seconds: float = 0.0  # also of those children that it has waited for
    threads: int = 0
    resident: int = 0  # bytes


def _use_of(pid: int) -> Use:
    with suppress(OSError, IndexError, ValueError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return Use(sum(map(int, fields[11:15])) / _TICK, int(fields[17]), int(fields[21]) * _PAGE)
    return Use()


def _proportional(pid: int) -> int:
    """Resident memory, where pages that several processes share count once."""
    with suppress(OSError, IndexError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return _use_of(pid).resident


class Supervisor:
    def __init__(self, control: socket.socket, settings: Settings, cgroup: Cgroup | None) -> None:
        self._control = control
        self._settings = settings
        self._cgroup = cgroup
        self._started = time.monotonic()
        self._pid = 0
        self._status: int | None = None  # of the process, when it has ended
        self._reason: str | None = None  # why it was ended
        self._told_to_stop = False
        self._peak = 0
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)

    def start(self, program: str, arguments: list[str]) -> int:
        """Start the process. Returns the error number of why it could not be started, or 0."""
        said, say = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            _become(program, arguments, self._settings, self._cgroup, say)
        os.close(say)
        error = os.read(said, 16)
        os.close(said)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):  # so that the worker sees when the process closes them
            os.dup2(nothing, descriptor)
        return int(error or 0)

    def watch(self) -> int:
        """Wait until the process has ended, or has to be ended, and end what is left: see `_end_all`."""
        while self._status is None and self._reason is None and not self._told_to_stop:
            watched = [self._control.fileno(), self._woken]
            ready, _, _ = select.select(watched, [], [], self._interval())
            if self._woken in ready:
                os.read(self._woken, 4096)
            if self._control.fileno() in ready:
                self._told_to_stop = True  # a message, or the end of the worker
            self._reap()
            if self._status is None:
                self._check_limits()
        return self._end_all()

    def _interval(self) -> float:
        limited = self._settings.memory or self._settings.cpu_time or self._settings.processes
        until_end = max(self._started + self._settings.time - time.monotonic(), 0)
        return min(_CHECK_INTERVAL if limited else _SLOW_CHECK_INTERVAL, until_end)

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self._pid:
                    self._status = os.waitstatus_to_exitcode(status)

    def _pids(self) -> set[int]:
        if not _IS_LINUX:
            return self._group()
        return {*descendants(os.getpid()), *(self._cgroup.pids() if self._cgroup else ())}

    def _group(self) -> set[int]:
        """The leader of its process group, as long as there is anybody in it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, 0)
            return {self._pid}
        return set()

    def _check_limits(self) -> None:
        limits, pids = self._settings, self._pids()
        uses = [*map(_use_of, pids)]
        self._peak = max(self._peak, sum(use.resident for use in uses))
        if time.monotonic() - self._started >= limits.time:
            self._reason = "time"
        elif limits.cpu_time and self.cpu_seconds(uses) > limits.cpu_time:
            self._reason = "cpu"
        elif limits.processes and self._has_too_many(limits.processes, uses):
            self._reason = "processes"
        elif limits.memory and self._uses_too_much(limits.memory, uses, pids):
            self._reason = "memory"

    def _has_too_many(self, limit: int, uses: Iterable[Use]) -> bool:
        if self._cgroup and self._cgroup.limits_processes:
            return self._cgroup.exceeded() == "processes"
        return sum(use.threads for use in uses) > limit

    def _uses_too_much(self, limit: int, uses: Iterable[Use], pids: Iterable[int]) -> bool:
        if self._cgroup and self._cgroup.limits_memory:
            return self._cgroup.exceeded() == "memory"
        return sum(use.resident for use in uses) > limit and sum(map(_proportional, pids)) > limit

    def _end_all(self) -> int:
        """Returns how many processes were left after the one that was started had ended by itself."""
        ended_itself = self._status is not None
        if ended_itself:
            self._wait_until_none(_LAST_MOMENT)
        left = len(self._living())
        if not left:
            return 0
        if self._reason != "processes":  # which would go on multiplying
            self._signal_all(signal.SIGTERM)
            self._wait_until_none(self._settings.grace)
        deadline = time.monotonic() + _KILL_TIMEOUT
        while self._living() and time.monotonic() < deadline:
            if self._cgroup:
                self._cgroup.kill()
            self._signal_all(signal.SIGKILL)
            self._wait_until_none(_KILL_INTERVAL)
        return left if ended_itself else 0

    def _wait_until_none(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._living() and time.monotonic() < deadline:
            time.sleep(_KILL_INTERVAL / 2)

    def _living(self) -> set[int]:
        self._reap()
        pids = self._pids()
        return pids if pids or self._status is not None else {self._pid}

    def _signal_all(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)
        for pid in self._pids():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def cpu_seconds(self, uses: Iterable[Use] = ()) -> float:
        """Of all that has ended and was waited for, and of these, which run."""
        if self._cgroup and (counted := self._cgroup.cpu_seconds()):
            return counted
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime + sum(use.cpu_seconds for use in uses)

    def report(self, left: int) -> dict[str, Any]:
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1024 if _IS_LINUX else 1)
        peak = (self._cgroup.peak_memory() if self._cgroup else 0) or max(largest, self._peak)
        return {
            "status": -1 if self._status is None else self._status,
            "reason": self._reason or self._reason_of_end(largest),
            "cpu_seconds": self.cpu_seconds(),
            "peak_memory": peak,
            "left": left,
        }

    def _reason_of_end(self, largest: int) -> str | None:
        """Which limit the kernel applied, if it was one. `largest`: memory of the largest process."""
        if self._status == -signal.SIGXCPU:
            return "cpu"
        if self._cgroup and (exceeded := self._cgroup.exceeded()):
            return exceeded
        limit = self._settings.memory
        too_much = limit is not None and largest > limit
        return "memory" if self._status and too_much else None


def _become(
    program: str, arguments: list[str], settings: Settings, cgroup: Cgroup | None, say: int
) -> NoReturn:
    """In the new process: take its limits and become the program."""
    try:
        os.setsid()
        if _IS_LINUX:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if cgroup:
            cgroup.enter()
        _set_limits(settings, cgroup)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and a program inherits
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execve(program, arguments, os.environ)  # noqa: S606 (that is what it is for)
    except Exception as error:  # noqa: BLE001 (whatever it is, the worker tells it)
        os.write(say, str(getattr(error, "errno", None) or errno.EINVAL).encode())
    finally:
        os._exit(127)


def _set_limits(limits: Settings, cgroup: Cgroup | None) -> None:
    _limit(resource.RLIMIT_CORE, 0, 0)
    if limits.files:
        _limit(resource.RLIMIT_NOFILE, limits.files, limits.files)
    if limits.cpu_time:
        seconds = int(limits.cpu_time) + 1
        _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
    if limits.memory and _IS_LINUX and not (cgroup and cgroup.limits_memory):
        # It is measured now and then, and must not take all that there is in between.
        spare = max(limits.memory // 4, _SPARE_MEMORY)
        _limit(resource.RLIMIT_DATA, limits.memory + spare, limits.memory + spare)


def _limit(which: int, soft: int, hard: int) -> None:
    """No higher than what applies already."""
    most = resource.getrlimit(which)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(which, (soft, hard))


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)


def _ignore(*_: object) -> None:
    """The worker decides when to stop. A handler, unlike SIG_IGN, is not inherited by the program."""


def main(given: str, program: str, *arguments: str) -> None:
    settings = Settings(**json.loads(given))
    control = socket.socket(fileno=settings.control)
    control.set_inheritable(False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, _ignore)
    if _IS_LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    cgroup = Cgroup.make(settings.cgroup, settings.memory, settings.processes)
    supervisor = Supervisor(control, settings, cgroup)
    error = supervisor.start(program, [settings.name, *arguments])
    answer = {"error": error} if error else supervisor.report(supervisor.watch())
    if cgroup:
        cgroup.remove()
    with suppress(OSError):  # the worker is gone
        control.sendall(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
