"""Which faults a chaos run has, as TICKWORK_CHAOS_FAULTS says."""

from collections.abc import Callable
from typing import NamedTuple

from support import database_host_faults, faults  # noqa: F401 (they register their faults)
from support.chaos_cluster import ChaosCluster
from support.fault_registry import FAULTS, Fault

_ALL = 300
_ALONE = "alone"


class Selection(NamedTuple):
    number: int
    kinds: list[Fault]
    alone: bool  # one at a time


def selected_faults(chaos: ChaosCluster, text: str, say: Callable[[str], None]) -> Selection:
    """What this machine cannot do is left out, and told of."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    number = next((int(word) for word in words if word.isdigit()), _ALL)
    chosen = [word for word in words if not word.isdigit() and word != _ALONE]
    if unknown := set(chosen) - set(FAULTS):
        raise ValueError(f"TICKWORK_CHAOS_FAULTS names no fault: {unknown}; there are {sorted(FAULTS)}")
    kinds = [FAULTS[kind] for kind in chosen] or list(FAULTS.values())
    for fault in kinds:
        if missing := fault.missing(chaos):
            say(f"SKIPPED here: {fault.kind}, which needs {missing}")
    return Selection(number, [fault for fault in kinds if not fault.missing(chaos)], _ALONE in words)
