"""What every transaction asks that puts executions into workers' hands."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from tickwork.model.rate import Rate
from tickwork.model.terms import Terms
from tickwork.store.port.seat import Seat
from tickwork.store.port.work import Works


class Lane(NamedTuple):
    """What the same workers can run on the same terms."""

    id: int
    tenant_id: int
    queue: str
    task: str
    terms: Terms


GateName = tuple[int, Literal["queue", "key"], str]  # with the tenant first


class Gate(NamedTuple):
    """A queue or a key that is limited, locked by whoever hands out under it. The settings are those of a queue."""

    id: int
    name: GateName
    paused: bool
    max_running: int | None
    rate: Rate | None
    used_until: datetime  # up to when its rate is used up
    now: datetime


class Slot(NamedTuple):
    """Which part of a lease counts under a gate."""

    gate_id: int
    places: range


class Handing(Protocol):
    """The part of a transaction that puts executions into workers' hands."""

    async def hold(self, seats: Sequence[Seat]) -> set[int]:
        """The workers that may be handed work on these connections, fixed until the commit."""

    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...

    async def lock_gates(self, names: Collection[GateName]) -> list[Gate]:
        """Those of them that exist; whoever hands out under one waits for the others that do."""

    async def running(self, gates: Sequence[int], *, exactly: bool) -> dict[int, int]:
        """How much runs under each gate, or quickly: no less than that."""

    async def use_rates(self, used_until: Mapping[int, datetime]) -> None: ...

    async def lease(self, worker_id: int, works: Works, slots: Sequence[Slot] = ()) -> int:
        """Note what a worker is handed, and what of it counts under which gates; the lease."""
