"""Errors that say that the database is down or busy, not that a statement is wrong. The caller can try again."""

from time import monotonic

import asyncpg
import structlog

from tickwork.model.errors import Unavailable

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


def reason_of(error: BaseException) -> str:
    """The text of an error. Never empty, as it would be for a timeout."""
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)


def unavailable(error: Exception) -> Unavailable:
    """What to raise instead of an error in LOST or BUSY."""
    return Unavailable(f"the database {_what_it_is(error)}: {reason_of(error)}")


def _what_it_is(error: Exception) -> str:
    if isinstance(error, _NOTHING_CAN_BE_STORED):
        return "cannot store anything"
    return "is busy" if isinstance(error, BUSY) else "cannot be reached"


class Condition:
    """Whether the database can store data. All pools of a process share it."""

    def __init__(self) -> None:
        self.stores = True  # False: only reading may work
        self._logged_at: dict[str, float] = {}

    def failed(self, error: Exception) -> None:
        """Log one line per minute and kind of failure: an outage causes many errors."""
        if isinstance(error, _NOTHING_CAN_BE_STORED):
            self.stores = False
        what, now = _what_it_is(error), monotonic()
        if now - self._logged_at.get(what, -_LOG_INTERVAL) >= _LOG_INTERVAL:
            self._logged_at[what] = now
            kind = type(error).__name__
            _log.warning(f"database unavailable: it {what}", kind=kind, error=reason_of(error))

    def can_store(self) -> None:
        self.stores = True
        _log.info("the database stores again")
