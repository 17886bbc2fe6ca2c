"""The errors that a caller can get.

TickworkError
├── Invalid            the request is wrong; names every bad field
│   ├── BadId          not an id of that kind
│   └── KeyReused      an idempotency key that was used for a different request
├── NotFound           no such thing, for this tenant
├── Conflict           the thing is not in the state the request needs
│   ├── Stale          it was changed since the caller read it
│   └── StaleAttempt   the worker that reports on the attempt does not have it, or no longer
├── LeaseGone          the worker's lease expired: it must register again
├── QueueFull          the backlog of the queue is at its limit
├── NotAllowed         the key may not do this
├── Unavailable        the database cannot be reached, or cannot do it, just now
└── WrongSchema        the database's schema does not match this version of the program
"""

from collections.abc import Sequence
from typing import NamedTuple


class FieldError(NamedTuple):
    """One bad field: where it is, what is wrong, and what would be right."""

    path: str
    message: str
    hint: str | None = None

    def at(self, place: int, count: int) -> "FieldError":
        """With the index of its job in the request, when there are several jobs."""
        return self._replace(path=f"[{place}].{self.path}") if count > 1 else self

    def __str__(self) -> str:
        text = f"{self.path}: {self.message}" if self.path else self.message
        return f"{text} ({self.hint})" if self.hint else text


class TickworkError(Exception):
    """Every error that Tickwork raises on purpose."""


class Invalid(TickworkError):
    """The request is wrong. `errors` lists every bad field, what is wrong with it and what would be right."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(map(str, errors)))

    @classmethod
    def field(cls, path: str, message: str, hint: str | None = None) -> "Invalid":
        """The error of one bad field."""
        return cls([FieldError(path, message, hint)])


class BadId(Invalid):
    """This is not an id of that kind."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__([FieldError("id", f"{text[:80]!r} is not the id of a {kind}")])


class KeyReused(Invalid):
    """The idempotency key was used for a different request before."""

    def __init__(self) -> None:
        super().__init__(
            [FieldError("Idempotency-Key", "was used with another request before", "use a new key")]
        )


class NotFound(TickworkError):
    """There is no such thing, for this tenant."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        super().__init__(f"there is no {kind} {name}")


class Conflict(TickworkError):
    """The thing is not in the state that the request needs."""


class Stale(Conflict):
    """It has changed since the caller read it."""


class StaleAttempt(Conflict):
    """The worker that reports on the attempt does not have it, or no longer."""


class LeaseGone(TickworkError):
    """The worker's lease expired: it must register again."""


class QueueFull(TickworkError):
    """The backlog of the queue is at its limit. `fits_later`: what was to be added is not more than that limit."""

    def __init__(self, message: str, *, fits_later: bool = True) -> None:
        self.fits_later = fits_later
        super().__init__(message)


class NotAllowed(TickworkError):
    """The key is missing or unknown, or may not do this."""


class Unavailable(TickworkError):
    """The server, or its database, cannot be reached just now. `cause`: what is wrong with the database, in words that
    give nothing away."""

    def __init__(self, message: str, cause: str | None = None) -> None:
        self.cause = cause
        super().__init__(message)


class WrongSchema(TickworkError):
    """The database's schema does not match this version of the program."""

    def __init__(self, found: str, fix: str) -> None:
        self.found, self.fix = found, fix
        super().__init__(f"{found}: {fix}")


TIMEOUT = "Timeout"  # the type of the failure of an attempt that took too long
_LONGEST = 300


def printable(text: str) -> str:
    """Control characters are escaped, so that a terminal does not obey them; newlines and tabs stay."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else ascii(letter)[1:-1] for letter in text
    )


def one_line(kind: str, message: str) -> str:
    """The type and the message on one line, cut if long."""
    text = " ".join(f"{kind}: {message[:_LONGEST]}".split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
