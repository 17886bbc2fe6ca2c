"""Errors that say that the database is down or busy, not that a statement is wrong. The caller can try again."""

from time import monotonic
from typing import TYPE_CHECKING

import asyncpg
import structlog

from tickwork.model.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

# The connection is lost.
LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server closed the connection while it was idle
    asyncpg.OperatorInterventionError,  # shut down, starting, cancelled or terminated
    asyncpg.TooManyConnectionsError,
    asyncpg.ReadOnlySQLTransactionError,  # a primary that was demoted
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TransactionTimeoutError,
)
# The connection can be used for the next attempt.
BUSY = (
    asyncpg.LockNotAvailableError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InsufficientResourcesError,  # disk, memory
    asyncpg.PostgresIOError,
)
_NOTHING_CAN_BE_STORED = (asyncpg.DiskFullError, asyncpg.PostgresIOError, asyncpg.ReadOnlySQLTransactionError)
_LOG_INTERVAL = 60.0  # seconds
_log = structlog.get_logger("tickwork")


class PoolExhausted(TimeoutError):
    """No connection of a pool became free in time."""


DISK_FULL = "has no space left on its disk"
CANNOT_BE_REACHED = "cannot be reached"
# What users are told, without the names and addresses that the error itself may contain. The first that fits counts.
_CAUSES: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((asyncpg.DiskFullError,), DISK_FULL),
    ((asyncpg.PostgresIOError,), "cannot write to its disk"),
    ((asyncpg.ReadOnlySQLTransactionError,), "takes no writes: it is a standby, or was made read-only"),
    ((asyncpg.TooManyConnectionsError,), "has no connection to spare"),
    ((asyncpg.InsufficientResourcesError,), "has too little memory"),
    (
        (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError, asyncpg.SerializationError),
        "is busy with other transactions",
    ),
    ((PoolExhausted,), "is too slow: no connection of this server became free"),
    ((TimeoutError, asyncpg.QueryCanceledError), "does not answer in time"),
)


def reason_of(error: BaseException) -> str:
    """The text of an error. Never empty, as it would be for a timeout."""
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)


def cause_of(error: BaseException) -> str:
    """What is wrong with the database, to complete the sentence "it …"."""
    root: BaseException | None = error
    while root is not None:
        for kinds, words in _CAUSES:
            if isinstance(root, kinds):
                return words
        root = root.__cause__
    return CANNOT_BE_REACHED


def unavailable(error: Exception, cause: str | None = None) -> Unavailable:
    """What to raise instead of an error in LOST or BUSY."""
    what = cause or cause_of(error)
    return Unavailable(f"the database {what}: {reason_of(error)}", cause=what)


class Condition:
    """Whether the database can store data, and what is wrong with it. All pools of a process share it."""

    def __init__(self) -> None:
        self.stores = True  # False: only reading may work
        self.cause: str | None = None  # of the last failure
        self.explain: Callable[[], str | None] | None = None  # says more when the database cannot be reached
        self._logged_at: dict[str, float] = {}

    def failed(self, error: Exception) -> Unavailable:
        """What to raise instead. Logs one line per minute and cause: an outage causes many errors."""
        if isinstance(error, _NOTHING_CAN_BE_STORED):
            self.stores = False
        cause, now = self._cause_of(error), monotonic()
        self.cause = cause
        if now - self._logged_at.get(cause, -_LOG_INTERVAL) >= _LOG_INTERVAL:
            self._logged_at[cause] = now
            kind = type(error).__name__
            _log.warning(f"database unavailable: it {cause}", kind=kind, error=reason_of(error))
        return unavailable(error, cause)

    def _cause_of(self, error: Exception) -> str:
        cause = cause_of(error)
        more = self.explain() if self.explain and cause == CANNOT_BE_REACHED else None
        return more or cause

    def can_store(self) -> None:
        self.stores = True
        _log.info("the database stores again")
