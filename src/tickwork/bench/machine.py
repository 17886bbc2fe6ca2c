"""What the figures were measured on."""

import os
import platform
from pathlib import Path
from tempfile import gettempdir
from typing import Any


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
    """Durable writes mean nothing on tmpfs, so readers should see that it was none."""
    try:
        mounts = [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ""
    above = [mount for mount in mounts if folder.is_relative_to(mount[1])]
    return max(above, key=lambda mount: len(mount[1]))[2] if above else ""
