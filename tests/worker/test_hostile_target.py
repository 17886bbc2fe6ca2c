"""HTTP targets that misbehave, in their own process: each takes a slot until the deadline at most, takes little memory,
and delays no other job."""

import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import msgspec
import psutil
import pytest

from support.callback_address import callback_of
from support.worker_server import Conversation, claim_of, run_of, working
from tickwork.execute.runners.http.guarded_session import HttpLimits
from tickwork.execute.runners.http.http_runner import HttpRunner
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy
from tickwork.model.execution import RESULT_LIMIT
from tickwork.model.job import HTTP_TASK
from tickwork.model.task import direct_task
from tickwork.model.worker_protocol import Outcome, Revoke, Run

MEBIBYTE = 1024 * 1024
SOON = 1.2  # seconds: longer than a drip takes
NOW = 2e9 - 60


class Target:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("hostile_target.py"))],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        self.port = int(self._process.stdout.readline())

    def run(self, way: str, *, job: int = 1, timeout: float = SOON, scheme: str = "http") -> Run:
        return call(f"{scheme}://127.0.0.1:{self.port}/{way}", job=job, timeout=timeout)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


def call(url: str, *, job: int = 1, timeout: float = SOON) -> Run:
    run = run_of(HTTP_TASK, job=job, timeout=timeout)
    return msgspec.structs.replace(run, target=msgspec.json.encode({"url": url}))


@pytest.fixture
def target() -> Iterator[Target]:
    target = Target()
    yield target
    target.stop()


@pytest.fixture(scope="module")
def other() -> Iterator[Target]:
    other = Target()
    yield other
    other.stop()


@asynccontextmanager
async def http_worker(limits: HttpLimits, slots: int) -> AsyncIterator[Conversation]:
    async def no_secrets(tenant: int) -> list[str]:
        return []

    runner = HttpRunner(
        AddressPolicy.of([], loopback=True), no_secrets, limits, now=lambda: NOW, callback_of=callback_of
    )
    async with working([direct_task(HTTP_TASK, runner)], slots=slots) as bench:
        yield await bench.connected()
    await runner.close()


@contextmanager
def little_memory() -> Iterator[None]:
    """Checks the peak memory, which Linux lets a process reset."""
    Path("/proc/self/clear_refs").write_text("5")
    before = psutil.Process().memory_info().rss
    yield
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak
    assert int(peak[1]) * 1024 - before < 50 * MEBIBYTE


def failure_of(outcome: Outcome) -> tuple[str, str]:
    assert outcome.failure, outcome
    return outcome.failure.type, outcome.failure.message


FAILURES = {
    "silence": ("Timeout", r"did not (end|answer completely) within .*1\.2 s"),
    "silence-in-headers": ("Timeout", r"did not (end|answer completely) within .*1\.2 s"),
    "silence-in-body": ("Timeout", r"did not (end|answer completely) within .*1\.2 s"),
    "drip": ("Timeout", r"did not (end|answer completely) within .*1\.2 s"),
    "hints": ("BadResponse", "more than 20 provisional answers"),
    "chunk": ("Timeout", r"did not (end|answer completely) within .*1\.2 s"),
    "trailers": ("BadResponse|ConnectionLost", "broken HTTP|broke off"),
    "ten-gigabytes": ("ResponseTooLarge", "127.0.0.1 answered with more than 1048576 bytes of body"),
    "headers": ("BadResponse", "127.0.0.1 answered with broken HTTP"),
    "loop": ("Http302", "302 Found .redirects are not followed: give the final URL"),
    "busy": ("Http429", "127.0.0.1 answered 429 Too Many Requests"),
    "reset": ("ConnectionLost", "127.0.0.1 closed the connection before it had answered"),
    "half": ("ConnectionLost", "127.0.0.1 broke off in the middle of its answer"),
    "death": ("ConnectionLost", "127.0.0.1 broke off in the middle of its answer"),
}


@pytest.mark.parametrize("way", FAILURES)
async def test_it_fails_with_a_message_and_its_slot_is_free_at_the_deadline(target, other, way):
    with little_memory():
        async with http_worker(HttpLimits(), slots=1) as server:
            await server.run(target.run(way), other.run("good", job=2))
            bad, good = await server.outcomes(2)
    expected, text = FAILURES[way]
    kind, message = failure_of(bad)
    assert re.fullmatch(expected, kind)
    assert re.search(text, message)
    assert (good.job, good.kind) == (2, "completed")


@pytest.mark.parametrize(("way", "seconds"), [("busy", 120.0), ("busy-until", 60.0)])
async def test_it_is_not_called_again_for_as_long_as_it_asks(target, way, seconds):
    async with http_worker(HttpLimits(), slots=1) as server:
        await server.run(target.run(way))
        outcome = await server.outcome()
    assert outcome.failure.retry_after == seconds


