"""The unsent and unacknowledged log lines of all attempts: batches, resending and bounds."""

from threading import Thread

import pytest

from tickwork.execute.attempt_ending import unchanged
from tickwork.execute.attempt_state import Attempt, Handler, Outboxes
from tickwork.execute.checkpoint_outbox import CheckpointOutbox
from tickwork.execute.clock import DatabaseClock
from tickwork.execute.log.buffer import LogBatch
from tickwork.execute.log.outbox import (
    _COLLECT_BELOW,
    _LARGEST_MESSAGE,
    _MAX_PENDING,
    COLLECT_INTERVAL,
    LogOutbox,
)
from tickwork.model.worker_protocol import LogLine, Note, Notes, Run


@pytest.fixture
def log_outbox(time) -> LogOutbox:
    return LogOutbox(DatabaseClock(time))


def attempt_of(log_outbox: LogOutbox, job: int = 1) -> Attempt:
    run = Run(1, 5, job, 1, "task", b"{}", 60.0, 0)
    outboxes = Outboxes(log_outbox, CheckpointOutbox(lambda: None))
    return Attempt((1, 5, job, 1), run, Handler(lambda _: None, unchanged), outboxes)


def notes_of(messages: list[Notes]) -> list[Note]:
    return [note for message in messages for note in message.items]


def sent_lines(messages: list[Notes]) -> list[tuple[int, int, list[str]]]:
    return [(note.job, note.first, [line.text for line in note.lines]) for note in notes_of(messages)]


def fill(attempt: Attempt) -> None:
    for _ in range(64):
        attempt.log("info", "x" * 900)


def end(log_outbox: LogOutbox, attempt: Attempt) -> None:
    attempt.done = True
    log_outbox.close(attempt)


def test_an_attempt_that_logs_nothing_leaves_nothing(log_outbox):
    attempt = attempt_of(log_outbox)
    end(log_outbox, attempt)
    assert not attempt.has_log
    assert not log_outbox.has_unsent
    assert log_outbox.next_messages() == []


def test_lines_of_running_attempts_are_collected_at_intervals(log_outbox, time):
    attempt = attempt_of(log_outbox)
    attempt.log("info", "a")
    assert sent_lines(log_outbox.next_messages()) == [(1, 0, ["a"])]
    attempt.log("info", "b")
    assert log_outbox.next_messages() == []
    assert log_outbox.has_unsent
    attempt.log("info", "c")
    time.now += COLLECT_INTERVAL
    assert sent_lines(log_outbox.next_messages()) == [(1, 1, ["b", "c"])]


def test_the_last_lines_of_an_attempt_do_not_wait(log_outbox):
    attempt = attempt_of(log_outbox)
    attempt.log("info", "a")
    log_outbox.next_messages()
    attempt.print("stdout", "no newline")
    attempt.progress(0.75, "nearly")
    end(log_outbox, attempt)
    (note,) = notes_of(log_outbox.next_messages())
    assert (note.first, [line.text for line in note.lines]) == (1, ["no newline"])
    assert (note.fraction, note.message) == (0.75, "nearly")


def test_nothing_is_logged_for_an_attempt_that_has_ended(log_outbox):
    attempt = attempt_of(log_outbox)
    attempt.log("info", "a")
    end(log_outbox, attempt)
    attempt.log("info", "b")
    attempt.print("stdout", "b\n")
    attempt.progress(0.5, None)
    log_outbox.add_batch(attempt, 0, LogBatch(0, [LogLine(0, "info", "b")], None, 1))
    assert sent_lines(log_outbox.next_messages()) == [(1, 0, ["a"])]
    assert not log_outbox.has_unsent


def test_a_first_line_at_the_moment_of_the_end_is_sent(log_outbox):
    attempt = attempt_of(log_outbox)
    attempt.log("info", "a")
    attempt.done = True  # the thread logged just before the end
    assert sent_lines(log_outbox.next_messages()) == [(1, 0, ["a"])]
    assert not log_outbox.has_unsent


