"""Which jobs or tasks get a row: those that fail first, then those that run, then those that ran longest."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tickwork.model.overview import FailingJob
from tickwork.model.public_ids import job_id
from tickwork.model.timeline import RowKind
from tickwork.model.upcoming import DueTime
from tickwork.store.timeline_store import RecentRuns, RunningNow

_ENOUGH = 50  # executions that tell what an installation is like
_MOST_FAILED = 9  # that make a difference


class Candidate(NamedTuple):
    """What is known of a job or task before its row is read."""

    id: str
    task: str
    failing: bool = False
    failed: int = 0
    running: int = 0
    executions: int = 0
    seconds: float = 0.0  # that they ran
    due: int = 0

    @property
    def is_active(self) -> bool:
        """Whether there is anything to draw."""
        return bool(self.failed or self.running or self.executions or self.due)

    @property
    def rank(self) -> tuple[bool, int, bool, float]:
        busy = self.seconds + self.executions + self.due
        return self.failing, min(self.failed, _MOST_FAILED), self.running > 0, busy

    def and_also(self, other: "Candidate") -> "Candidate":
        """The same job or task, as two sources know it."""
        return self._replace(
            failing=self.failing or other.failing,
            failed=max(self.failed, other.failed),  # both may have counted the same
            running=self.running + other.running,
            executions=self.executions + other.executions,
            seconds=self.seconds + other.seconds,
            due=self.due + other.due,
        )


def usual_rows(recent: Sequence[RecentRuns]) -> RowKind:
    """Where most jobs run one time only, rows of jobs would say nothing: rows are tasks then."""
    executions = sum(each.executions for each in recent)
    jobs = len({each.job for each in recent if each.executions})
    return "task" if executions >= _ENOUGH and jobs > executions / 2 else "job"


def choose_rows(candidates: Iterable[Candidate], most: int) -> tuple[list[Candidate], int]:
    """The rows, and how many got none. Equal ones keep their order."""
    found: dict[str, Candidate] = {}
    for each in candidates:
        found[each.id] = found[each.id].and_also(each) if each.id in found else each
    active = [each for each in found.values() if each.is_active]
    ranked = sorted(active, key=lambda each: each.rank, reverse=True)
    return ranked[:most], max(len(ranked) - most, 0)


def failing_candidates(by: RowKind, failing: Iterable[FailingJob]) -> Iterator[Candidate]:
    for each in failing:
        yield Candidate(each.job_id if by == "job" else each.task, each.task, failing=True)


def recent_candidates(by: RowKind, recent: Iterable[RecentRuns]) -> Iterator[Candidate]:
    for job, task, executions, failed, seconds in recent:
        name = job_id(job) if by == "job" else task
        yield Candidate(name, task, failed=failed, executions=executions, seconds=seconds)


def running_candidates(by: RowKind, running: Iterable[RunningNow]) -> Iterator[Candidate]:
    for each in running:
        yield Candidate(job_id(each.job) if by == "job" else each.task, each.task, running=1)


def due_candidates(by: RowKind, due: Iterable[DueTime]) -> Iterator[Candidate]:
    for each in due:
        yield Candidate(each.job_id if by == "job" else each.task, each.task, due=1)
