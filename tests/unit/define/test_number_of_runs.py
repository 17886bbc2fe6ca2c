"""Jobs with a limited number of due times."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tickwork.model.job import JobRequest, JobSpec
from tickwork.model.parsed_schedule_and_preview import Recurring
from tickwork.schedule.compile_timing import CompiledTiming
from tickwork.store.job_timing import last_due_times

NOW = datetime(2026, 3, 4, 10, 30, tzinfo=UTC)


class WatchedTiming(CompiledTiming):
    """Records in which thread its due times were computed."""

    computed_in: threading.Thread | None = None

    def due_times(self, after: datetime) -> Iterator[datetime]:
        self.computed_in = threading.current_thread()
        return super().due_times(after)


def job(every: int, max_runs: int) -> JobSpec:
    text = msgspec.json.encode({"every": every, "max_runs": max_runs}).decode()
    request = JobRequest(task="work")
    fields = dict.fromkeys(JobSpec.__struct_fields__) | {"request": request, "parents": ()}
    return JobSpec(**{**fields, "schedule": Recurring(text, WatchedTiming(text))})


@pytest.mark.parametrize(("jobs", "in_thread"), [(3, False), (30, True)])
async def test_the_runs_of_many_schedules_are_counted_in_a_thread(jobs: int, in_thread: bool) -> None:
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
        assert (spec.schedule.timing.computed_in is not threading.main_thread()) is in_thread  # type: ignore[attr-defined]
