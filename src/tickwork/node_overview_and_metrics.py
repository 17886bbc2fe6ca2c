"""What a node shows of the system: how things stand, past and future on one line, what is coming, and its metrics."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tickwork.define.jobs import Jobs
from tickwork.dispatch.circuit_breakers import Breakers
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.dispatch.list_and_drain_workers import Workers
from tickwork.dispatch.list_set_and_pause_queues import Queues
from tickwork.node_metrics import SystemMetrics, show_database, show_disk
from tickwork.overview import Overview
from tickwork.record.list_and_redrive_error_groups import ErrorGroups
from tickwork.record.read_statistics_series import Statistics
from tickwork.store.job_search.search_jobs import PostgresJobSearch
from tickwork.store.overview_store import PostgresOverviewStore
from tickwork.store.pool import Database
from tickwork.store.queue_store import PostgresQueueStore
from tickwork.store.system_metrics_store import PostgresMetricStore
from tickwork.store.timeline_store import PostgresTimelineStore
from tickwork.store.upcoming_store import PostgresUpcomingStore
from tickwork.timeline.build_timeline import Timeline
from tickwork.trigger.count_upcoming import UpcomingCounts
from tickwork.trigger.upcoming import Upcoming


class NodeViews:
    def __init__(
        self,
        database: Database,
        statistics: Statistics,
        jobs: Jobs,
        queues: Queues,
        workers: Workers,
        breakers: Breakers,
        error_groups: ErrorGroups,
        is_paused: Callable[[], bool],
        connected: ConnectedWorkers,
    ) -> None:
        upcoming = PostgresUpcomingStore(database)
        self.upcoming = Upcoming(upcoming)
        self.upcoming_counts = UpcomingCounts(upcoming, PostgresJobSearch(database))
        counted = PostgresOverviewStore(database)
        self.overview = Overview(
            counted, statistics, jobs, queues, workers, breakers, error_groups, is_paused
        )
        rows = PostgresTimelineStore(database)
        self.timeline = Timeline(rows, self.overview, statistics, self.upcoming, self.upcoming_counts)
        self.metrics = SystemMetrics(PostgresMetricStore(database), PostgresQueueStore(database), connected)


def show_node(
    database: Database,
    horizon: Callable[[], datetime],
    now: Callable[[], int],
    embedded_folder: Path | None,
) -> None:
    """Report the node itself as metrics. `horizon`: until when there are partitions; `now`: in microseconds."""
    show_database(lambda: database.usable, horizon, now)
    if embedded_folder:
        show_disk(embedded_folder)
