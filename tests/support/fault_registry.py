"""The kinds of faults by name. Each is a block during which something is broken, and after which it is not."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Literal, NamedTuple

from support.chaos_cluster import ChaosCluster
from support.cluster import Program

Inflict = Callable[[ChaosCluster, str, Random], AbstractAsyncContextManager[None]]
Group = Literal["server", "worker", "target", "postgres", "pgbouncer", "far worker", "rest worker"]


def _always(_: ChaosCluster) -> str | None:
    return None


class Fault(NamedTuple):
    kind: str
    group: Group
    lasts: tuple[float, ...]  # seconds, of which one is chosen
    inflict: Inflict
    missing: Callable[[ChaosCluster], str | None]  # what this machine has not; None: it can be inflicted

    def victims(self, chaos: ChaosCluster) -> list[str]:
        groups = {
            "server": [program.name for program in chaos.servers],
            "worker": [program.name for program in chaos.workers],
            "target": [chaos.target.name],
            "far worker": [chaos.workers[-1].name],
            "rest worker": [chaos.rest_worker.name],
        }
        return groups.get(self.group, [self.group])


FAULTS: dict[str, Fault] = {}


def fault(
    group: Group, lasts: tuple[float, ...], missing: Callable[[ChaosCluster], str | None] = _always
) -> Callable[[Callable[..., AsyncIterator[None]]], None]:
    """Named after its function."""

    def register(function: Callable[..., AsyncIterator[None]]) -> None:
        kind = function.__name__.replace("_", " ")
        FAULTS[kind] = Fault(kind, group, lasts, asynccontextmanager(function), missing)

    return register


def program_named(chaos: ChaosCluster, name: str) -> Program:
    return next(program for program in chaos.programs if program.name == name)
