"""The front door: help, unknown words, and how long it takes."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from tickwork.cli import _COMMANDS, main

HEAVY = ("httpx2", "rich", "asyncpg", "uvicorn", "starlette", "structlog", "msgspec.json", "asyncio")


def test_help_imports_nothing_heavy():
    code = """
import sys, tickwork.cli
tickwork.cli.main(["--help"], standalone_mode=False)
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Commands:" in done.stdout
    assert not set(HEAVY) & set(done.stderr.split())


@pytest.mark.parametrize("name", list(_COMMANDS))
def test_every_command_begins_its_help_with_its_summary(run, name):
    done = run(name, "--help")
    assert done.exit_code == 0
    assert _COMMANDS[name] in " ".join(done.output.split())
    assert main.get_command(None, name).get_short_help_str(200) == _COMMANDS[name]


def test_an_unknown_command_says_what_was_meant(run):
    done = run("jobs", "list")
    assert done.exit_code == 2
    assert "Did you mean 'job'?" in done.stderr


def test_help_says_how_to_complete_in_the_shell(run):
    assert "_TICKWORK_COMPLETE=bash_source tickwork" in run("--help").output


def test_completion_knows_the_commands():
    words = {"_TICKWORK_COMPLETE": "bash_complete", "COMP_WORDS": "tickwork j", "COMP_CWORD": "1"}
    done = CliRunner().invoke(main, env=words, prog_name="tickwork")
    assert done.output.strip() == "plain,job"
