"""What this process and its children use from one moment to another."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from tickwork.model.process_limits import Usage

_RESET_PEAK = "5"  # written to clear_refs: from now on the kernel measures the peak anew


class OwnUsage:
    """Measures from its creation on."""

    def __init__(self) -> None:
        self._cpu_before = _cpu_seconds()
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text(_RESET_PEAK)

    def usage(self) -> Usage:
        return Usage(max(_cpu_seconds() - self._cpu_before, 0.0), _peak_memory())


def _cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _peak_memory() -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    if sys.platform == "win32":
        return 0
    import resource  # noqa: PLC0415 (not on Windows)

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
