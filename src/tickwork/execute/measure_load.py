"""Measures the CPU, memory and disk of the machine, and what this process uses of them. What a system does not tell is
left out: the machine's CPU and memory are read from /proc, which only Linux has."""

from os import sysconf
from pathlib import Path
from shutil import disk_usage
from time import monotonic, process_time
from typing import NamedTuple

from tickwork.model.worker import WorkerLoad

_CGROUP = Path("/sys/fs/cgroup")


class _CpuTime(NamedTuple):
    """Since the machine started, in ticks of all CPUs."""

    busy: int
    total: int


class _Bytes(NamedTuple):
    used: int | None = None
    total: int | None = None


class LoadMeter:
    """Shares of time are those since the last measurement."""

    def __init__(self, folder: Path, proc: Path = Path("/proc"), cgroup: Path = _CGROUP) -> None:
        self._folder = folder
        self._proc = proc
        self._cgroup = cgroup
        self._machine = self._cpu_time()
        self._process = monotonic(), process_time()

    def measure(self) -> WorkerLoad:
        memory = self._memory()
        disk = self._disk()
        return WorkerLoad(
            cpu=self._machine_cpu(),
            memory_used=memory.used,
            memory_total=memory.total,
            disk_used=disk.used,
            disk_total=disk.total,
            process_cpu=self._process_cpu(),
            process_memory=self._process_memory(),
        )

    def _machine_cpu(self) -> float | None:
        before, self._machine = self._machine, self._cpu_time()
        if before is None or self._machine is None or self._machine.total <= before.total:
            return None
        share = (self._machine.busy - before.busy) / (self._machine.total - before.total)
        return round(min(max(share, 0.0), 1.0), 3)

    def _process_cpu(self) -> float | None:
        (then, used_then), self._process = self._process, (monotonic(), process_time())
        now, used = self._process
        return round(max(used - used_then, 0.0) / (now - then), 3) if now > then else None

    def _cpu_time(self) -> _CpuTime | None:
        try:
            first = (self._proc / "stat").read_text().split("\n", 1)[0]
            user, nice, system, idle, waiting, *others = map(int, first.split()[1:9])
        except (OSError, ValueError):
            return None
        busy = user + nice + system + sum(others)
        return _CpuTime(busy, busy + idle + waiting)

    def _memory(self) -> _Bytes:
        """That of the container, if it has a limit."""
        try:
            return _Bytes(
                int((self._cgroup / "memory.current").read_text()),
                int((self._cgroup / "memory.max").read_text()),
            )
        except (OSError, ValueError):  # no container, or "max"
            pass
        try:
            lines = (self._proc / "meminfo").read_text().splitlines()
            sizes = {
                name: int(value.split()[0]) * 1024 for name, _, value in (x.partition(":") for x in lines)
            }
            return _Bytes(sizes["MemTotal"] - sizes["MemAvailable"], sizes["MemTotal"])
        except (OSError, ValueError, KeyError, IndexError):
            return _Bytes()

    def _process_memory(self) -> int | None:
        try:
            return int((self._proc / "self/statm").read_text().split()[1]) * sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            return None

    def _disk(self) -> _Bytes:
        try:
            usage = disk_usage(self._folder)
        except OSError:
            return _Bytes()
        return _Bytes(usage.used, usage.total)
