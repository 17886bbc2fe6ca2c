"""What counting and reading statistics ask of the store."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias

from tickwork.model.statistics import Counted, Histogram, SeriesFilter


class Writer(NamedTuple):
    """A node that appends what it has counted."""

    id: int
    writes: int  # so far

    def after_write(self) -> "Writer":
        return self._replace(writes=self.writes + 1)


class UnknownWriter(Exception):
    """The node was silent for so long that the others took it for dead."""


class MinuteCounts(NamedTuple):
    """What a node has counted in a lane and a minute."""

    at: datetime
    lane_id: int
    fired: int
    started: int
    completed: int
    start_delays: Histogram
    run_times: Histogram


class StatisticsWrite(NamedTuple):
    counted: Sequence[MinuteCounts]
    uncertain: Sequence[datetime]  # minutes to be counted again


Place: TypeAlias = tuple[datetime, int]  # of an execution in the order of due times: its due time and its job


class MinuteToCount(NamedTuple):
    """A minute that this node counts from the executions, while it has the claim to do so."""

    claim: int
    minute: datetime
    fired_only: bool  # else all that nodes count in memory
    tenants: Sequence[int]
    begin: datetime  # of the due times of the executions to look at
    end: datetime


class CountedSlice(NamedTuple):
    fired: Mapping[int, int]  # by lane
    started: Sequence[
        tuple[int, int | None, int]
    ]  # lane, bucket of the start delay of first attempts, number
    completed: Sequence[tuple[int, int, int]]  # lane, bucket of the run time, number
    size: int  # executions that were looked at
    last: Place | None  # of the last one


class CountedExecutions(NamedTuple):
    """What became of executions, in steps; several may be of the same step."""

    counted: list[Counted]
    complete_since: datetime | None  # None: all of them are counted


class StatisticsStore(Protocol):
    async def add_writer(self) -> Writer: ...

    async def remove_writer(self, writer: Writer) -> None: ...

    async def write(self, writer: Writer, write: StatisticsWrite) -> None:
        """Append what a node has counted. A write that is repeated with the same number takes effect once. Raises
        UnknownWriter."""

    async def find_silent_nodes(self) -> None:
        """Ask for the minutes to be counted again of which killed nodes may not have written everything."""

    async def begin_count(self) -> MinuteToCount | None:
        """The next minute to count from the executions; none while another node does so."""

    async def renew_count(self, count: MinuteToCount) -> bool:
        """Whether the count is still this node's."""

    async def count_slice(
        self, count: MinuteToCount, tenant_id: int, after: Place, limit: int
    ) -> CountedSlice: ...

    async def end_count(self, count: MinuteToCount, counted: Sequence[MinuteCounts]) -> None:
        """Put what was counted in the place of what was there before, unless another node counts by now."""

    async def merge(self) -> bool:
        """Merge minutes into an hour, and hours into a day. Returns whether there may be more."""

    async def delete_old(self) -> bool:
        """Delete some of what is older than it is kept. Returns whether there may be more."""

    async def series(self, tenant_id: int, wanted: SeriesFilter, limit: int) -> list[Counted]: ...

    async def executions_of_jobs(
        self, tenant_id: int, jobs: Sequence[int], wanted: SeriesFilter, limit: int
    ) -> CountedExecutions:
        """What became of the executions of some jobs that were due in that time: of the latest, up to the limit, which
        holds for each job."""

    async def executions_with_tag(
        self, tenant_id: int, tag: str, wanted: SeriesFilter, limit: int
    ) -> CountedExecutions:
        """The same of all jobs with a tag, among the latest executions of all jobs, up to the limit."""

    async def now(self) -> datetime: ...
