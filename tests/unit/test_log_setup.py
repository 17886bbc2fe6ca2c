"""What logs look like, seen from outside the process."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import logging, structlog
from tickwork.log_setup import configure_logs
configure_logs({format!r}, "info")
structlog.get_logger("tickwork.fire").info("fired", jobs=3)
structlog.get_logger("tickwork.fire").debug("not shown")
logging.getLogger("library").warning("from %s", "outside")
def call(secret):
    raise ValueError("no good")
try:
    call("hun" + "ter2")
except ValueError:
    structlog.get_logger("tickwork.api").exception("request failed")
"""


def logged(log_format, program=PROGRAM):
    done = subprocess.run(
        [sys.executable, "-c", program.format(format=log_format)], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("log_format", ["json", "auto"])
def test_is_json_lines_where_no_terminal_is(log_format):
    fired, outside, failed = map(json.loads, logged(log_format).splitlines())
    assert (fired["event"], fired["jobs"], fired["level"]) == ("fired", 3, "info")
    assert (outside["event"], outside["logger"]) == ("from outside", "library")
    assert "ValueError: no good" in failed["exception"]


def test_is_for_eyes_when_asked_for():
    text = logged("console")
    assert "fired" in text
    assert "jobs=3" in text
    assert "\x1b" not in text


WORDS_OF_OTHERS = """
import structlog
from tickwork.log_setup import configure_logs
configure_logs({format!r}, "info")
trace = "Traceback:\\n  in their code\\nValueError: \\x1b[2Jno"
structlog.get_logger("tickwork.worker").warning("attempt failed", error="\\x1b[2Jno", exception=trace)
"""


def test_a_traceback_is_lines_of_its_own_for_eyes_and_one_field_for_machines():
    assert "error=\\x1b[2Jno\nTraceback:\n  in their code\n" in logged("console", WORDS_OF_OTHERS)
    (line,) = logged("json", WORDS_OF_OTHERS).splitlines()
    assert json.loads(line)["exception"].splitlines()[1] == "  in their code"


def test_words_of_others_do_not_steer_the_terminal():
    assert "\x1b" not in logged("console", WORDS_OF_OTHERS)


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_no_local_variable_is_ever_logged(log_format):
    text = logged(log_format)
    assert "ValueError: no good" in text
    assert "hunter2" not in text
