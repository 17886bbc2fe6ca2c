"""The option of workers that run commands: which programs they allow."""

import os

import click

from tickwork.model.command_allow_list import program_problem


def program_pattern(text: str) -> str:
    if os.name != "posix":
        raise click.BadParameter("commands run on Linux and macOS only")
    if problem := program_problem(text):
        raise click.BadParameter(f"{text!r} {problem[0]}; write a pattern {problem[1]}")
    return text


allow_command_option = click.option(
    "--allow-command",
    type=program_pattern,
    multiple=True,
    metavar="PATTERN",
    help="Run jobs whose command begins with such a program: 'backup-*', /opt/jobs/report. Can be repeated.",
)
