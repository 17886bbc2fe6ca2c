"""Circuit breakers, one for each destination of a tenant's HTTP jobs, shared by all nodes through the database.

Each node remembers which destinations have failed of late; every other call costs it one look into a dict. What
calls tell about those destinations is counted in the database, once a second or as soon as one failed.
"""

import asyncio
import builtins
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import NamedTuple

import structlog
from prometheus_client import Counter, Gauge

from tickwork.model.bad_row_isolation import BadRowIsolation
from tickwork.model.circuit_breaker import (
    Breaker,
    BreakerKey,
    BreakerState,
    BreakerView,
    CallResult,
    CallVerdict,
    close_breaker,
    count_calls,
    end_probe,
    reason_to_wait,
    start_probe,
    tally_of,
)
from tickwork.model.errors import Conflict, Invalid, Unavailable
from tickwork.model.event import BreakerClosed, BreakerOpened, Publish
from tickwork.model.http_target import HttpTarget, destination_of, target_errors
from tickwork.model.worker import LEASE
from tickwork.model.worker_protocol import Run
from tickwork.store.port.dispatch import BreakerChange, CircuitBreakerStore, Decide
from tickwork.wake import Wake

_GATHERING = 0.05  # seconds: failures come in swarms
_AT_ONCE = 50  # breakers that are looked after in one transaction
_OPEN = Gauge("tickwork_breakers_open", "Destinations that are not called because they fail.")
_OPENED = Counter("tickwork_breakers_opened_total", "Circuit breakers opened by this node.")
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")

_RunKey = tuple[int, int, int, int]


class _Known(NamedTuple):
    breaker: Breaker
    probe_from: float  # by the monotonic clock: before that there is no use in asking the database


class _Probe(NamedTuple):
    key: BreakerKey
    number: int


class Breakers:
    def __init__(self, store: CircuitBreakerStore, wake: Wake, publish: Publish) -> None:
        self._store = store
        self._wake = wake
        self._publish = publish
        self._known: dict[BreakerKey, _Known] = {}
        self._heard: defaultdict[BreakerKey, list[CallResult]] = defaultdict(list)
        self._probes: dict[_RunKey, _Probe] = {}
        self._concluded: dict[_Probe, CallResult] = {}
        self._isolation = BadRowIsolation("breakers")

    # What the HTTP runner asks and tells

    async def admit(self, run: Run, destination: str) -> str | None:
        """Why this run must wait, if it must."""
        known = self._known.get(BreakerKey(run.tenant, destination))
        if known is None or known.breaker.state is BreakerState.CLOSED:
            return None
        if monotonic() < known.probe_from:
            return reason_to_wait(known.breaker)
        return await self._admit_as_probe(run, known.breaker)

    def told(self, run: Run, destination: str, heard: CallResult) -> None:
        """How the call of an admitted run went."""
        key = BreakerKey(run.tenant, destination)
        if heard.verdict is CallVerdict.WORKS and key not in self._known and not self._probes:
            return
        probe = self._probes.pop(_key_of(run), None)
        if probe:
            self._concluded[probe] = heard
        elif heard.verdict is not CallVerdict.UNKNOWN:
            self._heard[key].append(heard)
        if probe or heard.bad:
            self._wake.breakers()

    async def _admit_as_probe(self, run: Run, breaker: Breaker) -> str | None:
        within = timedelta(seconds=run.timeout) + LEASE
        began = monotonic()
        self._learn(start_probe(breaker._replace(now=breaker.probe_at or breaker.now), within), began)
        try:
            changes = await self._store.change({breaker.key: partial(start_probe, within=within)})
        except Unavailable:
            return reason_to_wait(breaker)
        if not changes:
            return None  # forgotten meanwhile
        before, after = changes[0]
        self._learn(after, began)
        if after.probe != before.probe:
            self._probes[_key_of(run)] = _Probe(after.key, after.probe)
            return None
        return None if after.state is BreakerState.CLOSED else reason_to_wait(after)

    # What a node does about it every second

    async def look_after(self) -> bool:
        """Tell the others what was heard, learn what they heard, and let go of what need not wait any longer."""
        if self._heard:
            await asyncio.sleep(_GATHERING)
        await self._conclude()
        await self._count()
        began = monotonic()
        breakers = await self._store.read()
        self._known.clear()
        for breaker in breakers:
            self._learn(breaker, began)
        _OPEN.set(sum(breaker.state is not BreakerState.CLOSED for breaker in breakers))
        if any(breaker.look_at <= breaker.now for breaker in breakers) and await self._store.release_held(
            _AT_ONCE
        ):
            self._wake.claim()
        return False

    async def _conclude(self) -> None:
        if self._concluded:
            said = [*self._concluded.items()]
            await self._isolation.run_batch(said, self._conclude_all, _forget)
            for probe, _ in said:
                del self._concluded[probe]

    async def _conclude_all(self, said: Sequence[tuple[_Probe, CallResult]]) -> None:
        self._report(
            await self._store.change(
                {probe.key: partial(end_probe, probe=probe.number, result=result) for probe, result in said}
            )
        )

    async def _count(self) -> None:
        """At most once: what cannot be counted now is not worth counting twice."""
        if self._heard:
            tallies = {key: tally_of(heard) for key, heard in self._heard.items()}
            self._heard.clear()
            decisions: dict[BreakerKey, Decide] = {
                key: partial(count_calls, tally=tally) for key, tally in tallies.items()
            }
            failed = [key for key, tally in tallies.items() if tally.last_bad]
            self._report(await self._store.change(decisions, make=failed))

    def _learn(self, breaker: Breaker, asked_at: float) -> None:
        wait = (breaker.probe_at - breaker.now).total_seconds() if breaker.probe_at else 0.0
        self._known[breaker.key] = _Known(breaker, asked_at + wait)

    def _report(self, changes: builtins.list[BreakerChange]) -> None:
        for before, after in changes:
            about = {"destination": after.key.destination, "tenant": after.key.tenant_id}
            match before.state, after.state:
                case BreakerState.CLOSED, BreakerState.OPEN:
                    _OPENED.inc()
                    _log.warning("circuit breaker opened", reason=reason_to_wait(after), **about)
                    self._publish(BreakerOpened(after.key, reason_to_wait(after)))
                case BreakerState.HALF_OPEN, BreakerState.OPEN:
                    _log.info("circuit breaker stays open", reason=reason_to_wait(after), **about)
                case BreakerState.OPEN | BreakerState.HALF_OPEN, BreakerState.CLOSED:
                    _log.info("circuit breaker closed", **about)
                    self._publish(BreakerClosed(after.key))

    # What users see and do

    async def list(self, tenant_id: int) -> builtins.list[BreakerView]:
        return await self._store.views(tenant_id)

    async def reset(self, tenant_id: int, destination: str) -> BreakerView:
        """Close it by hand: what it holds is let go, and calls count anew."""
        key = BreakerKey(tenant_id, _checked(destination))
        changes = await self._store.change({key: close_breaker})
        if not changes:
            raise Conflict(f"there is nothing to reset: {key.destination} has not failed of late")
        self._report(changes)
        (view,) = await self._store.views(tenant_id, key.destination)
        return view


async def _forget(_: tuple[_Probe, CallResult], __: Exception) -> None:
    """The probe counts as lost, and there is another one."""


def _key_of(run: Run) -> _RunKey:
    return (run.tenant, run.at, run.job, run.attempt)


def _checked(destination: str) -> str:
    for error in target_errors(HttpTarget(url=destination)):
        raise Invalid.field("destination", error.message, "such as https://api.example.com")
    return destination_of(destination)
