"""Calls a destination only if its circuit breaker allows it, and reports the result of the call to the breaker."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from time import monotonic
from typing import TypeVar

from tickwork.execute.attempt_ending import AttemptAccepted, AttemptFailed, AttemptHeld
from tickwork.execute.runners.http.build_request import read_call
from tickwork.model.circuit_breaker import UNKNOWN, WORKS, CallResult, CallVerdict, call_result_from
from tickwork.model.http_target import destination_of
from tickwork.model.worker_protocol import Run

Admit = Callable[[Run, str], Awaitable[str | None]]  # the reason to hold the attempt, or None
Report = Callable[[Run, str, CallResult], None]

Answer = TypeVar("Answer")
_TIMEOUT_SHARE = 0.9  # a call that is cancelled after this share of its timeout counts as timed out


class CircuitBreakerRunner:
    def __init__(self, runner: Callable[[Run], Awaitable[bytes]], admit: Admit, report: Report) -> None:
        self._run = runner
        self._admit = admit
        self._report = report

    async def __call__(self, run: Run) -> bytes:
        destination = _destination(run.target or b"")
        reason = await self._admit(run, destination)
        if reason:
            raise AttemptHeld(reason)
        return await reported_call(self._run, run, destination, self._report)


async def reported_call(
    call: Callable[[Run], Awaitable[Answer]], run: Run, destination: str, report: Report
) -> Answer:
    """Call, and report the result to the breaker that admitted the call."""
    started = monotonic()
    result = UNKNOWN
    try:
        answer = await call(run)
        result = WORKS
    except AttemptAccepted:
        result = WORKS
        raise
    except AttemptFailed as error:
        result = call_result_from(error.failure)
        raise
    except asyncio.CancelledError:
        if monotonic() - started > run.timeout * _TIMEOUT_SHARE:
            result = CallResult(CallVerdict.FAILS, f"Timeout: no complete answer within {run.timeout:g} s")
        raise
    finally:
        report(run, destination, result)
    return answer


@lru_cache(maxsize=1024)
def _destination(target: bytes) -> str:
    return destination_of(str(read_call(target).url))
