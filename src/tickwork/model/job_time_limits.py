"""Checks the time limits of a job: how long it may run, from when on that is news, and how long it may wait."""

from collections.abc import Iterator
from datetime import timedelta

from tickwork.model.errors import FieldError
from tickwork.model.field_types import Duration
from tickwork.model.job import JobRequest, run_settings, timeout_errors
from tickwork.model.quantities import parse_duration

SHORTEST_WARNING = timedelta(seconds=5)  # what runs is looked at from then on
_SHORTEST_WAIT, _LONGEST_WAIT = timedelta(seconds=1), timedelta(days=366)


def time_limit_errors(request: JobRequest, jitter: timedelta = timedelta(0)) -> Iterator[FieldError]:
    """`jitter`: of its schedule."""
    timeout = run_settings(request).timeout
    errors = list(timeout_errors(timeout))
    yield from errors
    if request.warn_after is not None:
        yield from _warning_errors(request.warn_after, None if errors else parse_duration(timeout))
    if request.start_within is not None:
        yield from _start_errors(request.start_within, jitter)


def _warning_errors(given: Duration, timeout: timedelta | None) -> Iterator[FieldError]:
    try:
        warn_after = parse_duration(given)
    except ValueError as error:
        yield FieldError("warn_after", str(error))
        return
    if warn_after < SHORTEST_WARNING:
        yield FieldError("warn_after", f"is {SHORTEST_WARNING.total_seconds():g} s or more")
    elif timeout and warn_after >= timeout:
        hint = "shorten it, or give the job a longer timeout"
        yield FieldError("warn_after", f"is not before the timeout of {timeout.total_seconds():g} s", hint)


def _start_errors(given: Duration, jitter: timedelta) -> Iterator[FieldError]:
    try:
        start_within = parse_duration(given)
    except ValueError as error:
        yield FieldError("start_within", str(error))
        return
    if not _SHORTEST_WAIT <= start_within <= _LONGEST_WAIT:
        least, most = _SHORTEST_WAIT.total_seconds(), _LONGEST_WAIT.days
        yield FieldError("start_within", f"is between {least:g} s and {most} days")
    elif jitter >= start_within:
        hint = "give a longer time, or the schedule less jitter"
        yield FieldError(
            "start_within", f"is not longer than the jitter of {jitter.total_seconds():g} s", hint
        )
