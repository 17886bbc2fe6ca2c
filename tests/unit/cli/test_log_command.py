"""`tickwork execution logs`."""

import json
import time
from datetime import timedelta

import msgspec
import pytest

from support.sample_answers import COMPLETED, NOON, page
from tickwork.cli.execution_command import format_entry
from tickwork.model.attempt_log import LogEntry


@pytest.fixture(autouse=True)
def in_paris(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Paris")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def entry(line, text, attempt=1, level="info", seconds=0.0):
    return LogEntry(attempt=attempt, line=line, at=NOON + timedelta(seconds=seconds), level=level, text=text)


ENTRIES = [
    entry(0, "opening", seconds=0.005),
    entry(1, "two\nlines", level="warning", seconds=1.5),
    entry(0, "again", attempt=2, level="stdout", seconds=9),
]
SHOWN = """\
── attempt 1, 2026-11-15 ──
13:00:00.005  info      opening
13:00:01.500  warning   two
                        lines
── attempt 2, 2026-11-15 ──
13:00:09.000  stdout    again
"""


def stream(*events, end=True):
    told = [_event(each) if isinstance(each, LogEntry) else each for each in events]
    last = [b'event: end\ndata: {"status":"completed"}\n\n'] if end else []
    return b"".join([b"retry: 1000\n\n", *told, *last])


def _event(each):
    place = f"id: {each.attempt}-{each.line}\nevent: log\ndata: "
    return place.encode() + msgspec.json.encode(each) + b"\n\n"


def test_shows_time_level_and_text_under_each_attempt(ask, server):
    server.will_answer(page(*ENTRIES[:1], next_cursor="more"))
    server.will_answer(page(*ENTRIES[1:]))
    done = ask("execution", "logs", "e5-1")
    assert done.stdout == SHOWN
    assert [asked.query for asked in server.asked] == [{}, {"cursor": ["more"]}]


def test_asks_for_what_is_wanted(ask, server):
    server.will_answer(page())
    done = ask("execution", "logs", "e5-1", "--attempt", "2", "--tail", "5")
    assert server.asked[0].query == {"attempt": ["2"], "tail": ["5"]}
    assert (done.stdout, done.stderr) == ("", "nothing was logged\n")


@pytest.mark.parametrize("output", ["json", "jsonl"])
def test_gives_json_when_asked_for_it(ask, server, output):
    server.will_answer(page(*ENTRIES))
    said = ask("execution", "logs", "e5-1", "-o", output).stdout
    items = (
        json.loads(said)["items"] if output == "json" else [json.loads(line) for line in said.splitlines()]
    )
    assert [item["text"] for item in items] == ["opening", "two\nlines", "again"]


def test_following_goes_on_after_a_lost_connection_and_ends_with_the_execution(ask, server):
    server.will_answer(stream(*ENTRIES[:2], end=False))
    server.will_answer(
        stream(b'event: progress\ndata: {"attempt":2,"fraction":0.5,"message":"half"}\n\n', ENTRIES[2])
    )
    server.will_answer(COMPLETED)
    done = ask("execution", "logs", "-f", "e5-1")
    assert (done.exit_code, done.stdout) == (0, SHOWN)
    assert done.stderr == "progress: 50% half\nreport completed\n"
    first, second, _ = server.asked
    assert (first.query, first.headers["last-event-id"]) == ({"follow": ["true"]}, None)
    assert second.headers["last-event-id"] == "1-1"


def test_following_as_json_is_one_line_for_each(ask, server):
    server.will_answer(stream(*ENTRIES))
    server.will_answer(COMPLETED)
    done = ask("execution", "logs", "-f", "e5-1", "-o", "json")
    assert [json.loads(line)["line"] for line in done.stdout.splitlines()] == [0, 1, 0]


def test_following_what_does_not_exist_is_not_found(ask, server):
    server.will_refuse(404, "there is no execution e5-1")
    done = ask("execution", "logs", "-f", "e5-1")
    assert (done.exit_code, done.stderr) == (3, "error: there is no execution e5-1\n")


def test_ctrl_c_ends_the_watching_cleanly(ask, server, monkeypatch):
    def interrupted(*_args, **_kwargs):
        yield ENTRIES[0]
        raise KeyboardInterrupt

    monkeypatch.setattr("tickwork.client.sync_client.Client.follow_execution_logs", interrupted)
    done = ask("execution", "logs", "-f", "e5-1")
    assert (done.exit_code, done.stderr) == (0, "")


def test_what_was_logged_cannot_steer_the_terminal():
    assert "\x1b" not in format_entry(entry(0, "\x1b[2J", level="\x1b[1m"), entry(0, ""))
