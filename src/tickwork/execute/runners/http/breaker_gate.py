"""Calls a destination only while its circuit breaker lets it, and tells how the call went."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from time import monotonic

from tickwork.execute.attempt_ending import AttemptFailed, AttemptHeld
from tickwork.execute.runners.http.request import read_call
from tickwork.model.destination import NOTHING, WORKS, Heard, Sign, destination_of, heard_from
from tickwork.model.worker_protocol import Run

Admit = Callable[[Run, str], Awaitable[str | None]]  # why it must wait, if it must
Told = Callable[[Run, str, Heard], None]

_NEARLY = 0.9  # of the timeout: what is stopped after that was stopped because of it


class GatedRunner:
    def __init__(self, runner: Callable[[Run], Awaitable[bytes]], admit: Admit, told: Told) -> None:
        self._run = runner
        self._admit = admit
        self._told = told

    async def __call__(self, run: Run) -> bytes:
        began = monotonic()
        destination = _destination(run.target or b"")
        reason = await self._admit(run, destination)
        if reason:
            raise AttemptHeld(reason)
        heard = NOTHING
        try:
            result = await self._run(run)
            heard = WORKS
        except AttemptFailed as error:
            heard = heard_from(error.failure)
            raise
        except asyncio.CancelledError:
            if monotonic() - began > run.timeout * _NEARLY:
                heard = Heard(Sign.FAILS, f"Timeout: no complete answer within {run.timeout:g} s")
            raise
        finally:
            self._told(run, destination, heard)
        return result


@lru_cache(maxsize=1024)
def _destination(target: bytes) -> str:
    return destination_of(str(read_call(target).url))
