"""What all attempts of a worker say, until it is stored: batches, repeats and bounds."""

from threading import Thread

import pytest

from tickwork.execute.attempt import Attempt, Handler
from tickwork.execute.attempt_ending import as_it_is
from tickwork.execute.clock import DatabaseClock
from tickwork.execute.log.buffer import LogPage
from tickwork.execute.log.outbox import _KEPT, _LARGEST_MESSAGE, _WINDOW, BETWEEN_LOOKS, LogOutbox
from tickwork.model.worker_protocol import LogLine, Note, Notes, Run


@pytest.fixture
def journal(time) -> LogOutbox:
    return LogOutbox(DatabaseClock(time))


def attempt_of(journal: LogOutbox, job: int = 1) -> Attempt:
    run = Run(1, 5, job, 1, "task", b"{}", 60.0, 0)
    return Attempt((1, 5, job, 1), run, Handler(lambda _: None, as_it_is), journal)  # type: ignore[arg-type, return-value]


def notes_of(messages: list[Notes]) -> list[Note]:
    return [note for message in messages for note in message.items]


def told(messages: list[Notes]) -> list[tuple[int, int, list[str]]]:
    return [(note.job, note.first, [line.text for line in note.lines]) for note in notes_of(messages)]


def fill(attempt: Attempt) -> None:
    for _ in range(64):
        attempt.log("info", "x" * 900)


def end(journal: LogOutbox, attempt: Attempt) -> None:
    attempt.settled = True
    journal.close(attempt)


def test_an_attempt_that_says_nothing_leaves_nothing(journal):
    attempt = attempt_of(journal)
    end(journal, attempt)
    assert not attempt.speaks
    assert not journal.has_news
    assert journal.take() == []


def test_what_running_attempts_say_gathers(journal, time):
    attempt = attempt_of(journal)
    attempt.log("info", "a")
    assert told(journal.take()) == [(1, 0, ["a"])]
    attempt.log("info", "b")
    assert journal.take() == []
    assert journal.has_news
    attempt.log("info", "c")
    time.now += BETWEEN_LOOKS
    assert told(journal.take()) == [(1, 1, ["b", "c"])]


def test_the_last_words_of_an_attempt_do_not_wait(journal):
    attempt = attempt_of(journal)
    attempt.log("info", "a")
    journal.take()
    attempt.print("stdout", "no newline")
    attempt.progress(0.75, "nearly")
    end(journal, attempt)
    (note,) = notes_of(journal.take())
    assert (note.first, [line.text for line in note.lines]) == (1, ["no newline"])
    assert (note.fraction, note.message) == (0.75, "nearly")


def test_nothing_is_heard_of_an_attempt_that_has_ended(journal):
    attempt = attempt_of(journal)
    attempt.log("info", "a")
    end(journal, attempt)
    attempt.log("info", "b")
    attempt.print("stdout", "b\n")
    attempt.progress(0.5, None)
    journal.copy(attempt, 0, LogPage(0, [LogLine(0, "info", "b")], None, 1))
    assert told(journal.take()) == [(1, 0, ["a"])]
    assert not journal.has_news


def test_a_first_word_in_the_moment_of_the_end_is_told_too(journal):
    attempt = attempt_of(journal)
    attempt.log("info", "a")
    attempt.settled = True  # as a thread sees it that was a little too late
    assert told(journal.take()) == [(1, 0, ["a"])]
    assert not journal.has_news


def test_what_is_not_stored_is_told_again_in_order(journal):
    first, second = attempt_of(journal, 1), attempt_of(journal, 2)
    first.log("info", "a")
    (stored,) = journal.take()
    end(journal, first)
    second.log("info", "b")
    end(journal, second)
    lost = journal.take()
    journal.acknowledge(stored.number)
    journal.acknowledge(999)
    third = attempt_of(journal, 3)
    third.log("info", "c")
    end(journal, third)
    journal.resend()
    again = journal.take()
    assert told(again) == [*told(lost), (3, 0, ["c"])]
    assert again[0].number > lost[-1].number
    for message in again:
        journal.acknowledge(message.number)
    journal.resend()
    assert journal.take() == []


def test_what_belongs_to_others_now_is_dropped(journal):
    ours, theirs, running = (attempt_of(journal, job) for job in (1, 2, 3))
    for attempt in (ours, theirs):
        attempt.log("info", "sent")
    journal.take()
    for attempt in (ours, theirs, running):
        attempt.log("info", "waiting")
    end(journal, theirs)
    journal.forget([theirs, running])
    journal.resend()
    end(journal, ours)
    assert told(journal.take()) == [(1, 0, ["sent"]), (1, 1, ["waiting"])]
    journal.clear()
    journal.resend()
    assert journal.take() == []


def test_no_message_is_large(journal):
    for job in range(50):
        attempt = attempt_of(journal, job)
        fill(attempt)
        end(journal, attempt)
    messages = journal.take()
    assert len(messages) > 1
    assert {note.job for note in notes_of(messages)} == set(range(50))
    for message in messages:
        assert sum(len(line.text) for note in message.items for line in note.lines) <= _LARGEST_MESSAGE


def test_a_server_that_stores_nothing_makes_running_attempts_wait(journal, time):
    attempt = attempt_of(journal)
    sent = 0
    for _ in range(100):
        fill(attempt)
        time.now += 1.0
        sent += len(notes_of(journal.take()))
    assert sent <= _WINDOW // 60_000 + 1
    end(journal, attempt)
    assert len(notes_of(journal.take())) == 1


def test_a_server_that_stores_nothing_does_not_fill_the_memory(journal):
    """Nor does one that is away: the newest is kept."""
    for job in range(1_000):
        attempt = attempt_of(journal, job)
        fill(attempt)
        end(journal, attempt)
        if job % 2:
            journal.take()
    journal.resend()
    kept = notes_of(journal.take())
    size = sum(len(line.text) for note in kept for line in note.lines)
    assert _KEPT / 2 < size <= _KEPT
    assert kept[-1].job == 999


def test_lines_of_a_child_process_keep_their_distance_in_time(journal, time):
    time.now = 100.0
    attempt = attempt_of(journal)
    page = LogPage(7, [LogLine(2_000_000, "info", "a"), LogLine(2_900_000, "stderr", "b")], (0.5, "x"), 1)
    journal.copy(attempt, 3_000_000, page)
    (note,) = notes_of(journal.take())
    assert note.lines == [LogLine(99_000_000, "info", "a"), LogLine(99_900_000, "stderr", "b")]
    assert (note.first, note.fraction, note.message) == (0, 0.5, "x")


def test_many_threads_can_speak_at_once(journal, time):
    attempt = attempt_of(journal)
    threads = [Thread(target=lambda: [attempt.log("info", "x") for _ in range(100)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    found = []
    while any(thread.is_alive() for thread in threads):
        found += notes_of(journal.take())
        time.now += 1.0
    end(journal, attempt)
    found += notes_of(journal.take())
    assert sum(len(note.lines) for note in found) == 800
    assert [note.first for note in found] == [sum(len(n.lines) for n in found[:i]) for i in range(len(found))]
