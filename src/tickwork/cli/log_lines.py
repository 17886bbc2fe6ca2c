"""Formats log lines for reading: time, level and text, with a heading where the attempt or the day changes."""

import click

from tickwork.cli.output import full
from tickwork.model.attempt_log import AttemptProgress, LogEntry

_COLOURS = {"debug": "bright_black", "warning": "yellow", "error": "red", "critical": "red"}
_WIDEST_LEVEL = 8
_TIME = 12  # characters
_RULE = "──"


def render(entry: LogEntry, before: LogEntry | None) -> str:
    """The line, with a heading if the entry before belongs to another attempt or day."""
    line = f"{_time(entry)}  {_level(entry)}  {_text(entry)}".rstrip()
    return line if before and _heading(before) == _heading(entry) else f"{_heading(entry)}\n{line}"


def render_progress(progress: AttemptProgress) -> str:
    return full(f"progress: {progress.fraction:.0%} {progress.message or ''}".rstrip())


def _heading(entry: LogEntry) -> str:
    rule = f"{_RULE} attempt {entry.attempt}, {entry.at.astimezone():%Y-%m-%d} {_RULE}"
    return click.style(rule, bold=True)


def _time(entry: LogEntry) -> str:
    local = entry.at.astimezone()
    return f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"


def _level(entry: LogEntry) -> str:
    padded = full(entry.level).ljust(_WIDEST_LEVEL)
    return click.style(padded, fg=_COLOURS[entry.level]) if entry.level in _COLOURS else padded


def _text(entry: LogEntry) -> str:
    """Aligns further lines of an entry under the first."""
    margin = "\n" + " " * (_TIME + 2 + _WIDEST_LEVEL + 2)
    return margin.join(full(entry.text).splitlines())
