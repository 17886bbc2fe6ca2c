"""Coroutines, threads and child processes: how they stop, and what happens if they do not."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from support import worker_tasks
from support.waiting import eventually
from support.worker_server import Bench, claim_of, run_of, working
from tickwork import App, Context
from tickwork.client.worker_websocket import WebSocketLink
from tickwork.execute import blocked_loop as watch_module
from tickwork.execute import run_in_slots as slot_module
from tickwork.execute import worker as worker_module
from tickwork.execute.worker import Worker
from tickwork.log_setup import configure_logs
from tickwork.model.checkpoint import StoredCheckpoint
from tickwork.model.errors import Invalid
from tickwork.model.worker_protocol import Outcome, Recall, Recalled, Revoke

TESTS = Path(__file__).parents[1]


@pytest.fixture
def short_grace(monkeypatch):
    monkeypatch.setattr(slot_module, "_GRACE", 0.02)


@pytest.fixture
async def children(monkeypatch) -> AsyncIterator[Bench]:
    monkeypatch.chdir(TESTS)
    async with working(worker_tasks.app, path="support.worker_tasks:app", slots=2) as bench:
        yield bench


def failure_of(outcome: Outcome) -> tuple[str, str | None]:
    return outcome.kind, outcome.failure.type if outcome.failure else None


def _wait_for_end(processes: list[psutil.Process]) -> None:
    """A zombie counts as ended: init reaps it, which may take a while."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            while process.status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.001)


# Coroutines


def coroutines() -> tuple[App, asyncio.Event]:
    app = App()
    began = asyncio.Event()

    @app.task(name="forever")
    async def forever() -> None:
        began.set()
        await asyncio.Event().wait()

    @app.task(name="stubborn")
    async def stubborn(*, ctx: Context) -> None:
        release = asyncio.Event()
        app.release = release.set  # type: ignore[attr-defined]
        began.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                assert ctx.cancelled

    @app.task(name="polite")
    async def polite() -> str:  # type: ignore[return]
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "as if nothing had happened"

    @app.task(name="quick")
    async def quick() -> None:
        await asyncio.sleep(0)

    return app, began


@pytest.mark.parametrize("task", ["forever", "polite"])
async def test_a_coroutine_is_cancelled_after_its_timeout(task):
    app, _ = coroutines()
    async with working(app, slots=1) as bench:
        server = await bench.connected()
        await server.run(run_of(task, timeout=0.01), run_of("quick", job=2))
        late, next_one = await server.outcomes(2)
    assert failure_of(late) == ("failed", "Timeout")
    assert next_one.kind == "completed"


async def test_a_running_coroutine_that_is_revoked_is_cancelled():
    app, began = coroutines()
    async with working(app) as bench:
        server = await bench.connected()
        run = run_of("forever")
        await server.run(run)
        await began.wait()
        await server.send(Revoke([claim_of(run)], "the job was deleted"))
        outcome = await server.outcome()
    assert (outcome.kind, outcome.reason) == ("cancelled", "the job was deleted")


async def test_a_coroutine_that_does_not_stop_is_reported_and_keeps_its_slot(short_grace):
    app, began = coroutines()
    async with working(app, slots=1) as bench:
        server = await bench.connected()
        await server.run(run_of("stubborn", timeout=0.01), run_of("quick", job=2))
        await began.wait()
        assert failure_of(await server.outcome()) == ("failed", "Timeout")
        app.release()  # type: ignore[attr-defined]
        outcome = await server.outcome()
    assert (outcome.job, outcome.kind) == (2, "completed")


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, BaseException])
async def test_whatever_a_coroutine_raises_is_only_the_end_of_its_attempt(error):
    app = App()

    @app.task(name="raise")
    async def raise_it(*, wait: bool) -> None:
        if wait:
            await asyncio.sleep(0)
        raise error("enough")

    async with working(app, slots=1) as bench:
        server = await bench.connected()
        for job, wait in enumerate(("true", "false")):
            await server.run(run_of("raise", f'{{"wait": {wait}}}', job=job))
            assert failure_of(await server.outcome()) == ("failed", error.__name__)


async def test_a_coroutine_that_blocks_the_event_loop_is_logged_while_it_does(monkeypatch):
    blocked = threading.Event()
    monkeypatch.setattr(watch_module, "_INTERVAL", 0.01)
    monkeypatch.setattr(
        watch_module, "_log", SimpleNamespace(warning=lambda *_, where: logged.append(where) or blocked.set())
    )
    logged: list[str] = []
    app = App()

    @app.task(name="block")
    async def block_the_loop() -> None:
        blocked.wait(30)

    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of("block"))
        assert (await server.outcome()).kind == "completed"
    assert "block_the_loop" in logged[0]


# Threads


class Threads:
    def __init__(self) -> None:
        self.began = threading.Event()
        self.release = threading.Event()
        self.app = App()
        self.app.task(name="deaf")(self._deaf)
        self.app.task(name="listening")(self._listen)
        self.app.task(name="quick")(self._quick)

    def _deaf(self) -> str:
        self.began.set()
        self.release.wait(10)
        return "at last"

    def _listen(self, ctx: Context) -> None:
        self.began.set()
        while not ctx.cancelled:
            self.release.wait(0.001)

    def _quick(self) -> str:
        return threading.current_thread().name


