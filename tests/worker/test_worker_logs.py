"""The log lines, printed text and progress of tasks, from the task to the server."""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import psutil
import pytest

from support import worker_tasks
from support.worker_server import Bench, Conversation, claim_of, run_of, working
from tickwork import App, Context
from tickwork.execute.log.buffer import LINE_COST, MAX_UNSENT
from tickwork.execute.log.outbox import _COLLECT_BELOW
from tickwork.model.worker_protocol import LogLine, Note, Outcomes, Revoke, Run

Start = Callable[[], Awaitable[Bench]]

TESTS = Path(__file__).parents[1]
LOGGED_LINES = [
    ("info", "sent to='Ada Lovelace'"),
    ("stdout", "printed"),
    ("stderr", "wrong"),
    ("warning", "one of 2"),
]


class LoggingTasks:
    def __init__(self) -> None:
        self.app = App()
        self.go_on = threading.Event()
        self.began = threading.Event()
        self.app.task(name="async")(self._log_async)
        self.app.task(name="thread")(self._log_all)
        self.app.task(name="started")(self._start_others)
        self.app.task(name="silent")(self._log_nothing)
        self.app.task(name="long")(self._log_long)
        self.app.task(name="stubborn")(self._log_after_stop)
        self.app.task(name="failing")(self._fail)
        self.app.task(name="flood")(self._flood)
        self.app.task(name="flood_on")(self._flood_on)
        self.app.task(name="flood_async")(self._flood_async)

    def _log_all(self, ctx: Context) -> None:
        ctx.log.info("sent", to="Ada Lovelace")
        print("printed")  # noqa: T201
        print("wrong", file=sys.stderr)  # noqa: T201
        logging.getLogger("library").warning("%s of %d", "one", 2)
        ctx.progress(0.5, "half way")

    async def _log_async(self, who: str, ctx: Context) -> None:
        self._log_all(ctx)
        await asyncio.sleep(0)
        print("I am", who)  # noqa: T201

    async def _start_others(self, ctx: Context) -> None:
        await asyncio.create_task(self._print("a task of its own"))
        await asyncio.to_thread(print, "a thread of the loop's")
        thread = threading.Thread(target=ctx.log.info, args=("a thread that has the context",))
        thread.start()
        thread.join()

    async def _print(self, text: str) -> None:
        print(text)  # noqa: T201

    async def _log_nothing(self) -> None: ...

    def _log_long(self, ctx: Context) -> None:
        ctx.log.info("first")
        self.go_on.wait(30)
        ctx.log.info("last")

    def _log_after_stop(self, ctx: Context) -> None:
        ctx.log.info("in time")
        self.began.set()
        self.go_on.wait(30)
        ctx.log.info("too late")
        print("too late")  # noqa: T201

    def _fail(self, ctx: Context) -> None:
        ctx.log.info("before")
        raise ValueError("no good")

    def _flood(self, lines: int) -> None:
        for number in range(lines):
            print(f"line {number}")  # noqa: T201

    def _flood_on(self) -> None:
        self.began.set()
        while not self.go_on.is_set():
            print("x" * 1_000)  # noqa: T201

    async def _flood_async(self, lines: int, ctx: Context) -> None:
        for number in range(lines):
            ctx.log.debug("line %d", number)


@pytest.fixture
def tasks():
    tasks = LoggingTasks()
    yield tasks
    tasks.go_on.set()


@pytest.fixture
async def start(tasks) -> AsyncIterator[Start]:
    """Starts a worker in the test itself: pytest replaces the streams after fixtures have run."""
    async with AsyncExitStack() as stack:

        async def start() -> Bench:
            return await stack.enter_async_context(working(tasks.app, servers=2))

        yield start


@pytest.fixture
async def children(monkeypatch) -> AsyncIterator[Bench]:
    monkeypatch.chdir(TESTS)
    async with working(worker_tasks.app, path="support.worker_tasks:app", slots=2) as bench:
        yield bench


def lines_of(notes: list[Note], job: int = 1) -> list[tuple[str, str]]:
    return [(line.level, line.text) for note in notes if note.job == job for line in note.lines]


def progress(notes: list[Note]) -> list[tuple[float, str | None]]:
    return [(note.fraction, note.message) for note in notes if note.fraction is not None]


async def run_to_end(server: Conversation, *runs: Run) -> list[Note]:
    """The notes that arrived before the last outcome."""
    await server.run(*runs)
    await server.outcomes(len(runs))
    return server.noted()


# All kinds of tasks


async def test_the_log_of_a_coroutine_is_sent(start):
    bench = await start()
    server = await bench.connected()
    notes = await run_to_end(server, run_of("async", '{"who": "Ada"}'))
    assert lines_of(notes) == [*LOGGED_LINES, ("stdout", "I am Ada")]
    assert progress(notes) == [(0.5, "half way")]


