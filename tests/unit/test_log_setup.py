"""The log output of a process."""

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
def test_logs_json_lines_without_a_terminal(log_format):
    fired, outside, failed = map(json.loads, logged(log_format).splitlines())
    assert (fired["event"], fired["jobs"], fired["level"]) == ("fired", 3, "info")
    assert (outside["event"], outside["logger"]) == ("from outside", "library")
    assert "ValueError: no good" in failed["exception"]


def test_logs_readable_text_when_configured():
    text = logged("console")
    assert "fired" in text
    assert "jobs=3" in text
    assert "\x1b" not in text


CONTROL_CHARACTERS = """
import structlog
from tickwork.log_setup import configure_logs
configure_logs({format!r}, "info")
trace = "Traceback:\\n  in their code\\nValueError: \\x1b[2Jno"
structlog.get_logger("tickwork.worker").warning("attempt failed", error="\\x1b[2Jno", exception=trace)
"""


def test_a_traceback_is_separate_lines_on_the_console_and_one_field_in_json():
    assert "error=\\x1b[2Jno\nTraceback:\n  in their code\n" in logged("console", CONTROL_CHARACTERS)
    (line,) = logged("json", CONTROL_CHARACTERS).splitlines()
    assert json.loads(line)["exception"].splitlines()[1] == "  in their code"


def test_control_characters_do_not_reach_the_terminal():
    assert "\x1b" not in logged("console", CONTROL_CHARACTERS)


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_no_local_variable_is_ever_logged(log_format):
    text = logged(log_format)
    assert "ValueError: no good" in text
    assert "hunter2" not in text
