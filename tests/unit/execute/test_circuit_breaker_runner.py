"""The circuit breaker around HTTP calls: which calls it allows, and what it reports about them."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from tickwork.execute.attempt_ending import AttemptFailed, AttemptHeld, AttemptPostponed
from tickwork.execute.runners.http.circuit_breaker_runner import CircuitBreakerRunner
from tickwork.model.circuit_breaker import CallResult, CallVerdict
from tickwork.model.http_target import HttpTarget
from tickwork.model.worker_protocol import Failure, Run

TARGET = msgspec.json.encode(HttpTarget(url="https://API.example.com:443/hook"))


def run_of(timeout: float = 60.0) -> Run:
    return Run(1, 0, 1, 1, "http", b"{}", timeout, 0, TARGET)


class RecordingRunner:
    """A runner with a circuit breaker that records its reports."""

    def __init__(self, call: Callable[[Run], Awaitable[bytes]], reason: str | None = None) -> None:
        self.reports: list[tuple[str, CallResult]] = []
        self._reason = reason
        self.run = CircuitBreakerRunner(call, self._admit, self._report)

    async def _admit(self, _run: Run, _destination: str) -> str | None:
        return self._reason

    def _report(self, _run: Run, destination: str, result: CallResult) -> None:
        self.reports.append((destination, result))

    @property
    def verdict(self) -> CallVerdict:
        ((destination, result),) = self.reports
        assert destination == "https://api.example.com"
        return result.verdict


def fails(error: Exception) -> Callable[[Run], Awaitable[bytes]]:
    async def call(_run: Run) -> bytes:
        raise error

    return call


async def answers(_run: Run) -> bytes:
    return b"{}"


async def hangs(_run: Run) -> bytes:
    await asyncio.Event().wait()
    return b""


async def test_an_answer_is_returned_and_reported_as_a_success() -> None:
    runner = RecordingRunner(answers)
    assert await runner.run(run_of()) == b"{}"
    assert runner.verdict is CallVerdict.WORKS


async def test_an_open_circuit_breaker_prevents_the_call_and_nothing_is_reported() -> None:
    runner = RecordingRunner(fails(AssertionError("called")), reason="circuit breaker open")
    with pytest.raises(AttemptHeld, match="circuit breaker open"):
        await runner.run(run_of())
    assert runner.reports == []


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (AttemptFailed(Failure("Http503", "down")), CallVerdict.FAILS),
        (AttemptFailed(Failure("Http404", "no such page")), CallVerdict.WORKS),
        (AttemptPostponed(1.0, Failure("DestinationBusy", "full")), CallVerdict.UNKNOWN),
        (RuntimeError("ours"), CallVerdict.UNKNOWN),
    ],
)
async def test_a_failure_is_reported_and_raised_unchanged(error: Exception, verdict: CallVerdict) -> None:
    runner = RecordingRunner(fails(error))
    with pytest.raises(type(error)):
        await runner.run(run_of())
    assert runner.verdict is verdict


@pytest.mark.parametrize(("seconds", "verdict"), [(60.0, CallVerdict.UNKNOWN), (0.0, CallVerdict.FAILS)])
async def test_a_cancelled_call_counts_against_the_destination_only_after_its_timeout(
    seconds: float, verdict: CallVerdict
) -> None:
    runner = RecordingRunner(hangs)
    running = asyncio.create_task(runner.run(run_of(seconds)))
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    assert runner.verdict is verdict
