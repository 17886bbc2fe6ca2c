"""Jobs that have only so many due times."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tickwork.model.job import JobRequest, JobSpec
from tickwork.model.schedule import Recurring
from tickwork.schedule.timing import CompiledTiming
from tickwork.store.job_timing import last_due_times

NOW = datetime(2026, 3, 4, 10, 30, tzinfo=UTC)


class WatchedTiming(CompiledTiming):
    """Knows in which thread it was walked through."""

    walked_in: threading.Thread | None = None

    def due_times(self, after: datetime) -> Iterator[datetime]:
        self.walked_in = threading.current_thread()
        return super().due_times(after)


def job(every: int, max_runs: int) -> JobSpec:
    text = msgspec.json.encode({"every": every, "max_runs": max_runs}).decode()
    request = JobRequest(task="work")
    fields = dict.fromkeys(JobSpec.__struct_fields__) | {"request": request, "parents": ()}
    return JobSpec(**{**fields, "schedule": Recurring(text, WatchedTiming(text))})


@pytest.mark.parametrize(("jobs", "beside"), [(3, False), (30, True)])
async def test_many_runs_of_many_schedules_are_counted_beside_the_event_loop(jobs: int, beside: bool) -> None:
    specs = {number: job(60 + number, 1000) for number in range(jobs)}
    found = await last_due_times(specs, NOW)
    for number, spec in specs.items():
        last = found[number]
        assert last is not None
        assert (
            timedelta(0)
            <= NOW + 1000 * timedelta(seconds=60 + number) - last
            < timedelta(seconds=60 + number)
        )
        assert isinstance(spec.schedule, Recurring)
        assert (spec.schedule.timing.walked_in is not threading.main_thread()) is beside  # type: ignore[attr-defined]
