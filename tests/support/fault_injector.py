"""Breaks things, one after the other and sometimes several at once, as a seed decides; heals them again; and keeps the
record."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

from support.chaos_cluster import ChaosCluster
from support.fault_registry import Fault

_AT_ONCE = 3
_REST_AFTER = 10  # faults
_CALM = 8.0  # seconds after a fault that is to be alone


class Planned(NamedTuple):
    fault: Fault
    seed: int  # decides about victim and details
    lasts: float
    pause: float  # before the next one


class Injected(NamedTuple):
    kind: str
    victim: str
    begun_at: datetime
    healed_at: datetime


def plan(
    seed: int, faults: int, kinds: Sequence[Fault], *, pauses: tuple[float, float], longest: float
) -> list[Planned]:
    """All kinds equally often, in an order of their own each time round."""
    random = Random(seed)  # noqa: S311 (to be repeated, not to be kept secret)
    planned: list[Planned] = []
    while len(planned) < faults:
        planned += [
            Planned(
                fault,
                random.getrandbits(32),
                min(random.choice(fault.lasts), longest),
                random.uniform(*pauses),
            )
            for fault in random.sample(kinds, len(kinds))
        ]
    return planned[:faults]


class FaultInjector:
    def __init__(self, chaos: ChaosCluster, say: Callable[[str], None], *, alone: bool = False) -> None:
        """`alone`: one fault at a time, so that what it costs is its own."""
        self._alone = alone
        self.injected: list[Injected] = []
        self._chaos = chaos
        self._say = say
        self._taken: set[str] = set()
        self._changed = asyncio.Condition()

    async def strike(self, planned: Sequence[Planned], rest: Callable[[], Awaitable[None]]) -> None:
        """`rest` is awaited now and then, whenever everything is healed."""
        for begin in range(0, len(planned), _REST_AFTER):
            async with asyncio.TaskGroup() as faults:
                for number, each in enumerate(planned[begin : begin + _REST_AFTER], begin + 1):
                    victim = await self._take_victim(each)
                    self._say(f"fault {number}/{len(planned)}: {each.fault.kind}, {victim}, {each.lasts:g} s")
                    faults.create_task(self._inflict(each, victim))
                    await asyncio.sleep(each.pause)
            await rest()

    async def _take_victim(self, planned: Planned) -> str:
        async with self._changed:
            free = await self._changed.wait_for(lambda: self._free(planned.fault))
            victim = Random(planned.seed).choice(free)  # noqa: S311 (likewise)
            self._taken.add(victim)
        return victim

    def _free(self, fault: Fault) -> list[str]:
        """Those that no other fault has hold of; none, when that would be too much at once. One of a kind is spared."""
        group = fault.victims(self._chaos)
        free = [name for name in group if name not in self._taken]
        at_once = 1 if self._alone else _AT_ONCE
        return free if len(self._taken) < at_once and len(free) > (len(group) > 1) else []

    async def _inflict(self, planned: Planned, victim: str) -> None:
        begun_at = datetime.now(UTC)
        async with planned.fault.inflict(self._chaos, victim, Random(planned.seed)):  # noqa: S311 (likewise)
            await asyncio.sleep(planned.lasts)
        self.injected.append(Injected(planned.fault.kind, victim, begun_at, datetime.now(UTC)))
        if self._alone:
            await asyncio.sleep(_CALM)
        async with self._changed:
            self._taken.discard(victim)
            self._changed.notify_all()
