"""Prints and log records of tasks reach the log sink of the attempt that runs."""

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import structlog

from tickwork.execute.log.capture import Capture, current_log_sink
from tickwork.log_setup import configure_logs


class RecordingSink:
    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.printed: list[tuple[str, str]] = []

    def log(self, level: str, text: str) -> None:
        self.lines.append((level, text))

    def print(self, stream: str, text: str) -> None:
        self.printed.append((stream, text))

    def progress(self, fraction: float, message: str | None) -> None: ...


@pytest.fixture
def logs():
    """Configures logs as a worker does."""
    configure_logs("json", "info")


@contextmanager
def recording() -> Iterator[RecordingSink]:
    """Opened by the test itself: pytest replaces the streams after fixtures have run."""
    sink = RecordingSink()
    capture = Capture()
    capture.open()
    token = current_log_sink.set(sink)
    try:
        yield sink
    finally:
        current_log_sink.reset(token)
        capture.close()


def test_printed_text_is_captured_and_still_printed(capsys):
    with recording() as sink:
        print("a", "b")  # noqa: T201
        sys.stdout.writelines(["c", "d"])
        print("e", file=sys.stderr)  # noqa: T201
    assert sink.printed == [
        *(("stdout", text) for text in ("a", " ", "b", "\n", "c", "d")),
        *(("stderr", text) for text in ("e", "\n")),
    ]
    assert capsys.readouterr() == ("a b\ncd", "e\n")


def test_without_a_sink_text_is_only_printed(capsys):
    with recording() as sink:
        current_log_sink.set(None)
        print("nobody")  # noqa: T201
        logging.getLogger("library").warning("nobody")
    assert (sink.lines, sink.printed) == ([], [])
    assert capsys.readouterr().out == "nobody\n"


def test_a_captured_stream_keeps_its_attributes():
    with recording():
        assert sys.stdout.encoding.lower() == "utf-8"
        assert not sys.stdout.isatty()
        sys.stdout.flush()


def test_writing_bytes_still_raises_a_type_error():
    with recording() as sink, pytest.raises(TypeError):
        sys.stdout.write(b"bytes")  # type: ignore[arg-type]
    assert sink.printed == []


def test_streams_and_logger_are_restored():
    out, err, handlers = sys.stdout, sys.stderr, list(logging.getLogger().handlers)
    with recording():
        assert sys.stdout is not out
    assert (sys.stdout, sys.stderr, logging.getLogger().handlers) == (out, err, handlers)


def test_a_stream_that_somebody_else_replaced_is_left_alone(monkeypatch):
    theirs = io.StringIO()
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # restored after the test
    with recording():
        sys.stdout = theirs
    assert sys.stdout is theirs


def test_two_workers_capture_everything_once(logs):
    with recording() as sink:
        second = Capture()
        second.open()
        sys.stdout.write("once")
        logging.getLogger("library").warning("once")
        second.close()
        sys.stdout.write("still")
    assert sink.printed == [("stdout", "once"), ("stdout", "still")]
    assert sink.lines == [("warning", "once")]


def test_log_records_are_captured_with_their_traceback(logs):
    logger = logging.getLogger("library")
    with recording() as sink:
        logger.info("%s of %d", "one", 2)
        logger.debug("below the level of the worker's log")
        try:
            int("no number")
        except ValueError:
            logger.exception("failed")
    (first, second) = sink.lines
    assert first == ("info", "one of 2")
    assert second[0] == "error"
    assert second[1].startswith("failed\nTraceback (most recent call last):\n")
    assert second[1].endswith("'no number'")


def test_a_record_with_wrong_arguments_is_captured_unformatted(logs, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    with recording() as sink:
        logging.getLogger("library").warning("%d of", "one")
    assert sink.lines == [("warning", "%d of")]


def test_structlog_events_are_captured_as_text(logs):
    with recording() as sink:
        structlog.get_logger("shop").info("sold", price=3, to="Ada Lovelace")
    assert sink.lines == [("info", "sold price=3 to='Ada Lovelace'")]


def test_our_own_log_lines_are_not_captured():
    with recording() as sink:
        logging.getLogger("tickwork.worker").warning("about a task")
        logging.getLogger("tickwork").warning("about a task")
        logging.getLogger("tickworks").warning("by a task")
    assert sink.lines == [("warning", "by a task")]
