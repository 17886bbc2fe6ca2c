"""Formats log lines for reading: time, level and text, with a heading where the attempt or the day changes."""

import click

from tickwork.cli.output import full
from tickwork.model.attempt_log import AttemptProgress, LogEntry

_COLOURS = {"debug": "bright_black", "warning": "yellow", "error": "red", "critical": "red"}
_LEVEL_WIDTH = 8
_TIME_WIDTH = 12
_RULE = "──"


def format_entry(entry: LogEntry, previous: LogEntry | None) -> str:
    """The line, with a heading if the previous entry belongs to another attempt or day."""
    line = f"{_time(entry)}  {_level(entry)}  {_text(entry)}".rstrip()
    return line if previous and _heading(previous) == _heading(entry) else f"{_heading(entry)}\n{line}"


def format_progress(progress: AttemptProgress) -> str:
    return full(f"progress: {progress.fraction:.0%} {progress.message or ''}".rstrip())


def _heading(entry: LogEntry) -> str:
    heading = f"{_RULE} attempt {entry.attempt}, {entry.at.astimezone():%Y-%m-%d} {_RULE}"
    return click.style(heading, bold=True)


def _time(entry: LogEntry) -> str:
    local = entry.at.astimezone()
    return f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"


def _level(entry: LogEntry) -> str:
    padded = full(entry.level).ljust(_LEVEL_WIDTH)
    return click.style(padded, fg=_COLOURS[entry.level]) if entry.level in _COLOURS else padded


def _text(entry: LogEntry) -> str:
    """Aligns further lines of an entry under the first."""
    margin = "\n" + " " * (_TIME_WIDTH + 2 + _LEVEL_WIDTH + 2)
    return margin.join(full(entry.text).splitlines())
