"""Circuit breakers, one for each destination of a tenant's HTTP jobs, shared by all nodes through the database.

Each node caches the destinations that failed recently, so that a call to any other destination costs one dict lookup.
The results of calls to cached destinations are counted in the database, once a second or as soon as a call fails.
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

from tickwork.loop import Wake
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
from tickwork.model.event_after_commit import BreakerClosed, BreakerOpened, Publish
from tickwork.model.http_target import HttpTarget, destination_of, target_errors
from tickwork.model.worker import LEASE
from tickwork.model.worker_protocol import Run
from tickwork.store.port.dispatch import BreakerChange, CircuitBreakerStore, Decide

_BATCH_DELAY = 0.05  # seconds: failures of a destination come many at a time
_MOST_RELEASED = 50  # breakers whose held executions are released in one transaction
_OPEN = Gauge("tickwork_breakers_open", "Destinations that are not called because they fail.")
_OPENED = Counter("tickwork_breakers_opened_total", "Circuit breakers opened by this node.")
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")

_RunKey = tuple[int, int, int, int]


class _CachedBreaker(NamedTuple):
    breaker: Breaker
    probe_from: float  # by the monotonic clock: before that the database would refuse a probe


class _Probe(NamedTuple):
    key: BreakerKey
    number: int


class Breakers:
    def __init__(self, store: CircuitBreakerStore, wake: Wake, publish: Publish) -> None:
        self._store = store
        self._wake = wake
        self._publish = publish
        self._cached: dict[BreakerKey, _CachedBreaker] = {}
        self._results: defaultdict[BreakerKey, list[CallResult]] = defaultdict(list)
        self._probes: dict[_RunKey, _Probe] = {}
        self._ended_probes: dict[_Probe, CallResult] = {}
        self._isolation = BadRowIsolation("update breakers")

    # For the HTTP runner

    async def admit(self, run: Run, destination: str) -> str | None:
        """Why this run must wait; None if it may call."""
        cached = self._cached.get(BreakerKey(run.tenant, destination))
        if cached is None or cached.breaker.state is BreakerState.CLOSED:
            return None
        if monotonic() < cached.probe_from:
            return reason_to_wait(cached.breaker)
        return await self._admit_as_probe(run, cached.breaker)

    def report_call(self, run: Run, destination: str, result: CallResult) -> None:
        """Count the result of a run that was admitted."""
        key = BreakerKey(run.tenant, destination)
        if result.verdict is CallVerdict.WORKS and key not in self._cached and not self._probes:
            return
        probe = self._probes.pop(_key_of(run), None)
        if probe:
            self._ended_probes[probe] = result
        elif result.verdict is not CallVerdict.UNKNOWN:
            self._results[key].append(result)
        if probe or result.bad:
            self._wake.update_breakers()

    async def _admit_as_probe(self, run: Run, breaker: Breaker) -> str | None:
        within = timedelta(seconds=run.timeout) + LEASE
        began = monotonic()
        self._cache(start_probe(breaker._replace(now=breaker.probe_at or breaker.now), within), began)
        try:
            changes = await self._store.change({breaker.key: partial(start_probe, within=within)})
        except Unavailable:
            return reason_to_wait(breaker)
        if not changes:
            return None  # the breaker was deleted meanwhile
        before, after = changes[0]
        self._cache(after, began)
        if after.probe != before.probe:
            self._probes[_key_of(run)] = _Probe(after.key, after.probe)
            return None
        return None if after.state is BreakerState.CLOSED else reason_to_wait(after)

    # The loop of every node

    async def update(self) -> bool:
        """Write the results of this node, read those of the others, and release executions that need not wait."""
        if self._results:
            await asyncio.sleep(_BATCH_DELAY)
        await self._end_probes()
        await self._count_results()
        began = monotonic()
        breakers = await self._store.read()
        self._cached.clear()
        for breaker in breakers:
            self._cache(breaker, began)
        _OPEN.set(sum(breaker.state is not BreakerState.CLOSED for breaker in breakers))
        is_due = any(breaker.look_at <= breaker.now for breaker in breakers)
        if is_due and await self._store.release_held(_MOST_RELEASED):
            self._wake.claim()
        return False

    async def _end_probes(self) -> None:
        if self._ended_probes:
            ended = [*self._ended_probes.items()]
            await self._isolation.run_batch(ended, self._write_probes, _give_up)
            for probe, _ in ended:
                del self._ended_probes[probe]

    async def _write_probes(self, ended: Sequence[tuple[_Probe, CallResult]]) -> None:
        self._announce(
            await self._store.change(
                {probe.key: partial(end_probe, probe=probe.number, result=result) for probe, result in ended}
            )
        )

    async def _count_results(self) -> None:
        """At most once: if the write fails, these results are dropped, so that none is counted twice."""
        if self._results:
            tallies = {key: tally_of(results) for key, results in self._results.items()}
            self._results.clear()
            decisions: dict[BreakerKey, Decide] = {
                key: partial(count_calls, tally=tally) for key, tally in tallies.items()
            }
            failed = [key for key, tally in tallies.items() if tally.last_bad]
            self._announce(await self._store.change(decisions, make=failed))

    def _cache(self, breaker: Breaker, asked_at: float) -> None:
        wait = (breaker.probe_at - breaker.now).total_seconds() if breaker.probe_at else 0.0
        self._cached[breaker.key] = _CachedBreaker(breaker, asked_at + wait)

    def _announce(self, changes: builtins.list[BreakerChange]) -> None:
        for before, after in changes:
            details = {"destination": after.key.destination, "tenant": after.key.tenant_id}
            match before.state, after.state:
                case BreakerState.CLOSED, BreakerState.OPEN:
                    _OPENED.inc()
                    _log.warning("circuit breaker opened", reason=reason_to_wait(after), **details)
                    self._publish(BreakerOpened(after.key, reason_to_wait(after)))
                case BreakerState.HALF_OPEN, BreakerState.OPEN:
                    _log.info("circuit breaker stays open", reason=reason_to_wait(after), **details)
                case BreakerState.OPEN | BreakerState.HALF_OPEN, BreakerState.CLOSED:
                    _log.info("circuit breaker closed", **details)
                    self._publish(BreakerClosed(after.key))

    # For users

    async def list(self, tenant_id: int) -> builtins.list[BreakerView]:
        return await self._store.views(tenant_id)

    async def reset(self, tenant_id: int, destination: str) -> BreakerView:
        """Close the breaker: the executions that it holds are released, and its counts start again from zero."""
        key = BreakerKey(tenant_id, _checked(destination))
        changes = await self._store.change({key: close_breaker})
        if not changes:
            raise Conflict(f"there is nothing to reset: {key.destination} has not failed recently")
        self._announce(changes)
        (view,) = await self._store.views(tenant_id, key.destination)
        return view


async def _give_up(_: tuple[_Probe, CallResult], __: Exception) -> None:
    """The probe then counts as lost, and the breaker starts another one."""


def _key_of(run: Run) -> _RunKey:
    return (run.tenant, run.at, run.job, run.attempt)


def _checked(destination: str) -> str:
    for error in target_errors(HttpTarget(url=destination)):
        raise Invalid.field("destination", error.message, "such as https://api.example.com")
    return destination_of(destination)
