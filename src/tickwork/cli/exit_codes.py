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
def explained() -> Iterator[None]:
    """Turn errors of Tickwork into a message and an exit code."""
    try:
        yield
    except (TickworkError, TimeoutError) as error:
        for line in _lines(error):
            click.echo(f"{click.style('error:', fg='red')} {line}", err=True)
        code = next(code for kind, code in _CODES if isinstance(error, kind))
        raise click.exceptions.Exit(code) from error


def _lines(error: Exception) -> list[str]:
    if isinstance(error, Invalid):
        return list(map(str, error.errors))
    return [str(error) or "no answer in time"]
