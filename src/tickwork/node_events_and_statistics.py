"""What a node counts, tells and keeps about executions: events, causes of failures, statistics, retention."""

from datetime import timedelta
from functools import partial

from tickwork.loop import Loops
from tickwork.record.delete_beyond_retention import Retentions
from tickwork.record.event_stream import PULSE_INTERVAL, EventFeed, EventHistory, EventNumbering, PulseWriter
from tickwork.record.outcomes import FailingJobs
from tickwork.record.read_statistics_series import Statistics
from tickwork.record.recount_and_merge_statistics import StatisticsUpkeep
from tickwork.record.statistics_counter import StatisticsCounter
from tickwork.record.warn_before_deadline import Deadlines
from tickwork.store.deadline_warning_store import PostgresDeadlineStore
from tickwork.store.error_group_store import PostgresErrorGroupStore
from tickwork.store.event_store import PostgresEventStore
from tickwork.store.job_search.search_jobs import PostgresJobSearch
from tickwork.store.late_and_slow_events import PostgresOverdueStore
from tickwork.store.pool import Database
from tickwork.store.retention_store import PostgresRetentionStore
from tickwork.store.statistics_store import PostgresStatisticsStore

# Seconds between the steps of a loop
_NUMBER_INTERVAL = 0.5
_STATISTICS_INTERVAL = 5
_OVERDUE_INTERVAL = 5
_LONG_STEP = 120.0  # merging a day of very many tasks


class Monitoring:
    def __init__(self, database: Database, history_days: int) -> None:
        self._events = PostgresEventStore(database)
        self._overdue = PostgresOverdueStore(database)
        self._deadlines = Deadlines(PostgresDeadlineStore(database))
        self._statistics = PostgresStatisticsStore(database)
        self.error_groups = PostgresErrorGroupStore(database)
        self.event_feed, self.event_history = EventFeed(self._events), EventHistory(self._events)
        self.failing_jobs, self.pulse = FailingJobs(self._events), PulseWriter(self._events)
        self.statistics_counter = StatisticsCounter(self._statistics)
        self.statistics = Statistics(self._statistics, PostgresJobSearch(database))
        self.retention = Retentions(PostgresRetentionStore(database), history_days)

    def add_loops(self, loops: Loops, history: timedelta) -> None:
        """`history`: how long events and causes of failures are kept."""
        loops.add(
            "number events", EventNumbering(self._events).number, every=_NUMBER_INTERVAL, only_with_work=True
        )
        loops.add("tell late", self._overdue.tell_late, every=_OVERDUE_INTERVAL)
        loops.add("tell endangered deadlines", self._deadlines.tell_endangered, every=_OVERDUE_INTERVAL)
        loops.add("read failing jobs", self.failing_jobs.read, every=1)
        loops.add("write pulse", self.pulse.flush, every=PULSE_INTERVAL)
        loops.add("write statistics", self.statistics_counter.write, every=_STATISTICS_INTERVAL)
        keep_up = StatisticsUpkeep(self._statistics).keep_up
        loops.add("keep up statistics", keep_up, every=_STATISTICS_INTERVAL, stuck_after=_LONG_STEP)
        loops.add("delete old statistics", self._statistics.delete_old, every=600)
        loops.add("delete old events", partial(self._events.delete_old, history), every=60)
        self.retention.add_loops(loops)
        loops.add("delete old errors", partial(self.error_groups.delete_old, history), every=600)
