"""What happens to a COMMIT that is not answered in time: its connection is cut off. asyncpg would cancel it.

A COMMIT that waits for a synchronous standby must not be cancelled: PostgreSQL would show at once what it wrote, though
no standby has it. A client that repeats its request would then be told that it is stored, and a failover would lose it.
If the connection is only closed, the session goes on waiting: nobody sees what it wrote, and its locks hold, until a
standby has it.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
    _Acquired = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
else:
    _Connection = asyncpg.Connection


class CommittingConnection(_Connection):
    commits = False

    def _cancel_current_command(self, waiter: "asyncio.Future[None]", *others: Any) -> None:
        """asyncpg calls this when a statement takes too long, and when nobody waits for its answer any more."""
        if not self.commits:
            super()._cancel_current_command(waiter, *others)  # type: ignore[misc]
            return
        self._transport.abort()  # type: ignore[attr-defined]
        waiter.set_result(None)


@contextmanager
def cut_off_if_unanswered(connection: "_Acquired") -> Iterator[None]:
    """For a statement that commits."""
    raw = getattr(connection, "_con", None)  # there is no other way to it
    if not isinstance(raw, CommittingConnection):
        yield
        return
    raw.commits = True
    try:
        yield
    except (TimeoutError, asyncio.CancelledError):
        with suppress(asyncpg.InterfaceError):  # the pool may have terminated it already
            raw.terminate()
        raise
    finally:
        raw.commits = False
