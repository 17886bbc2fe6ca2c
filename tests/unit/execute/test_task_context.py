"""The context of a task: with the listener of a worker, and created in a user's test."""

import json
import logging
import subprocess
import sys

import pytest
import structlog

from tickwork import Context


class RecordingListener:
    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.steps: list[tuple[float, str | None]] = []

    def log(self, level: str, text: str) -> None:
        self.lines.append((level, text))

    def progress(self, fraction: float, message: str | None) -> None:
        self.steps.append((fraction, message))


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = __repr__


@pytest.fixture
def listener() -> RecordingListener:
    return RecordingListener()


@pytest.fixture
def ctx(listener) -> Context:
    return Context(listener=listener)


def test_a_context_without_a_worker_works(capsys):
    ctx = Context()
    ctx.log.info("sent", to="a@b.c")
    ctx.log.debug("%s", "x")
    ctx.progress(0.5, "half")
    assert (ctx.latest_progress.fraction, ctx.latest_progress.message) == (0.5, "half")
    assert not ctx.cancelled
    assert capsys.readouterr() == ("", "")


def test_a_test_of_a_task_sees_its_lines(caplog):
    caplog.set_level("INFO")
    Context(attempt=2, execution_id="e1-2").log.info("sent", to="a@b.c")
    (record,) = caplog.records
    assert record.getMessage() == "sent to=a@b.c"
    assert (record.msg["execution"], record.msg["attempt"]) == ("e1-2", 2)


def test_every_level_reaches_the_listener_whatever_the_worker_logs(ctx, listener):
    logging.getLogger("tickwork.task").setLevel(logging.ERROR)
    for level in ("debug", "info", "warning", "error", "critical"):
        getattr(ctx.log, level)("said")
    logging.getLogger("tickwork.task").setLevel(logging.NOTSET)
    assert listener.lines == [(level, "said") for level in ("debug", "info", "warning", "error", "critical")]


def test_values_come_after_the_event(ctx, listener):
    ctx.log.bind(order=7).info("sold", to="Ada Lovelace", what="tea", none=None, lines="a\nb")
    assert listener.lines == [("info", "sold order=7 to='Ada Lovelace' what=tea none=None lines='a\\nb'")]


def test_positional_arguments_are_filled_in(ctx, listener):
    ctx.log.warning("%s of %d", "one", 2)
    assert listener.lines == [("warning", "one of 2")]


def test_variables_bound_around_the_task_are_shown(ctx, listener):
    with structlog.contextvars.bound_contextvars(tenant="x"):
        ctx.log.info("said")
    assert listener.lines == [("info", "said tenant=x")]


def test_an_exception_comes_with_its_traceback(ctx, listener):
    error = ValueError("no good")
    try:
        raise error
    except ValueError:
        ctx.log.exception("failed", order=7)
    ctx.log.error("later", exc_info=error)
    for level, text in listener.lines:
        assert level == "error"
        assert "\nTraceback (most recent call last):\n" in text
        assert text.endswith("ValueError: no good")
    assert listener.lines[0][1].startswith("failed order=7\n")
    ctx.log.exception("without one")  # noqa: LOG004
    assert listener.lines[-1] == ("error", "without one")


def test_values_that_cannot_be_printed_do_not_fail_the_task(ctx, listener):
    ctx.log.info(Unprintable(), value=Unprintable())
    shown = "<cannot be shown: RuntimeError>"
    assert listener.lines == [("info", f"{shown} value={shown}")]


def test_does_not_depend_on_how_the_user_sets_structlog_up(ctx, listener, capsys):
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(), wrapper_class=structlog.BoundLogger)
    ctx.log.info("said %s", "so", by="me")
    assert listener.lines == [("info", "said so by=me")]
    assert capsys.readouterr().out == ""


def test_progress_reaches_the_listener(ctx, listener):
    ctx.progress(0)
    ctx.progress(1, "done")
    assert listener.steps == [(0, None), (1, "done")]


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), float("inf")])
def test_progress_out_of_range_is_refused(ctx, listener, fraction):
    with pytest.raises(ValueError, match="a fraction between 0 and 1"):
        ctx.progress(fraction)
    assert listener.steps == []
    assert ctx.latest_progress is None


PROGRAM = """
from tickwork import Context
from tickwork.log_setup import configure_logs
configure_logs("json", "info")
ctx = Context(execution_id="e1-2", attempt=3)
ctx.log.info("sent", to="a@b.c")
ctx.log.debug("not shown")
try:
    1 / 0
except ZeroDivisionError:
    ctx.log.exception("failed")
"""


def test_the_workers_own_log_has_the_values_as_fields():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    sent, failed = map(json.loads, done.stderr.splitlines())
    assert {key: sent[key] for key in ("event", "to", "execution", "attempt", "level", "logger")} == {
        "event": "sent",
        "to": "a@b.c",
        "execution": "e1-2",
        "attempt": 3,
        "level": "info",
        "logger": "tickwork.task",
    }
    assert failed["exception"].endswith("ZeroDivisionError: division by zero")
