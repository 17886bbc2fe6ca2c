"""Processor time and memory of each process, on Linux, and a description of the machine."""

import os
import platform
from collections import defaultdict
from pathlib import Path
from tempfile import gettempdir
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PROC = Path("/proc")
POSTGRES = "postgres"


class Meter:
    def __init__(self, postmaster: Path) -> None:
        self._postmaster = postmaster
        self._watched: dict[int, str] = {}

    def watch(self, part: str, process: int) -> None:
        self._watched[process] = part

    def seconds(self) -> dict[str, float]:
        """Processor seconds of each part so far."""
        used: defaultdict[str, float] = defaultdict(float)
        for process, part in self._watched.items():
            used[part] += _seconds(process)
        postmaster, *children = self._postgres_processes() or [0]
        used[POSTGRES] = _seconds(postmaster, with_ended_children=True) + sum(map(_seconds, children))
        return used

    def memory(self) -> dict[str, int]:
        """Bytes of each part. Memory that processes share counts once."""
        used: defaultdict[str, int] = defaultdict(int)
        for process, part in self._watched.items():
            used[part] += _proportional(process)
        return {**used, POSTGRES: sum(map(_proportional, self._postgres_processes()))}

    def _postgres_processes(self) -> list[int]:
        """The postmaster and its children, which come and go."""
        try:
            parent = int(self._postmaster.read_text().split()[0])
            children = (_PROC / f"{parent}/task/{parent}/children").read_text().split()
        except (OSError, ValueError, IndexError):
            return []
        return [parent, *map(int, children)]


def resident(process: int) -> int:
    """The resident memory of a process in bytes, shared or not."""
    return _kibibytes(process, "status", "VmRSS:") * 1024


def _proportional(process: int) -> int:
    return _kibibytes(process, "smaps_rollup", "Pss:") * 1024


def _kibibytes(process: int, file: str, field: str) -> int:
    try:
        lines = (_PROC / f"{process}/{file}").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def _seconds(process: int, *, with_ended_children: bool = False) -> float:
    try:
        fields = (_PROC / f"{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15] if with_ended_children else fields[11:13])) / _TICKS


def describe_machine() -> dict[str, Any]:
    return {
        "processor": _first("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory": f"{_memory() / 1e9:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "data_on": _file_system(Path(gettempdir()).resolve()),
    }


def _memory() -> int:
    kibibytes = _first("/proc/meminfo", "MemTotal").split()
    return int(kibibytes[0]) * 1024 if kibibytes else 0


def _first(file: str, field: str) -> str:
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")


def _file_system(folder: Path) -> str:
    """Durable writes mean nothing on tmpfs, so the report names the file system."""
    try:
        mounts = [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ""
    above = [mount for mount in mounts if folder.is_relative_to(mount[1])]
    return max(above, key=lambda mount: len(mount[1]))[2] if above else ""
