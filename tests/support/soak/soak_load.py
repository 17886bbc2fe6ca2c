"""The jobs of a soak: so many executions are due in every second, and by plain arithmetic it is known which."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from tickwork.client.argument_types import JobFields
from tickwork.model.job import JobRequest

PERIOD = 10  # seconds between the due times of a job
LIMIT: dict[str, Any] = {"key": "soak", "max_running": 8}
_SECOND = timedelta(seconds=1)
_LIMITED, _STUMBLING, _SLOW = 1, 2, 7  # of 100: so many are of this kind or one before it
# Every due time runs, however long nobody fired.
_CATCH_UP = {"policy": "all", "within": "1h", "max": 10_000}


class SoakLoad(NamedTuple):
    begin: datetime
    rate: int
    minutes: float

    @property
    def jobs(self) -> int:
        return self.rate * PERIOD

    @property
    def times(self) -> int:
        """How often each job is due."""
        return max(int(self.minutes * 60 / PERIOD), 1)

    @property
    def executions(self) -> int:
        return self.jobs * self.times

    @property
    def end(self) -> datetime:
        return self.begin + self.times * PERIOD * _SECOND

    def first_due(self, number: int) -> datetime:
        return self.begin + number % PERIOD * _SECOND

    @property
    def requests(self) -> list[JobRequest | JobFields]:
        return [cast("JobFields", self.request(number)) for number in range(self.jobs)]

    def request(self, number: int) -> dict[str, Any]:
        first = self.first_due(number)
        last = first + (self.times - 1) * PERIOD * _SECOND
        schedule = {"every": f"{PERIOD}s", "start": first.isoformat(), "end": (last + _SECOND).isoformat()}
        kind = _kind(number // PERIOD % 100)
        return {
            "key": f"soak-{number}",
            "schedule": schedule,
            "overlap": "allow",
            "catch_up": _CATCH_UP,
            **kind,
        }


def _kind(place: int) -> dict[str, Any]:
    if place < _LIMITED:
        return {"task": "soak.slow", "payload": {"seconds": 0.2}, "limits": [LIMIT]}
    if place < _STUMBLING:
        return {"task": "soak.stumbling", "retry": {"initial": "1s"}}
    if place < _SLOW:
        return {"task": "soak.slow", "payload": {"seconds": 0.2}}
    return {"task": "soak.quick"}
