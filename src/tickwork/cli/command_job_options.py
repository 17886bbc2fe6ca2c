"""The options of a job that runs a command: `tickwork job create --command -- backup-db --full`."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tickwork.cli.option_types import text_or_file
from tickwork.model.process_limits import ProcessLimits

Command = TypeVar("Command", bound=Callable[..., Any])

_EXIT_CODE = click.IntRange(0, 255)


def env_variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name):
        raise click.BadParameter(f"{text!r} is not a variable; write NAME=VALUE, such as BUCKET=backups")
    return name, value


COMMAND_OPTIONS = (
    click.option(
        "--command",
        "runs_command",
        is_flag=True,
        help="Run a program instead of a task: the words after --, on a worker that allows it.",
    ),
    click.option(
        "--env",
        type=env_variable,
        multiple=True,
        metavar="NAME=VALUE",
        help="A variable for the command; can be repeated.",
    ),
    click.option("--cwd", metavar="FOLDER", help="The folder that the command runs in."),
    click.option(
        "--stdin",
        type=text_or_file,
        metavar="TEXT|@FILE|-",
        help="What the command reads.  [default: the payload as JSON]",
    ),
    click.option(
        "--success-code",
        "success_codes",
        type=_EXIT_CODE,
        multiple=True,
        help="An exit code that means success; can be repeated.  [default: 0]",
    ),
    click.option(
        "--final-code",
        "final_codes",
        type=_EXIT_CODE,
        multiple=True,
        help="An exit code after which the command is not retried; can be repeated.",
    ),
    click.option("--max-memory", metavar="SIZE", help="Memory that the command may use, such as 512Mi."),
    click.option(
        "--max-cpu-time", metavar="DURATION", help="CPU time that the command may use, such as 60s."
    ),
    click.option("--max-output", metavar="SIZE", help="How much the command may print.  [default: 100Mi]"),
    click.option("--max-files", type=int, help="How many files the command may have open."),
    click.option("--max-processes", type=int, help="How many processes and threads it may have at once."),
    click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM ARGUMENT…]"),
)


def command_fields(given: dict[str, Any]) -> dict[str, Any]:
    """Takes the options of a command out of the given ones, and returns the fields of a job request."""
    words = given.pop("words", ())
    if given.pop("runs_command", False):
        if not words:
            raise click.UsageError("--command needs a program: --command -- backup-db --full")
        given["command"] = list(words)
    elif words:
        raise click.UsageError(
            f"unexpected argument {words[0]!r}; for a command, write --command before the --"
        )
    if "env" in given:
        given["env"] = dict(given["env"])
    codes = {name: given.pop(f"{name}_codes", None) for name in ("success", "final")}
    if any(codes.values()):
        given["exit_codes"] = {name: list(value) for name, value in codes.items() if value}
    limits = {name: given.pop(f"max_{name}", None) for name in ProcessLimits.__struct_fields__}
    if any(value is not None for value in limits.values()):
        given["process_limits"] = {name: value for name, value in limits.items() if value is not None}
    return given