async def test_a_thread_that_does_not_stop_is_reported_and_keeps_its_slot(short_grace):
    threads = Threads()
    async with working(threads.app, slots=1) as bench:
        server = await bench.connected()
        await server.run(run_of("deaf", timeout=0.01), run_of("quick", job=2))
        outcome = await server.outcome()
        assert failure_of(outcome) == ("failed", "Timeout")
        assert outcome.failure.message.endswith("its code was told to stop but still runs in the worker")
        assert bench.worker._attempts.credit() == 0
        assert bench.worker.needs_restart.is_set()
        threads.release.set()
        outcome = await server.outcome()
    assert (outcome.job, outcome.kind) == (2, "completed")


async def test_a_thread_that_checks_its_context_stops_when_revoked():
    threads = Threads()
    async with working(threads.app) as bench:
        server = await bench.connected()
        run = run_of("listening")
        await server.run(run)
        await asyncio.to_thread(threads.began.wait)
        await server.send(Revoke([claim_of(run)], "stop it"))
        outcome = await server.outcome()
    assert (outcome.kind, outcome.reason) == ("cancelled", "stop it")


async def test_a_thread_that_does_not_stop_when_revoked_is_reported_as_cancelled(short_grace):
    threads = Threads()
    async with working(threads.app, slots=5) as bench:
        server = await bench.connected()
        run = run_of("deaf")
        await server.run(run)
        await asyncio.to_thread(threads.began.wait)
        await server.send(Revoke([claim_of(run)], "stop it"))
        outcome = await server.outcome()
        assert outcome.kind == "cancelled"
        assert outcome.reason == "stop it; its code was told to stop but still runs in the worker"
        assert bench.worker._attempts.credit() == 4
        assert not bench.worker.needs_restart.is_set()  # one slot in five
        threads.release.set()


async def test_code_that_does_not_stop_for_minutes_makes_the_worker_need_a_restart(short_grace, monkeypatch):
    monkeypatch.setattr(slot_module, "_STUCK_TOO_LONG", 0.01)
    threads = Threads()
    async with working(threads.app, slots=100) as bench:
        server = await bench.connected()
        await server.run(run_of("deaf", timeout=0.01))
        await server.outcome()
        await bench.worker.needs_restart.wait()
        threads.release.set()


async def test_sys_exit_in_a_thread_is_only_the_end_of_its_attempt():
    app = App()

    @app.task(name="leave")
    def leave() -> None:
        sys.exit(3)

    async with working(app) as bench:
        server = await bench.connected()
        await server.run(run_of("leave"))
        assert failure_of(await server.outcome()) == ("failed", "SystemExit")


async def test_threads_are_reused():
    threads = Threads()
    async with working(threads.app, slots=50) as bench:
        server = await bench.connected()
        names = set()
        for job in range(20):
            await server.run(run_of("quick", job=job))
            names.add((await server.outcome()).result)
    assert len(names) == 1


async def test_a_thread_that_never_ends_does_not_delay_the_stop(short_grace):
    threads = Threads()
    async with working(threads.app) as bench:
        server = await bench.connected()
        await server.run(run_of("deaf"))
        await asyncio.to_thread(threads.began.wait)
        bench.worker.stop_now()
        await bench.running
    threads.release.set()


# Child processes


async def test_a_child_process_runs_one_attempt_after_the_other(children):
    server = await children.connected()
    pids = []
    for job in range(3):
        await server.run(run_of("where", job=job))
        pids.append(int((await server.outcome()).result or b"0"))
    assert len(set(pids)) == 1
    assert pids[0] != os.getpid()


async def test_a_child_process_gets_arguments_and_context(children):
    server = await children.connected()
    run = run_of("describe", '{"words": ["hello", "child"]}', job=7, attempt=2)
    await server.run(run)
    await server.expect(Recall)
    await server.send(Recalled(claim_of(run), StoredCheckpoint(None, {})))
    outcome = await server.outcome()
    assert outcome.result is not None
    assert outcome.result.startswith(b'"hello child e7-')
    assert outcome.result.endswith(b' 2"')


@pytest.mark.parametrize(
    ("how", "kind", "failure"),
    [
        ("snooze", "snoozed", None),
        ("no retry", "failed", "tickwork.NoRetry"),
        ("exit", "failed", "SystemExit"),
        ("other", "failed", "ValueError"),
    ],
)
async def test_the_exception_of_a_task_in_a_child_is_reported(children, how, kind, failure):
    server = await children.connected()
    await server.run(run_of("fail", f'{{"how": "{how}"}}'))
    assert failure_of(await server.outcome()) == (kind, failure)


async def test_a_wrong_payload_and_a_large_result_fail_in_a_child_too(children):
    server = await children.connected()
    await server.run(run_of("describe", '{"words": 1}'))
    assert failure_of(await server.outcome()) == ("failed", "BadPayload")
    await server.run(run_of("enormous", job=2))
    assert failure_of(await server.outcome()) == ("failed", "ResultTooLarge")