async def test_a_compressed_answer_is_not_decompressed(target):
    with little_memory():
        async with http_worker(HttpLimits(), slots=1) as server:
            await server.run(target.run("bomb", timeout=60.0))
            outcome = await server.outcome()
    assert outcome.kind == "completed"
    assert len(outcome.result) <= RESULT_LIMIT


async def test_a_target_without_tls_is_a_tls_error(target):
    async with http_worker(HttpLimits(), slots=1) as server:
        await server.run(target.run("good", scheme="https"))
        kind, message = failure_of(await server.outcome())
    assert kind == "TlsError"
    assert message.startswith("127.0.0.1 offered no safe connection")


async def test_a_dead_target_cannot_be_connected_to(target):
    target.stop()
    async with http_worker(HttpLimits(), slots=1) as server:
        await server.run(target.run("good"))
        kind, message = failure_of(await server.outcome())
    assert kind == "ConnectError"
    assert message.startswith("127.0.0.1 could not be connected to")


async def test_a_target_that_accepts_no_connection_times_out(other):
    with ExitStack() as sockets:
        listener = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1))
        address = listener.getsockname()
        for _ in range(10):  # until its backlog is full
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        async with http_worker(HttpLimits(connect=0.2), slots=1) as server:
            await server.run(call(f"http://127.0.0.1:{address[1]}/"), other.run("good", job=2))
            bad, good = await server.outcomes(2)
    assert failure_of(bad) == ("ConnectTimeout", "127.0.0.1 did not accept a connection in time")
    assert good.kind == "completed"


async def test_a_request_that_hangs_ends_when_it_is_cancelled(target, other):
    async with http_worker(HttpLimits(connections=1), slots=1) as server:
        hanging = target.run("silence", timeout=300.0)
        await server.run(hanging, other.run("good", job=2, timeout=300.0))
        await server.send(Revoke([claim_of(hanging)], "no longer wanted"))
        cancelled, good = await server.outcomes(2)
    assert (cancelled.kind, cancelled.reason) == ("cancelled", "no longer wanted")
    assert (good.job, good.kind) == (2, "completed")


async def test_jobs_for_other_destinations_do_not_wait_for_requests_that_hang(target, other):
    hanging = ("silence", "silence-in-headers", "silence-in-body", "drip")
    async with http_worker(HttpLimits(), slots=20) as server:
        await server.run(*(target.run(way, job=job, timeout=300.0) for job, way in enumerate(hanging * 2)))
        await server.run(*(other.run("good", job=job, timeout=300.0) for job in range(100, 200)))
        outcomes = await server.outcomes(100)
    assert {outcome.kind for outcome in outcomes} == {"completed"}


async def test_a_destination_that_hangs_gets_its_share_of_the_slots_and_uses_no_attempt(target, other):
    async with http_worker(HttpLimits(connections_per_host=5), slots=10) as server:
        await server.run(*(target.run("silence", job=job, timeout=300.0) for job in range(100)))
        await server.run(*(other.run("good", job=job, timeout=300.0) for job in range(100, 120)))
        outcomes = await server.outcomes(115)
    postponed = [outcome for outcome in outcomes if outcome.job < 100]
    assert len(postponed) == 95
    assert {(outcome.kind, failure_of(outcome)[0]) for outcome in postponed} == {
        ("snoozed", "DestinationBusy")
    }
    assert all(1 <= outcome.snooze <= 2 for outcome in postponed)
    assert failure_of(postponed[0])[1].startswith("5 requests to http://127.0.0.1:")
    assert {outcome.kind for outcome in outcomes if outcome.job >= 100} == {"completed"}


async def test_a_destination_that_is_only_busy_is_waited_for(target):
    async with http_worker(HttpLimits(connections_per_host=3), slots=10) as server:
        await server.run(*(target.run("good", job=job, timeout=300.0) for job in range(100)))
        outcomes = await server.outcomes(100)
    assert {outcome.kind for outcome in outcomes} == {"completed"}


async def test_many_hostile_answers_at_once_take_little_memory(target, other):
    ways = ("ten-gigabytes", "bomb", "headers", "hints", "chunk", "trailers", "silence-in-body", "half")
    with little_memory():
        async with http_worker(HttpLimits(), slots=100) as server:
            await server.run(*(target.run(way, job=job) for job, way in enumerate(ways * 10)))
            await server.run(other.run("good", job=1000))
            outcomes = await server.outcomes(len(ways) * 10 + 1)
    assert {outcome.kind for outcome in outcomes} == {"completed", "failed"}
