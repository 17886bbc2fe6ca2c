"""Exit codes, and how errors become a message on stderr and an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from tickwork.model.errors import Conflict, Invalid, NotAllowed, NotFound, TickworkError

FAILED, USAGE, NOT_FOUND, CONFLICT, NOT_ALLOWED, TIMED_OUT = 1, 2, 3, 4, 5, 124
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (Invalid, USAGE),
    (NotFound, NOT_FOUND),
    (Conflict, CONFLICT),
    (NotAllowed, NOT_ALLOWED),
    (TimeoutError, TIMED_OUT),
    (TickworkError, FAILED),
)


@contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    try:
        yield
    except (TickworkError, TimeoutError) as error:
        for message in _messages(error):
            click.echo(f"{click.style('error:', fg='red')} {message}", err=True)
        code = next(code for kind, code in _CODES if isinstance(error, kind))
        raise click.exceptions.Exit(code) from error


def _messages(error: Exception) -> list[str]:
    if isinstance(error, Invalid):
        return list(map(str, error.errors))
    return [str(error) or "no answer in time"]
