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
    what = "is busy" if isinstance(error, BUSY) else "cannot be reached"
    if isinstance(error, _NOTHING_CAN_BE_STORED):
        what = "cannot store anything"
    return Unavailable(f"the database {what}: {reason_of(error)}")


class Condition:
    """How the database is doing, as all in this process who use it find out together."""

    def __init__(self) -> None:
        self.stores = True  # False: reading may work, writing does not
        self._told: dict[str, float] = {}

    def failed(self, error: Exception) -> None:
        """One line a minute tells of each kind."""
        if isinstance(error, _NOTHING_CAN_BE_STORED):
            self.stores = False
        kind, now = type(error).__name__, monotonic()
        if now - self._told.get(kind, -_TOLD_EVERY) >= _TOLD_EVERY:
            self._told[kind] = now
            _log.warning("database unavailable", kind=kind, error=reason_of(error))

    def can_store(self) -> None:
        self.stores = True
        _log.info("the database stores again")