async def test_the_log_of_a_thread_is_sent(start):
    bench = await start()
    server = await bench.connected()
    notes = await run_to_end(server, run_of("thread"))
    assert lines_of(notes) == LOGGED_LINES
    assert progress(notes) == [(0.5, "half way")]


async def test_the_log_of_a_child_process_is_sent(children):
    server = await children.connected()
    for job in (1, 2):  # the second time in the same child
        notes = await run_to_end(server, run_of("speak", job=job))
        assert lines_of(notes, job) == [*LOGGED_LINES, ("stdout", "from a thread")]
        assert progress(notes) == [(0.5, "half way")]


async def test_a_task_that_logs_nothing_sends_nothing(start):
    bench = await start()
    server = await bench.connected()
    assert await run_to_end(server, *(run_of("silent", job=job) for job in range(100))) == []


async def test_asyncio_tasks_and_threads_of_a_task_log_for_it(start):
    bench = await start()
    server = await bench.connected()
    notes = await run_to_end(server, run_of("started"))
    assert lines_of(notes) == [
        ("stdout", "a task of its own"),
        ("stdout", "a thread of the loop's"),
        ("info", "a thread that has the context"),
    ]


async def test_attempts_do_not_get_lines_of_others(start):
    bench = await start()
    server = await bench.connected()
    runs = [run_of("async", f'{{"who": "{job}"}}', job=job) for job in range(50)]
    notes = await run_to_end(server, *runs, *(run_of("silent", job=job) for job in range(50, 100)))
    for job in range(50):
        assert lines_of(notes, job)[-1] == ("stdout", f"I am {job}")
    assert {note.job for note in notes} == set(range(50))


async def test_a_failed_attempt_has_its_log(start):
    bench = await start()
    server = await bench.connected()
    assert lines_of(await run_to_end(server, run_of("failing"))) == [("info", "before")]


async def test_lines_have_the_time_at_which_they_were_logged(start, children):
    for bench, task in ((await start(), "thread"), (children, "speak")):
        server = await bench.connected()
        await server.run(run_of(task))
        outcome = await server.outcome()
        times = [line.at for note in server.noted() for line in note.lines]
        assert [outcome.started, *times, outcome.finished] == sorted(
            [outcome.started, *times, outcome.finished]
        )


# While they run


async def test_lines_of_a_thread_are_sent_while_it_runs(start, tasks):
    bench = await start()
    server = await bench.connected()
    await server.run(run_of("long"))
    first = await server.next_note()
    assert lines_of([first]) == [("info", "first")]
    tasks.go_on.set()
    last = await server.next_note()
    assert (last.first, lines_of([last])) == (1, [("info", "last")])


async def test_lines_of_a_child_process_are_sent_while_it_runs(children, tmp_path):
    server = await children.connected()
    go_on = tmp_path / "go_on"
    await server.run(run_of("speak_and_wait", f'{{"go_on": "{go_on}"}}'))
    notes = []
    while not lines_of(notes) or not progress(notes):
        notes.append(await server.next_note())
    assert lines_of(notes) == [("stdout", "waiting")]
    assert progress(notes) == [(0.25, "waiting")]
    go_on.touch()
    await server.outcome()
    assert lines_of(server.noted()) == [("stdout", "unfinished")]


async def test_the_last_lines_of_a_child_process_that_dies_are_sent(children, tmp_path):
    server = await children.connected()
    go_on = tmp_path / "go_on"
    await server.run(run_of("speak_and_die", f'{{"go_on": "{go_on}"}}'))
    assert lines_of([await server.next_note()]) == [("stdout", "last words")]
    go_on.touch()
    outcome = await server.outcome()
    assert outcome.failure
    assert outcome.failure.type == "ProcessDied"


async def test_nothing_is_sent_after_the_outcome(start, tasks):
    bench = await start()
    server = await bench.connected()
    run = run_of("stubborn")
    await server.run(run)
    await asyncio.to_thread(tasks.began.wait)
    await server.send(Revoke([claim_of(run)], "enough"))
    await server.outcome()
    assert lines_of(server.noted()) == [("info", "in time")]
    tasks.go_on.set()
    assert lines_of(await run_to_end(server, run_of("thread", job=2)), job=1) == []


# Servers that are lost or acknowledge nothing


async def test_lines_that_are_not_stored_are_sent_to_the_next_server(start, tasks):
    bench = await start()
    first = await bench.connected()
    first.note = False
    await first.run(run_of("long"), run_of("thread", job=2))
    await first.outcomes(1)
    received = first.noted()
    while not lines_of(received, 1):
        received += (await first.notes.get()).items
    await first.drop()
    second = await bench.conversation(1)
    await second.welcome()
    again = []
    while len(again) < len(received):
        again += (await second.notes.get()).items
    assert again == received
    tasks.go_on.set()
    last = await second.next_note()
    assert (last.first, lines_of([last])) == (1, [("info", "last")])


