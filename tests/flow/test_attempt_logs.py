"""What attempts log and how far they have come: kept once and in order, the newest of it, whatever is repeated."""

from datetime import datetime, timedelta

import asyncpg
import msgspec
import pytest

from tickwork.config import Settings
from tickwork.model.errors import NotFound
from tickwork.model.execution import AttemptOutcome, ExecutionView, Progress
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.public_ids import from_micros
from tickwork.model.worker_protocol import Claim, Failure, LogLine, Noted, Run
from tickwork.node import Node
from tickwork.store import log_store as log
from tickwork.testing.scripted_worker import ScriptedWorker, note_of

TENANT = 1
AT_ONCE = RetryRequest(initial=0)


@pytest.fixture
async def worker(still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work"])


async def start(node: Node, worker: ScriptedWorker) -> Run:
    await node.jobs.create(TENANT, [JobRequest(task="work", retry=AT_ONCE)])
    return await claim(node, worker)


async def claim(node: Node, worker: ScriptedWorker) -> Run:
    await node.step("claim")
    (run,) = await worker.runs()
    return run


def identity(run: Run) -> tuple[int, int, datetime]:
    return run.tenant, run.job, from_micros(run.at)


async def look(node: Node, run: Run) -> ExecutionView:
    return await node.history.get(*identity(run))


async def texts(node: Node, run: Run, attempt: int | None = None) -> list[str]:
    page = await node.logs.page(*identity(run), attempt, 500)
    assert page.next_cursor is None
    return [entry.text for entry in page.items]


async def test_lines_are_kept_in_order_with_their_attempt_number_time_and_level(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    await worker.log(run, "one", "two")
    await worker.log(run, "three", first=2)
    page = await still_node.logs.page(*identity(run), None, 500)
    assert [(entry.attempt, entry.line, entry.level, entry.text) for entry in page.items] == [
        (1, 0, "info", "one"),
        (1, 1, "info", "two"),
        (1, 2, "info", "three"),
    ]
    assert page.items[0].at == from_micros(run.at)


@pytest.mark.parametrize(
    "repeated",
    [
        [(0, "a b c")],
        [(1, "b c d")],
        [(2, "c"), (3, "d")],
        [(0, "a"), (0, "a b c d")],
        [(4, "e"), (1, "b c d")],
        [(0, "a b c d e f g")],
    ],
)
async def test_a_repeat_that_is_cut_otherwise_adds_what_is_new_and_nothing_else(
    still_node: Node, worker: ScriptedWorker, repeated: list[tuple[int, str]]
) -> None:
    run = await start(still_node, worker)
    await worker.log(run, "a", "b", "c")
    await worker.send_notes([note_of(run, *words.split(), first=first) for first, words in repeated])
    await still_node.step("write logs")
    kept = await texts(still_node, run)
    assert kept == list("abcdefg")[: len(kept)]
    assert len(kept) == max(3, *(first + len(words.split()) for first, words in repeated))


async def test_lines_that_come_by_two_nodes_are_kept_once(
    still_node: Node, worker: ScriptedWorker, settings: Settings
) -> None:
    """The worker moved before the first node could keep what it was told."""
    run = await start(still_node, worker)
    await worker.send_notes([note_of(run, "a", "b", "c")])
    other = Node(settings)
    await other.open()
    try:
        moved = ScriptedWorker(other, ["work"])
        holding = [Claim(run.tenant, run.at, run.job, run.attempt)]
        await moved.greet(resume=worker.welcome.token, holding=holding)
        await moved.log(run, "a", "b", "c", "d")
        await still_node.step("write logs")
        assert await texts(other, run) == ["a", "b", "c", "d"]
    finally:
        await other.stop()


async def test_of_each_attempt_only_the_newest_lines_are_kept(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    run = await start(still_node, worker)
    wide = "x" * 1000
    for first in range(0, 1000, 50):
        await worker.log(run, *[f"{first + number} {wide}" for number in range(50)], first=first)
    size = await connection.fetchval("SELECT sum(octet_length(lines)) FROM tickwork.log")
    assert log._KEPT * 3 / 4 < size <= log._KEPT
    tail = await still_node.logs.tail(*identity(run), None, 500)
    assert [entry.line for entry in tail] == list(range(tail[0].line, 1000))


async def test_a_flood_in_one_message_is_cut_to_the_newest(still_node: Node, worker: ScriptedWorker) -> None:
    run = await start(still_node, worker)
    await worker.log(run, *[f"{number} {'x' * 1000}" for number in range(1000)])
    tail = await still_node.logs.tail(*identity(run), None, 500)
    assert 150 < len(tail) < 300
    assert tail[-1].text.startswith("999 ")


async def test_lines_of_an_attempt_that_is_not_in_its_hands_are_acknowledged_and_dropped(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    await worker.log(run, "mine")
    await worker.fail(run, Failure("ValueError", "no"))
    await worker.log(run, "too late", first=1)
    again = await claim(still_node, worker)
    await worker.log(run, "too late", first=1)
    await worker.log(again, "second")
    assert await texts(still_node, run) == ["mine", "second"]
    assert await texts(still_node, run, attempt=2) == ["second"]


@pytest.mark.parametrize(
    "nonsense",
    [
        {"first": -1},
        {"first": 2**31 - 1},
        {"fraction": float("nan")},
        {"fraction": 1.5},
        {"fraction": -0.1},
        {"lines": [LogLine(2**62, "info", "when?")]},
    ],
)
async def test_a_note_that_makes_no_sense_is_passed_over_and_the_others_are_kept(
    still_node: Node, worker: ScriptedWorker, nonsense: dict
) -> None:
    run = await start(still_node, worker)
    first = note_of(run, "good")
    await worker.send_notes([msgspec.structs.replace(first, **nonsense), first])
    await still_node.step("write logs")
    assert await worker._take(Noted)
    assert await texts(still_node, run) == ["good"]
    assert (await look(still_node, run)).progress is None


async def test_a_null_character_and_half_the_world_can_be_logged(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    odd = "nul \0, line\u2028break, \x85, 漢字 🎉"
    await worker.log(run, odd, fraction=0.5, message=odd)
    assert await texts(still_node, run) == [odd]
    assert (await look(still_node, run)).progress == Progress(0.5, odd)


async def test_an_endless_line_is_cut(still_node: Node, worker: ScriptedWorker) -> None:
    run = await start(still_node, worker)
    await worker.log(run, "x" * 1_000_000)
    (text,) = await texts(still_node, run)
    assert len(text) == 16 * 1024


async def test_pages_and_tails_show_each_line_once_across_attempts(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    for first in range(0, 7, 2):
        await worker.log(run, f"1.{first}", f"1.{first + 1}", first=first)
    await worker.fail(run, Failure("ValueError", "no"))
    again = await claim(still_node, worker)
    await worker.log(again, "2.0", "2.1", "2.2")
    everything = await texts(still_node, run)
    assert everything == [f"1.{number}" for number in range(8)] + ["2.0", "2.1", "2.2"]
    for limit in range(1, 12):
        seen: list[str] = []
        cursor = None
        while True:
            page = await still_node.logs.page(*identity(run), None, limit, cursor)
            assert len(page.items) <= limit
            seen += [entry.text for entry in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == everything, limit
        tail = await still_node.logs.tail(*identity(run), None, limit)
        assert [entry.text for entry in tail] == everything[-limit:]
    assert [entry.text for entry in await still_node.logs.tail(*identity(run), 1, 2)] == ["1.6", "1.7"]


async def test_the_log_of_an_execution_of_others_is_not_found(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    await worker.log(run, "secret")
    with pytest.raises(NotFound):
        await still_node.logs.page(2, run.job, from_micros(run.at), None, 500)
    with pytest.raises(NotFound):
        await still_node.logs.tail(2, run.job, from_micros(run.at), None, 10)


async def test_progress_is_the_latest_of_the_attempt_that_runs(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    await worker.log(run, fraction=0.2)
    await worker.send_notes([note_of(run, fraction=0.3), note_of(run, fraction=0.4, message="nearly")])
    await still_node.step("write logs")
    assert (await look(still_node, run)).progress == Progress(0.4, "nearly")
    await worker.fail(run, Failure("ValueError", "no"))
    assert (await look(still_node, run)).progress is None
    again = await claim(still_node, worker)
    assert (await look(still_node, run)).progress is None
    await worker.log(again, fraction=1.0)
    await worker.complete(again)
    assert (await look(still_node, run)).progress == Progress(1.0)


async def test_progress_that_arrives_after_the_end_changes_nothing(
    still_node: Node, worker: ScriptedWorker
) -> None:
    """It waits to be kept while the execution is taken from its worker."""
    run = await start(still_node, worker)
    await worker.send_notes([note_of(run, fraction=0.5)])
    await still_node.history.cancel(*identity(run))
    await still_node.step("write logs")
    assert (await look(still_node, run)).progress is None


async def test_progress_waits_for_nobody_and_is_said_later(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    run = await start(still_node, worker)
    async with connection.transaction():
        await connection.execute("SELECT FROM tickwork.execution FOR UPDATE")
        await worker.log(run, "logged meanwhile", fraction=0.5)
        assert await texts(still_node, run) == ["logged meanwhile"]
    assert (await look(still_node, run)).progress is None
    await still_node.step("write logs")
    assert (await look(still_node, run)).progress == Progress(0.5)


async def test_each_attempt_that_did_not_complete_shows_its_last_lines_and_its_worker(
    still_node: Node, worker: ScriptedWorker
) -> None:
    run = await start(still_node, worker)
    await worker.log(run, *[f"line {number}" for number in range(30)])
    await worker.fail(run, Failure("ValueError", "no"))
    silent = await claim(still_node, worker)
    await worker.report(silent, AttemptOutcome.SNOOZED)
    last = await claim(still_node, worker)
    await worker.log(last, "well")
    await worker.complete(last)
    failed, snoozed, completed = await still_node.history.attempts(*identity(run))
    assert failed.log_tail == "\n".join(f"line {number}" for number in range(10, 30))
    assert (snoozed.log_tail, completed.log_tail) == (None, None)
    assert {attempt.worker_name for attempt in (failed, snoozed, completed)} == {"scripted"}


async def test_logs_go_with_the_history_they_belong_to(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    run = await start(still_node, worker)
    await worker.log(run, "one")
    await worker.send_notes([note_of(run, "two", first=1)])
    await worker.complete(run)
    day = f"{from_micros(run.at):%Y%m%d}"
    await connection.execute(
        f"DROP TABLE tickwork.execution_{day}, tickwork.log_{day}, tickwork.attempt_{day}"
    )
    while await still_node.step("write logs"):  # the last line comes too late, and keeps nobody else waiting
        pass
    assert await worker._take(Noted)


async def test_what_was_noted_until_the_node_stops_is_still_kept(
    settings: Settings, connection: asyncpg.Connection
) -> None:
    node = Node(settings)
    await node.open()
    worker = await ScriptedWorker.connect(node, ["work"])
    run = await start(node, worker)
    await worker.send_notes([note_of(run, "last words")])
    await node.stop()
    assert b"last words" in await connection.fetchval("SELECT lines FROM tickwork.log")


async def test_a_lost_attempt_says_how_long_its_worker_had_been_silent(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0.0)
    run = await start(still_node, worker)
    await worker.leave_silently()
    await connection.execute("UPDATE tickwork.worker SET lease_until = tickwork.clock() - interval '2 s'")
    await still_node.step("rescue")
    (lost,) = await still_node.history.attempts(*identity(run))
    assert lost.outcome == AttemptOutcome.LOST
    assert timedelta(seconds=17) <= timedelta(seconds=lost.silent_for) < timedelta(seconds=60)
