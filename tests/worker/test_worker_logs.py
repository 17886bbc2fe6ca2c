"""What tasks log, print and tell of their progress, on its way to the server."""

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
SPOKEN = [
    ("info", "sent to='Ada Lovelace'"),
    ("stdout", "printed"),
    ("stderr", "wrong"),
    ("warning", "one of 2"),
]


class Speech:
    def __init__(self) -> None:
        self.app = App()
        self.go_on = threading.Event()
        self.began = threading.Event()
        self.app.task(name="async")(self._speak_async)
        self.app.task(name="thread")(self._speak)
        self.app.task(name="started")(self._start_others)
        self.app.task(name="silent")(self._be_silent)
        self.app.task(name="long")(self._speak_long)
        self.app.task(name="stubborn")(self._go_on_speaking)
        self.app.task(name="failing")(self._fail)
        self.app.task(name="flood")(self._flood)
        self.app.task(name="flood_on")(self._flood_on)
        self.app.task(name="flood_async")(self._flood_async)

    def _speak(self, ctx: Context) -> None:
        ctx.log.info("sent", to="Ada Lovelace")
        print("printed")  # noqa: T201
        print("wrong", file=sys.stderr)  # noqa: T201
        logging.getLogger("library").warning("%s of %d", "one", 2)
        ctx.progress(0.5, "half way")

    async def _speak_async(self, who: str, ctx: Context) -> None:
        self._speak(ctx)
        await asyncio.sleep(0)
        print("I am", who)  # noqa: T201

    async def _start_others(self, ctx: Context) -> None:
        await asyncio.create_task(self._say("a task of its own"))
        await asyncio.to_thread(print, "a thread of the loop's")
        thread = threading.Thread(target=ctx.log.info, args=("a thread that has the context",))
        thread.start()
        thread.join()

    async def _say(self, text: str) -> None:
        print(text)  # noqa: T201

    async def _be_silent(self) -> None: ...

    def _speak_long(self, ctx: Context) -> None:
        ctx.log.info("first")
        self.go_on.wait(30)
        ctx.log.info("last")

    def _go_on_speaking(self, ctx: Context) -> None:
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
def speech():
    speech = Speech()
    yield speech
    speech.go_on.set()


@pytest.fixture
async def start(speech) -> AsyncIterator[Start]:
    """Starts a worker in the test itself: pytest replaces the streams after fixtures have run."""
    async with AsyncExitStack() as stack:

        async def start() -> Bench:
            return await stack.enter_async_context(working(speech.app, servers=2))

        yield start


@pytest.fixture
async def children(monkeypatch) -> AsyncIterator[Bench]:
    monkeypatch.chdir(TESTS)
    async with working(worker_tasks.app, path="support.worker_tasks:app", slots=2) as bench:
        yield bench


def said(notes: list[Note], job: int = 1) -> list[tuple[str, str]]:
    return [(line.level, line.text) for note in notes if note.job == job for line in note.lines]


def progress(notes: list[Note]) -> list[tuple[float, str | None]]:
    return [(note.fraction, note.message) for note in notes if note.fraction is not None]


async def run_to_end(server: Conversation, *runs: Run) -> list[Note]:
    """What was said by the time that the last outcome came."""
    await server.run(*runs)
    await server.outcomes(len(runs))
    return server.noted()


# All kinds of tasks


async def test_a_coroutine_is_heard(start):
    bench = await start()
    server = await bench.connected()
    notes = await run_to_end(server, run_of("async", '{"who": "Ada"}'))
    assert said(notes) == [*SPOKEN, ("stdout", "I am Ada")]
    assert progress(notes) == [(0.5, "half way")]


async def test_a_thread_is_heard(start):
    bench = await start()
    server = await bench.connected()
    notes = await run_to_end(server, run_of("thread"))
    assert said(notes) == SPOKEN
    assert progress(notes) == [(0.5, "half way")]


