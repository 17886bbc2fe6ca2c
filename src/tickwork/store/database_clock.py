"""The database's time, without a query for each reading.

A reading is never ahead of the database: it counts from when an answer arrived, and the database read its clock before
that. So nothing that waits for a time by this clock starts early.
"""

from collections import deque
from time import monotonic, time

import structlog
from prometheus_client import Gauge

from tickwork.model.public_ids import to_micros
from tickwork.store.pool import Database

_KEPT = 60  # answers: the best of them counts, and old ones go because clocks drift
_TOLERATED = 1.0  # seconds
_SKEW = Gauge("tickwork_clock_skew_seconds", "How far this machine's clock is ahead of the database's.")
_log = structlog.get_logger("tickwork")


class DatabaseClock:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._offsets: deque[int] = deque(maxlen=_KEPT)
        self._off = False
        self.skew = 0.0  # seconds by which this machine's clock is ahead of the database's
        self.latency = 0.0  # seconds for the latest reading

    async def read(self) -> bool:
        asked = _local()
        now = await self._database.now()
        answered = _local()
        self.latency = (answered - asked) / 1_000_000
        offset = to_micros(now) - answered
        if self._offsets and max(self._offsets) > offset + (answered - asked):
            self._offsets.clear()  # the database's clock was set back, so the earlier answers are wrong
        self._offsets.append(offset)
        self._compare(to_micros(now) / 1_000_000, time())
        return False

    def _compare(self, database: float, here: float) -> None:
        """Warn when this machine's clock is off. It decides nothing, but logs and people use it."""
        self.skew = here - database
        _SKEW.set(self.skew)
        off = abs(here - database) > _TOLERATED
        if off and not self._off:
            _log.warning("this machine's clock is off", seconds=round(here - database, 1))
        self._off = off

    def micros(self) -> int:
        return _local() + max(self._offsets)


def _local() -> int:
    return int(monotonic() * 1_000_000)
