"""What can go wrong, as seen by whoever called.

TickworkError
├── Invalid            the request is wrong; names every bad field
│   ├── BadId          not an id of that kind
│   └── KeyReused      an idempotency key that came with another request before
├── NotFound           no such thing, for this tenant
├── Conflict           the thing is not in the state the request needs
│   ├── Stale          it was changed since the caller read it
│   └── StaleAttempt   the attempt is not, or no longer, in the hands of who reports on it
├── LeaseGone          the worker was not heard of for too long: it must register again
├── QueueFull          the queue holds as many waiting executions as it may
├── NotAllowed         the key may not do this
├── Unavailable        the database cannot be reached just now
└── WrongSchema        the database's schema and this program do not go together
"""

from collections.abc import Sequence
from typing import NamedTuple


class FieldError(NamedTuple):
    """One bad field: where it is, what is wrong, and what would be right."""

    path: str
    message: str
    hint: str | None = None

    def at(self, place: int, count: int) -> "FieldError":
        """With the place of its job in the request, when there are several."""
        return self._replace(path=f"[{place}].{self.path}") if count > 1 else self


class TickworkError(Exception):
    """Anything Tickwork reports on purpose."""


class Invalid(TickworkError):
    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{error.path}: {error.message}" for error in errors))

    @classmethod
    def field(cls, path: str, message: str, hint: str | None = None) -> "Invalid":
        return cls([FieldError(path, message, hint)])


class BadId(Invalid):
    def __init__(self, text: str, kind: str) -> None:
        super().__init__([FieldError("id", f"{text[:80]!r} is not the id of a {kind}")])


class KeyReused(Invalid):
    def __init__(self) -> None:
        super().__init__([FieldError("Idempotency-Key", "came with another request before", "use a new key")])


class NotFound(TickworkError):
    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        super().__init__(f"there is no {kind} {name}")


class Conflict(TickworkError):
    pass


class Stale(Conflict):
    pass


class StaleAttempt(Conflict):
    pass


class LeaseGone(TickworkError):
    pass


class QueueFull(TickworkError):
    pass


class NotAllowed(TickworkError):
    pass


class Unavailable(TickworkError):
    pass


class WrongSchema(TickworkError):
    pass