async def test_a_child_process_is_heard(children):
    server = await children.connected()
    for job in (1, 2):  # the second time in the same child
        notes = await run_to_end(server, run_of("speak", job=job))
        assert said(notes, job) == [*SPOKEN, ("stdout", "from a thread")]
        assert progress(notes) == [(0.5, "half way")]


async def test_a_task_that_says_nothing_sends_nothing(start):
    bench = await start()
    server = await bench.connected()
    assert await run_to_end(server, *(run_of("silent", job=job) for job in range(100))) == []


async def test_what_a_task_starts_speaks_for_it(start):
    bench = await start()
    server = await bench.connected()
    notes = await run_to_end(server, run_of("started"))
    assert said(notes) == [
        ("stdout", "a task of its own"),
        ("stdout", "a thread of the loop's"),
        ("info", "a thread that has the context"),
    ]


async def test_attempts_do_not_speak_for_one_another(start):
    bench = await start()
    server = await bench.connected()
    runs = [run_of("async", f'{{"who": "{job}"}}', job=job) for job in range(50)]
    notes = await run_to_end(server, *runs, *(run_of("silent", job=job) for job in range(50, 100)))
    for job in range(50):
        assert said(notes, job)[-1] == ("stdout", f"I am {job}")
    assert {note.job for note in notes} == set(range(50))


async def test_a_failed_attempt_has_its_log(start):
    bench = await start()
    server = await bench.connected()
    assert said(await run_to_end(server, run_of("failing"))) == [("info", "before")]


async def test_lines_have_the_time_at_which_they_were_said(start, children):
    for bench, task in ((await start(), "thread"), (children, "speak")):
        server = await bench.connected()
        await server.run(run_of(task))
        outcome = await server.outcome()
        times = [line.at for note in server.noted() for line in note.lines]
        assert [outcome.started, *times, outcome.finished] == sorted(
            [outcome.started, *times, outcome.finished]
        )


# While they run


async def test_is_told_while_a_thread_runs(start, speech):
    bench = await start()
    server = await bench.connected()
    await server.run(run_of("long"))
    first = await server.next_note()
    assert said([first]) == [("info", "first")]
    speech.go_on.set()
    last = await server.next_note()
    assert (last.first, said([last])) == (1, [("info", "last")])


async def test_is_told_while_a_child_process_runs(children, tmp_path):
    server = await children.connected()
    go_on = tmp_path / "go_on"
    await server.run(run_of("speak_and_wait", f'{{"go_on": "{go_on}"}}'))
    notes = []
    while not said(notes) or not progress(notes):
        notes.append(await server.next_note())
    assert said(notes) == [("stdout", "waiting")]
    assert progress(notes) == [(0.25, "waiting")]
    go_on.touch()
    await server.outcome()
    assert said(server.noted()) == [("stdout", "unfinished")]


async def test_the_last_words_of_a_child_process_that_dies_are_heard(children, tmp_path):
    server = await children.connected()
    go_on = tmp_path / "go_on"
    await server.run(run_of("speak_and_die", f'{{"go_on": "{go_on}"}}'))
    assert said([await server.next_note()]) == [("stdout", "last words")]
    go_on.touch()
    outcome = await server.outcome()
    assert outcome.failure
    assert outcome.failure.type == "ProcessDied"


async def test_nothing_is_heard_after_the_outcome(start, speech):
    bench = await start()
    server = await bench.connected()
    run = run_of("stubborn")
    await server.run(run)
    await asyncio.to_thread(speech.began.wait)
    await server.send(Revoke([claim_of(run)], "enough"))
    await server.outcome()
    assert said(server.noted()) == [("info", "in time")]
    speech.go_on.set()
    assert said(await run_to_end(server, run_of("thread", job=2)), job=1) == []


# Servers that are lost or say nothing