async def test_an_invalid_result_and_a_long_error_of_a_child_are_reported(children):
    server = await children.connected()
    await server.run(run_of("unwritable"))
    unwritable = await server.outcome()
    assert failure_of(unwritable) == ("failed", "BadResult")
    assert "cannot be written as JSON" in unwritable.failure.message
    await server.run(run_of("poison", '{"how": "wordy"}', job=2))
    wordy = await server.outcome()
    assert len(wordy.failure.message) <= 4000
    assert len(wordy.failure.traceback) <= 16_000


async def test_a_child_logs_as_its_worker_does(children):
    configure_logs("json", "warning")
    server = await children.connected()
    await server.run(run_of("log_level"))
    assert (await server.outcome()).result == b'"WARNING"'


async def test_running_out_of_memory_is_an_ordinary_failure(children):
    server = await children.connected()
    await server.run(run_of("poison", '{"how": "memory"}'))
    assert failure_of(await server.outcome()) == ("failed", "MemoryError")


async def test_a_busy_child_delays_nothing_else(children, monkeypatch):
    monkeypatch.setattr(worker_module, "_BEAT", 0.01)
    server = await children.connected()
    await server.run(run_of("spin", timeout=300.0))
    await server.run(run_of("where", job=2))
    assert (await server.outcome()).kind == "completed"
    while not server.beats.empty():
        server.beats.get_nowait()
    await server.beats.get()  # and its lease is renewed
    await server.send(Revoke([claim_of(run_of("spin"))], "stop it"))
    assert (await server.outcome()).kind == "cancelled"


@pytest.mark.parametrize("task", ["considerate", "considerate_too"])
async def test_a_task_in_a_child_is_asked_to_stop_before_it_is_killed(children, tmp_path, task):
    server = await children.connected()
    began, ended = tmp_path / "began", tmp_path / "ended"
    run = run_of(task, f'{{"began": "{began}", "ended": "{ended}"}}')
    await server.run(run)
    await eventually(began.exists, within=30, what="its beginning")
    await server.send(Revoke([claim_of(run)], "stop it"))
    outcome = await server.outcome()
    assert (outcome.kind, outcome.reason) == ("cancelled", "stop it")
    assert ended.exists()


@pytest.mark.parametrize(
    ("task", "how", "message"),
    [
        ("fail", "die", "exit code 5"),
        ("fail", "kill", "signal 9"),
        ("poison", "segfault", "signal 11"),
        ("poison", "bombs", "exit code 6"),
        ("poison", "unseen", "exit code 7"),
    ],
)
async def test_a_child_that_dies_fails_its_attempt_and_is_replaced(children, task, how, message):
    server = await children.connected()
    await server.run(run_of(task, f'{{"how": "{how}"}}'))
    outcome = await server.outcome()
    assert failure_of(outcome) == ("failed", "ProcessDied")
    assert outcome.failure
    assert message in outcome.failure.message
    await server.run(run_of("where", job=2))
    assert (await server.outcome()).kind == "completed"


async def test_an_idle_child_that_died_is_not_reused(children):
    server = await children.connected()
    await server.run(run_of("where"))
    await server.outcome()
    (idle,) = children.worker._runners._processes._idle
    idle._process.kill()
    await asyncio.wait({idle._exited})
    await server.run(run_of("where", job=2))
    assert (await server.outcome()).kind == "completed"


async def test_a_child_is_killed_after_its_timeout(children):
    server = await children.connected()
    await server.run(run_of("hang_briefly", timeout=0.05))
    assert failure_of(await server.outcome()) == ("failed", "Timeout")
    await server.run(run_of("where", job=2))
    assert (await server.outcome()).kind == "completed"


async def test_a_revoked_child_is_killed_with_its_own_children(children, tmp_path):
    server = await children.connected()
    began = tmp_path / "began"
    os.mkfifo(began)
    run = run_of("hang", f'{{"began": "{began}"}}')
    await server.run(run)
    pids = [int(pid) for pid in (await asyncio.to_thread(began.read_text)).split()]
    processes = [psutil.Process(pid) for pid in pids]
    await server.send(Revoke([claim_of(run)], "stop it"))
    outcome = await server.outcome()
    assert (outcome.kind, outcome.reason) == ("cancelled", "stop it")
    await asyncio.to_thread(_wait_for_end, processes)


async def test_children_exit_with_the_worker(monkeypatch):
    monkeypatch.chdir(TESTS)
    async with working(worker_tasks.app, path="support.worker_tasks:app") as bench:
        server = await bench.connected()
        await server.run(run_of("where"))
        child = psutil.Process(int((await server.outcome()).result or b"0"))
    assert not child.is_running()


def test_tasks_in_child_processes_need_to_know_where_to_import_them_from():
    with pytest.raises(Invalid, match="where to import"):
        Worker(WebSocketLink(["http://127.0.0.1"], "key"), worker_tasks.app.definitions.values())
