"""How long nothing was fired: of each second in which something was due, how late the first of it began."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median

from support.attempt_ledger import Run
from tickwork.model.public_ids import parse_execution_id

_AFTERWARDS = timedelta(seconds=5)  # until connections are there again
_MICROS = 1_000_000


class FiringDelays:
    def __init__(self, runs: Sequence[Run]) -> None:
        self._late: dict[int, float] = {}  # by due second
        for run in runs:
            if run.attempt.attempt == 1:
                second = int(parse_execution_id(run.attempt.execution)[1].timestamp())
                late = run.lateness / _MICROS
                self._late[second] = min(late, self._late.get(second, late))
        self._normal = median(self._late.values()) if self._late else 0.0

    def longest(self, begun_at: datetime, healed_at: datetime) -> float:
        """Seconds beyond what is normal, of what was due from the one to a bit after the other."""
        seconds = range(int(begun_at.timestamp()), int((healed_at + _AFTERWARDS).timestamp()) + 1)
        late = max((self._late[second] for second in seconds if second in self._late), default=self._normal)
        return round(max(late - self._normal, 0.0), 2)
