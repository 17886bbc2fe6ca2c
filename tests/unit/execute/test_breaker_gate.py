"""The gate before each HTTP call: who may pass, and what it tells of how the call went."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from tickwork.execute.attempt_ending import AttemptFailed, AttemptHeld, AttemptPostponed
from tickwork.execute.runners.http.breaker_gate import BreakerGate
from tickwork.model.destination import CallResult, CallVerdict
from tickwork.model.job import HttpTarget
from tickwork.model.worker_protocol import Failure, Run

TARGET = msgspec.json.encode(HttpTarget(url="https://API.example.com:443/hook"))


def run_of(timeout: float = 60.0) -> Run:
    return Run(1, 0, 1, 1, "http", b"{}", timeout, 0, TARGET)


class Gate:
    """A gated runner that writes down what it tells."""

    def __init__(self, call: Callable[[Run], Awaitable[bytes]], reason: str | None = None) -> None:
        self.told: list[tuple[str, CallResult]] = []
        self._reason = reason
        self.run = BreakerGate(call, self._admit, lambda _, *heard: self.told.append(heard))

    async def _admit(self, _run: Run, _destination: str) -> str | None:
        return self._reason

    @property
    def verdict(self) -> CallVerdict:
        ((destination, heard),) = self.told
        assert destination == "https://api.example.com"
        return heard.verdict


def fails(error: Exception) -> Callable[[Run], Awaitable[bytes]]:
    async def call(_run: Run) -> bytes:
        raise error

    return call


async def answers(_run: Run) -> bytes:
    return b"{}"


async def hangs(_run: Run) -> bytes:
    await asyncio.Event().wait()
    return b""


async def test_an_answer_passes_and_is_told_as_a_success() -> None:
    gate = Gate(answers)
    assert await gate.run(run_of()) == b"{}"
    assert gate.verdict is CallVerdict.WORKS


async def test_what_must_wait_is_not_called_and_nothing_is_told() -> None:
    gate = Gate(fails(AssertionError("called")), reason="circuit breaker open")
    with pytest.raises(AttemptHeld, match="circuit breaker open"):
        await gate.run(run_of())
    assert gate.told == []


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (AttemptFailed(Failure("Http503", "down")), CallVerdict.FAILS),
        (AttemptFailed(Failure("Http404", "no such page")), CallVerdict.WORKS),
        (AttemptPostponed(1.0, Failure("DestinationBusy", "full")), CallVerdict.UNKNOWN),
        (RuntimeError("ours"), CallVerdict.UNKNOWN),
    ],
)
async def test_a_failure_passes_as_it_is(error: Exception, verdict: CallVerdict) -> None:
    gate = Gate(fails(error))
    with pytest.raises(type(error)):
        await gate.run(run_of())
    assert gate.verdict is verdict


@pytest.mark.parametrize(("seconds", "verdict"), [(60.0, CallVerdict.UNKNOWN), (0.0, CallVerdict.FAILS)])
async def test_being_stopped_speaks_against_the_destination_only_when_its_time_was_up(
    seconds: float, verdict: CallVerdict
) -> None:
    gate = Gate(hangs)
    running = asyncio.create_task(gate.run(run_of(seconds)))
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    assert gate.verdict is verdict