async def test_stored_lines_are_not_sent_again(start, tasks):
    bench = await start()
    first = await bench.connected()
    await first.run(run_of("long"))
    await first.next_note()
    await first.drop()
    second = await bench.conversation(1)
    await second.welcome()
    tasks.go_on.set()
    await second.outcome()
    assert lines_of(second.noted()) == [("info", "last")]


async def test_lines_of_attempts_that_other_workers_have_are_not_sent(start, tasks):
    bench = await start()
    first = await bench.connected()
    first.note = False
    run = run_of("long")
    await first.run(run)
    await first.next_note()
    await first.drop()
    second = await bench.conversation(1)
    await second.welcome(forget=[claim_of(run)])
    tasks.go_on.set()
    assert lines_of(await run_to_end(second, run_of("thread", job=2)), job=1) == []


async def test_lines_come_before_the_outcome_on_the_wire(start):
    bench = await start()
    server = await bench.connected()
    server.note = False
    await server.run(*(run_of("async", '{"who": "x"}', job=job) for job in range(300)))
    received: set[int] = set()
    ended = 0
    while ended < 300:
        outcomes = (await server.expect(Outcomes)).items
        received |= {note.job for note in server.noted()}
        assert {outcome.job for outcome in outcomes} <= received
        ended += len(outcomes)


# Floods


def _numbers(lines: list[LogLine]) -> list[int]:
    return [int(line.text.removeprefix("line ")) for line in lines if line.text.startswith("line ")]


async def _flooded(bench: Bench, task: str, lines: int) -> tuple[list[Note], Conversation]:
    server = await bench.connected()
    await server.run(run_of(task, f'{{"lines": {lines}}}', timeout=600.0))
    notes: list[Note] = []
    outcome = asyncio.create_task(server.outcome())
    while not outcome.done():
        waiting = asyncio.create_task(server.notes.get())
        await asyncio.wait({waiting, outcome}, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            notes += waiting.result().items
        else:
            waiting.cancel()
    return notes + server.noted(), server


def _check_flood(notes: list[Note], server: Conversation, lines: int) -> None:
    numbers = [number for note in notes for number in _numbers(note.lines)]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == lines - 1
    left_out = [line.text for note in notes for line in note.lines if line.text.startswith("… ")]
    dropped = sum(int(text.split()[1].replace(",", "")) for text in left_out)
    assert len(numbers) + dropped == lines
    assert max(server.sizes) < 2 * MAX_UNSENT


@pytest.fixture
def nowhere(monkeypatch) -> Iterator[Callable[[], None]]:
    """Redirects stdout to nowhere. Call it in the test: pytest replaces the streams after fixtures have run."""
    with Path(os.devnull).open("w") as void:
        yield lambda: monkeypatch.setattr(sys, "stdout", void)
        monkeypatch.undo()


@pytest.mark.timeout(180)
async def test_a_flood_from_a_thread_is_bounded_in_memory_and_messages(start, nowhere):
    nowhere()
    bench = await start()
    before = psutil.Process().memory_info().rss
    notes, server = await _flooded(bench, "flood", 1_000_000)
    _check_flood(notes, server, 1_000_000)
    received = sum(len(line.text) for note in notes for line in note.lines)
    grown = psutil.Process().memory_info().rss - before
    assert grown < 32 * 1024 * 1024 + 10 * received  # the test keeps what it received


@pytest.mark.timeout(180)
async def test_a_flood_from_a_child_process_is_bounded(children, capfd):
    notes, server = await _flooded(children, "flood", 100_000)
    _check_flood(notes, server, 100_000)


async def test_a_flood_that_blocks_the_loop_is_bounded(start):
    bench = await start()
    notes, server = await _flooded(bench, "flood_async", 20_000)
    _check_flood(notes, server, 20_000)
    assert sum(len(line.text) for note in notes for line in note.lines) < MAX_UNSENT


async def test_other_tasks_run_and_log_while_one_floods(start, tasks, nowhere):
    nowhere()
    bench = await start()
    server = await bench.connected()
    await server.run(run_of("flood_on"))
    await asyncio.to_thread(tasks.began.wait)
    notes: list[Note] = []
    for job in range(2, 22):
        notes += await run_to_end(server, run_of("thread", job=job))
        assert lines_of(notes, job) == LOGGED_LINES
    tasks.go_on.set()
    assert (await server.outcome()).job == 1


async def test_a_server_that_never_stores_is_sent_less(start, tasks, nowhere):
    nowhere()
    bench = await start()
    server = await bench.connected()
    server.note = False
    await server.run(run_of("flood_on"))
    sent = 0
    while sent < _COLLECT_BELOW:
        note = await server.next_note()
        sent += sum(len(line.text) + LINE_COST for line in note.lines)
    tasks.go_on.set()
    await server.outcome()
    rest = sum(len(line.text) + LINE_COST for note in server.noted() for line in note.lines)
    assert rest < 2 * MAX_UNSENT