def test_lines_that_are_not_stored_are_resent_in_order(log_outbox):
    first, second = attempt_of(log_outbox, 1), attempt_of(log_outbox, 2)
    first.log("info", "a")
    (stored,) = log_outbox.next_messages()
    end(log_outbox, first)
    second.log("info", "b")
    end(log_outbox, second)
    lost = log_outbox.next_messages()
    log_outbox.acknowledge(stored.number)
    log_outbox.acknowledge(999)
    third = attempt_of(log_outbox, 3)
    third.log("info", "c")
    end(log_outbox, third)
    log_outbox.resend()
    again = log_outbox.next_messages()
    assert sent_lines(again) == [*sent_lines(lost), (3, 0, ["c"])]
    assert again[0].number > lost[-1].number
    for message in again:
        log_outbox.acknowledge(message.number)
    log_outbox.resend()
    assert log_outbox.next_messages() == []


def test_lines_of_attempts_that_other_workers_have_are_dropped(log_outbox):
    ours, theirs, running = (attempt_of(log_outbox, job) for job in (1, 2, 3))
    for attempt in (ours, theirs):
        attempt.log("info", "sent")
    log_outbox.next_messages()
    for attempt in (ours, theirs, running):
        attempt.log("info", "waiting")
    end(log_outbox, theirs)
    log_outbox.forget([theirs, running])
    log_outbox.resend()
    end(log_outbox, ours)
    assert sent_lines(log_outbox.next_messages()) == [(1, 0, ["sent"]), (1, 1, ["waiting"])]
    log_outbox.clear()
    log_outbox.resend()
    assert log_outbox.next_messages() == []


def test_no_message_is_large(log_outbox):
    for job in range(50):
        attempt = attempt_of(log_outbox, job)
        fill(attempt)
        end(log_outbox, attempt)
    messages = log_outbox.next_messages()
    assert len(messages) > 1
    assert {note.job for note in notes_of(messages)} == set(range(50))
    for message in messages:
        assert sum(len(line.text) for note in message.items for line in note.lines) <= _LARGEST_MESSAGE


def test_a_server_that_stores_nothing_makes_running_attempts_wait(log_outbox, time):
    attempt = attempt_of(log_outbox)
    sent = 0
    for _ in range(100):
        fill(attempt)
        time.now += 1.0
        sent += len(notes_of(log_outbox.next_messages()))
    assert sent <= _COLLECT_BELOW // 60_000 + 1
    end(log_outbox, attempt)
    assert len(notes_of(log_outbox.next_messages())) == 1


def test_a_server_that_stores_nothing_does_not_fill_the_memory(log_outbox):
    """Nor does a server that is not connected. The newest lines are kept."""
    for job in range(1_000):
        attempt = attempt_of(log_outbox, job)
        fill(attempt)
        end(log_outbox, attempt)
        if job % 2:
            log_outbox.next_messages()
    log_outbox.resend()
    pending = notes_of(log_outbox.next_messages())
    size = sum(len(line.text) for note in pending for line in note.lines)
    assert _MAX_PENDING / 2 < size <= _MAX_PENDING
    assert pending[-1].job == 999


def test_lines_of_a_child_process_keep_their_time_differences(log_outbox, time):
    time.now = 100.0
    attempt = attempt_of(log_outbox)
    batch = LogBatch(7, [LogLine(2_000_000, "info", "a"), LogLine(2_900_000, "stderr", "b")], (0.5, "x"), 1)
    log_outbox.add_batch(attempt, 3_000_000, batch)
    (note,) = notes_of(log_outbox.next_messages())
    assert note.lines == [LogLine(99_000_000, "info", "a"), LogLine(99_900_000, "stderr", "b")]
    assert (note.first, note.fraction, note.message) == (0, 0.5, "x")


def test_many_threads_can_log_at_once(log_outbox, time):
    attempt = attempt_of(log_outbox)
    threads = [Thread(target=lambda: [attempt.log("info", "x") for _ in range(100)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    found = []
    while any(thread.is_alive() for thread in threads):
        found += notes_of(log_outbox.next_messages())
        time.now += 1.0
    end(log_outbox, attempt)
    found += notes_of(log_outbox.next_messages())
    assert sum(len(note.lines) for note in found) == 800
    assert [note.first for note in found] == [sum(len(n.lines) for n in found[:i]) for i in range(len(found))]
