"""Errors of the database that say nothing about what was asked: it is away, or cannot do it just now. Try again."""

from time import monotonic

import asyncpg
import structlog

from tickwork.model.errors import Unavailable

# The connection is of no use any more.
LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server's farewell came while the connection was idle
    asyncpg.OperatorInterventionError,  # shut down, starting, cancelled, or terminated by somebody
    asyncpg.TooManyConnectionsError,
    asyncpg.ReadOnlySQLTransactionError,  # a primary that was demoted
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TransactionTimeoutError,
)
# It serves for the next try.
BUSY = (
    asyncpg.LockNotAvailableError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InsufficientResourcesError,  # disk, memory
    asyncpg.PostgresIOError,
)
_NOTHING_CAN_BE_STORED = (asyncpg.DiskFullError, asyncpg.PostgresIOError, asyncpg.ReadOnlySQLTransactionError)
_TOLD_EVERY = 60.0  # seconds
_log = structlog.get_logger("tickwork")


def reason_of(error: BaseException) -> str:
    """Never empty, as that of a timeout would be."""
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)


def unavailable(error: Exception) -> Unavailable:
    """What to raise instead of one of these."""
    return Unavailable(f"the database {_what_it_is(error)}: {reason_of(error)}")


def _what_it_is(error: Exception) -> str:
    if isinstance(error, _NOTHING_CAN_BE_STORED):
        return "cannot store anything"
    return "is busy" if isinstance(error, BUSY) else "cannot be reached"


class Condition:
    """How the database is doing, as all in this process who use it find out together."""

    def __init__(self) -> None:
        self.stores = True  # False: reading may work, writing does not
        self._told: dict[str, float] = {}

    def failed(self, error: Exception) -> None:
        """One line a minute tells that it is so: an outage shows itself by several errors."""
        if isinstance(error, _NOTHING_CAN_BE_STORED):
            self.stores = False
        what, now = _what_it_is(error), monotonic()
        if now - self._told.get(what, -_TOLD_EVERY) >= _TOLD_EVERY:
            self._told[what] = now
            kind = type(error).__name__
            _log.warning(f"database unavailable: it {what}", kind=kind, error=reason_of(error))

    def can_store(self) -> None:
        self.stores = True
        _log.info("the database stores again")