async def test_what_is_not_stored_is_told_to_the_next_server(start, speech):
    bench = await start()
    first = await bench.connected()
    first.note = False
    await first.run(run_of("long"), run_of("thread", job=2))
    await first.outcomes(1)
    heard = first.noted()
    while not said(heard, 1):
        heard += (await first.notes.get()).items
    await first.drop()
    second = await bench.conversation(1)
    await second.welcome()
    again = []
    while len(again) < len(heard):
        again += (await second.notes.get()).items
    assert again == heard
    speech.go_on.set()
    last = await second.next_note()
    assert (last.first, said([last])) == (1, [("info", "last")])


async def test_what_is_stored_is_not_told_again(start, speech):
    bench = await start()
    first = await bench.connected()
    await first.run(run_of("long"))
    await first.next_note()
    await first.drop()
    second = await bench.conversation(1)
    await second.welcome()
    speech.go_on.set()
    await second.outcome()
    assert said(second.noted()) == [("info", "last")]


async def test_what_belongs_to_others_now_is_not_told(start, speech):
    bench = await start()
    first = await bench.connected()
    first.note = False
    run = run_of("long")
    await first.run(run)
    await first.next_note()
    await first.drop()
    second = await bench.conversation(1)
    await second.welcome(forget=[claim_of(run)])
    speech.go_on.set()
    assert said(await run_to_end(second, run_of("thread", job=2)), job=1) == []


async def test_lines_come_before_the_outcome_on_the_wire(start):
    bench = await start()
    server = await bench.connected()
    server.note = False
    await server.run(*(run_of("async", '{"who": "x"}', job=job) for job in range(300)))
    heard: set[int] = set()
    ended = 0
    while ended < 300:
        outcomes = (await server.expect(Outcomes)).items
        heard |= {note.job for note in server.noted()}
        assert {outcome.job for outcome in outcomes} <= heard
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
    told = sum(int(text.split()[1].replace(",", "")) for text in left_out)
    assert len(numbers) + told == lines
    assert max(server.sizes) < 2 * MAX_UNSENT


@pytest.fixture
def nowhere(monkeypatch) -> Iterator[Callable[[], None]]:
    """Called in the test itself, too: what is printed goes there."""
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
    told = sum(len(line.text) for note in notes for line in note.lines)
    grown = psutil.Process().memory_info().rss - before
    assert grown < 32 * 1024 * 1024 + 10 * told  # the test keeps what it was told


@pytest.mark.timeout(180)
async def test_a_flood_from_a_child_process_is_bounded(children, capfd):
    notes, server = await _flooded(children, "flood", 100_000)
    _check_flood(notes, server, 100_000)


async def test_a_flood_that_blocks_the_loop_is_bounded(start):
    bench = await start()
    notes, server = await _flooded(bench, "flood_async", 20_000)
    _check_flood(notes, server, 20_000)
    assert sum(len(line.text) for note in notes for line in note.lines) < MAX_UNSENT


async def test_others_run_and_are_heard_while_one_floods(start, speech, nowhere):
    nowhere()
    bench = await start()
    server = await bench.connected()
    await server.run(run_of("flood_on"))
    await asyncio.to_thread(speech.began.wait)
    notes: list[Note] = []
    for job in range(2, 22):
        notes += await run_to_end(server, run_of("thread", job=job))
        assert said(notes, job) == SPOKEN
    speech.go_on.set()
    assert (await server.outcome()).job == 1


async def test_a_server_that_never_stores_is_sent_less(start, speech, nowhere):
    nowhere()
    bench = await start()
    server = await bench.connected()
    server.note = False
    await server.run(run_of("flood_on"))
    sent = 0
    while sent < _COLLECT_BELOW:
        note = await server.next_note()
        sent += sum(len(line.text) + LINE_COST for line in note.lines)
    speech.go_on.set()
    await server.outcome()
    rest = sum(len(line.text) + LINE_COST for note in server.noted() for line in note.lines)
    assert rest < 2 * MAX_UNSENT
