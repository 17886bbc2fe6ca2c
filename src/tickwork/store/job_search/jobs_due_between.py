"""Which jobs can be due in a range of time.

If they are few, they are listed. If the range is narrow, the index has them: one-time jobs by the hour in which they
are due, recurring ones by their rules. Of a wide range, any job can be one: it has many, which are met soon.
"""

from datetime import datetime, timedelta

from tickwork.model.field_types import EARLIEST, to_utc
from tickwork.model.job_filter import JobFilter
from tickwork.store.job_index.read_index import Bits, IndexState, LikelyJobs, Wanted, bits_by_segment
from tickwork.store.job_index.terms import hour_hash, hour_of, rule_hash
from tickwork.store.job_search.by_next_run import LATEST, NextRuns
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_FEW = 2_000  # jobs that are listed
_SHORT = timedelta(hours=1)  # a range of which an hour is a small part: its jobs are listed, if they are few
_MOST_HOURS = 50
_MOST_RULES = 50
_RULES_LOOKED_AT = 5_000  # of all tenants
_MOST_UNENDED = 20_000


class DueCandidates:
    def __init__(self, database: Database, tenant_id: int, wanted: JobFilter, state: IndexState) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._wanted = wanted
        self._state = state
        self._after = EARLIEST if wanted.due_after is None else to_utc(wanted.due_after)
        self._until = LATEST if wanted.due_before is None else to_utc(wanted.due_before)
        self._sql = queries("job_search")

    async def jobs(self) -> LikelyJobs:
        if self._wanted.due_after is None and self._wanted.due_before is None:
            return LikelyJobs()
        if self._until - self._unsettled() < _SHORT:
            return await self._list() or await self._find() or LikelyJobs()
        return await self._find() or await self._list() or LikelyJobs()

    def _unsettled(self) -> datetime:
        """From when on any one-time job may be due. Earlier, only those that are known to have not ended."""
        return max(self._after, self._state.settled_time)

    async def _list(self) -> LikelyJobs | None:
        """New jobs, too. None: there are too many."""
        runs = NextRuns(self._database, self._tenant_id, self._wanted, self._state)
        part = await runs.after(runs.begin, _FEW)
        if part.end is not None:
            return None
        listed = bits_by_segment(run.job for run in part.runs)
        return LikelyJobs(listed=listed, new=listed)

    async def _find(self) -> LikelyJobs | None:
        """None: the index would have to be asked for too many hours or rules."""
        hours = range(0) if self._wanted.recurring is True else self._hours()
        if hours is None:
            return None
        rules = [] if self._wanted.recurring is False else await self._rules()
        if rules is None:
            return None
        unended = await self._unended()
        if unended is None:
            return None
        terms = (*map(hour_hash, hours), *map(rule_hash, rules))
        return LikelyJobs(indexed=Wanted(terms, unended))

    def _hours(self) -> range | None:
        if self._until <= self._unsettled():
            return range(0)
        hours = range(hour_of(self._unsettled()), hour_of(self._until) + 1)
        return hours if len(hours) <= _MOST_HOURS else None

    async def _rules(self) -> list[int] | None:
        rows = await self._database.fetch(
            self._sql["rules_due"], self._tenant_id, self._after, self._until, _RULES_LOOKED_AT
        )
        own = [row["id"] for row in rows if row["is_own"]]
        return own if len(rows) < _RULES_LOOKED_AT and len(own) <= _MOST_RULES else None

    async def _unended(self) -> Bits | None:
        """One-time jobs of the part of the range that has been looked at, and that had not ended."""
        rows = await self._database.fetch(
            self._sql["unended_in_range"], self._tenant_id, self._after, self._until, _MOST_UNENDED
        )
        return bits_by_segment(row["id"] for row in rows) if len(rows) < _MOST_UNENDED else None
