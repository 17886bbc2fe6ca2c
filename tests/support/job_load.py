"""Jobs of all kinds, and by plain arithmetic when each of them is due."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from tickwork.client.argument_types import JobFields
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_job_id

_SECOND = timedelta(seconds=1)
_STEPS = (2, 3, 5)  # seconds between the due times of recurring jobs
_TASKS: tuple[dict[str, Any], ...] = (
    {"task": "quick"},
    {"task": "slow", "payload": {"seconds": 0.02}},
    {"task": "threaded", "payload": {"seconds": 0.01}},
    {"task": "quick"},
    {"task": "slow", "payload": {"seconds": 1.5}},
)
_TROUBLED: tuple[dict[str, Any], ...] = (
    {"task": "in_process", "payload": {"seconds": 0.02}},
    {"task": "failing", "payload": {"times": 1}},
    {"task": "snoozing", "payload": {"times": 1}},
    {"task": "hopeless"},
)
LIMIT: dict[str, Any] = {"key": "shared", "max_running": 3}
_LIMITED = 3  # the place in ten of quick jobs that are limited
_GIVEN_UP = 7  # one in so many is not started late
Due = set[tuple[int, datetime]]  # job, due time


class Planned(NamedTuple):
    request: dict[str, Any]
    due: list[datetime]


class Load:
    """One-time jobs spread evenly, and recurring ones that share a few rules and end by themselves."""

    def __init__(self, begin: datetime, over: timedelta, jobs: int) -> None:
        assert begin.microsecond == 0
        assert over >= max(_STEPS) * _SECOND  # so that each of them is due at least once
        self._begin, self._over = begin, over
        recurring = jobs // 5
        times = self._one_time(jobs - recurring)
        rules = self._recurring(recurring)
        self.planned = [
            Planned({**_TASKS[number % len(_TASKS)], "schedule": schedule, "overlap": "allow"}, due)
            for number, (schedule, due) in enumerate([*times, *rules])
        ]

    @property
    def requests(self) -> list[JobRequest | JobFields]:
        return [cast("JobFields", planned.request) for planned in self.planned]

    @property
    def executions(self) -> int:
        return sum(len(planned.due) for planned in self.planned)

    def due(self, ids: Sequence[str]) -> Due:
        """When the jobs, created under these ids in the order of the requests, are due."""
        pairs = zip(ids, self.planned, strict=True)
        return {(parse_job_id(job), at) for job, planned in pairs for at in planned.due}

    def _one_time(self, jobs: int) -> Iterator[tuple[dict[str, Any], list[datetime]]]:
        for number in range(jobs):
            at = self._begin + self._over * number / jobs
            yield {"at": at.isoformat()}, [at]

    def _recurring(self, jobs: int) -> Iterator[tuple[dict[str, Any], list[datetime]]]:
        seconds = [self._begin + _SECOND * number for number in range(int(self._over / _SECOND))]
        within = {"start": seconds[0].isoformat(), "end": seconds[-1].isoformat()}
        for number in range(jobs):
            step = _STEPS[number % len(_STEPS)]
            if number % 2:
                yield {"every": f"{step}s", **within}, seconds[::step]
            else:
                due = [at for at in seconds if at.second % step == 0]
                yield {"cron": f"*/{step} * * * * *", **within}, due


class Standing:
    """Recurring jobs of every kind, due every few seconds until somebody ends them."""

    def __init__(self, begin: datetime, jobs: int, target_url: str) -> None:
        call = {"http": {"url": target_url, "method": "POST"}, "payload": {"seconds": 0.1}}
        kinds = (*_TASKS, *_TROUBLED, call)
        self.requests = [
            {
                "key": f"standing-{number}",
                **kinds[number % len(kinds)],
                "schedule": _every(begin, 1 + number % 5, number),
                "overlap": ("allow", "skip", "queue")[number // 5 % 3],
                "limits": [LIMIT] if number % len(kinds) == _LIMITED else [],
                "start_within": "3s" if number % _GIVEN_UP == 0 else None,
            }
            for number in range(jobs)
        ]


def _every(begin: datetime, step: int, number: int) -> dict[str, Any]:
    rule = {"every": f"{step}s"} if number % 2 else {"cron": f"*/{step} * * * * *"}
    return {**rule, "start": begin.isoformat()}


def due_between(schedule: dict[str, Any], begin: datetime, end: datetime) -> list[datetime]:
    """When such jobs are due, from the one to the other, that not included."""
    if "at" in schedule:
        at = datetime.fromisoformat(schedule["at"])
        return [at] if begin <= at < end else []
    if "start" not in schedule:
        return []
    start = datetime.fromisoformat(schedule["start"])
    step = int(schedule["every"][:-1]) if "every" in schedule else int(schedule["cron"].split()[0][2:])
    origin = start if "every" in schedule else start.replace(second=0)  # a minute is a multiple of every step
    first = origin + step * _SECOND * max(-(-(max(begin, start) - origin) // (step * _SECOND)), 0)
    return [
        first + step * _SECOND * number for number in range(max(-(-(end - first) // (step * _SECOND)), 0))
    ]
