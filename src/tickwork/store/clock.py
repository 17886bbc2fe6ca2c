"""What time it is by the database, without asking it each time.

A reading is never ahead of the database: it counts from when an answer arrived, and the answer was made before that.
So whatever waits for a time by this clock is never early.
"""

from collections import deque
from time import monotonic

from tickwork.model.ids import to_micros
from tickwork.store.pool import Database
from tickwork.store.query import queries

_KEPT = 60  # readings: the best of them counts, the old ones go so that drift is followed


class DatabaseClock:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._offsets: deque[int] = deque(maxlen=_KEPT)

    async def read(self) -> bool:
        asked = _local()
        (row,) = await self._database.fetch(queries("read")["clock"])
        answered = _local()
        offset = to_micros(row["now"]) - answered
        if self._offsets and max(self._offsets) > offset + (answered - asked):
            self._offsets.clear()  # the database's clock was set back: what was read before is of no use
        self._offsets.append(offset)
        return False

    def micros(self) -> int:
        return _local() + max(self._offsets)


def _local() -> int:
    return int(monotonic() * 1_000_000)
