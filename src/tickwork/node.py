"""A server node: the five stages, wired to one database.

    define ──▶ trigger ──▶ dispatch ──▶ execute ──▶ record
     jobs       fire         claim      workers     outcomes

Every node does every duty. Nodes do not know each other; row locks in the database coordinate them.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import structlog

from tickwork import __version__
from tickwork.access.api_keys import ApiKeys
from tickwork.access.sessions import Sessions
from tickwork.access.trusted_proxies import TrustedProxies
from tickwork.builtin_worker import BuiltInWorker
from tickwork.config import Settings
from tickwork.define.bulk_job_actions import BulkJobs
from tickwork.define.fan_out import FanOut
from tickwork.define.job_health import JobHealth
from tickwork.define.jobs import Jobs
from tickwork.define.preview_schedule import Previews
from tickwork.define.run_now_and_backfills import Backfills, Runs
from tickwork.define.update_job_search_index import JobIndexing
from tickwork.dispatch.circuit_breakers import Breakers
from tickwork.dispatch.claim import ClaimAgain, Claimer, Placer
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.dispatch.limits import clean_up_slots
from tickwork.dispatch.list_set_and_pause_queues import Queues
from tickwork.dispatch.list_workers_and_tasks import Tasks, Workers
from tickwork.dispatch.renew_and_revoke_leases import Reconciler, Renewer, Revoker
from tickwork.dispatch.rescue import Rescuer
from tickwork.dispatch.rest_workers import RestWorkers
from tickwork.dispatch.why_waiting import WaitingReasons
from tickwork.dispatch.worker_gateway import WorkerGateway
from tickwork.loop import LoopName, Loops, Wake
from tickwork.model.errors import Unavailable
from tickwork.model.event_after_commit import AttemptsEnded, JobChanged, LogWritten, WorkArrived
from tickwork.node_channels import NodeChannels
from tickwork.node_database import open_database
from tickwork.node_events_and_statistics import Monitoring
from tickwork.node_http_targets import HttpTargets, read_callback_tokens
from tickwork.node_metrics import SystemMetrics, show_database, show_disk, show_workers
from tickwork.node_notifications import Notifications
from tickwork.node_pings_heartbeat_urls_and_liveness import Watches
from tickwork.overview import Overview
from tickwork.record.attempt_reports import AttemptReports
from tickwork.record.bulk_execution_actions import BulkExecutions
from tickwork.record.dead_letters import DeadLetters
from tickwork.record.http_target_callbacks import CallbackTokens
from tickwork.record.list_and_redrive_error_groups import ErrorGroups
from tickwork.record.list_cancel_and_await_executions import ExecutionHistory, ExecutionWaits
from tickwork.record.log_reader import LogFeeds, LogReader
from tickwork.record.log_writer import LogWriter
from tickwork.record.outcomes import OutcomeRecorder
from tickwork.record.publish_after_commit import EventPublisher
from tickwork.record.rest_worker_reports import RestWorkerReports
from tickwork.record.time_limits import TimeLimits
from tickwork.schedule.excluded_days import load_calendars
from tickwork.store.backfill_store import PostgresBackfillStore
from tickwork.store.circuit_breaker_store import PostgresCircuitBreakerStore
from tickwork.store.create_and_change_job import PostgresJobStore
from tickwork.store.dead_letter_store import PostgresDeadLetterStore
from tickwork.store.dispatch_store import PostgresDispatchStore
from tickwork.store.execution_search import PostgresExecutionSearch
from tickwork.store.fan_out_store import PostgresFanOutStore
from tickwork.store.idempotency_store import PostgresIdempotencyStore
from tickwork.store.job_health_store import PostgresJobHealthStore
from tickwork.store.job_index.write_index import PostgresJobIndex
from tickwork.store.job_search.search_jobs import PostgresJobSearch
from tickwork.store.log_store import PostgresLogStore
from tickwork.store.outcome_store import PostgresOutcomeStore
from tickwork.store.overview_store import PostgresOverviewStore
from tickwork.store.queue_store import PostgresQueueStore
from tickwork.store.read_jobs_executions_workers_store import PostgresReadStore
from tickwork.store.rest_worker_and_report_store import PostgresRestWorkerReportStore, PostgresRestWorkerStore
from tickwork.store.run_now_store import PostgresRunNowStore
from tickwork.store.session_store import PostgresSessionStore
from tickwork.store.system_lag_metrics_store import PostgresMetricStore
from tickwork.store.tenant_and_key_store import PostgresAccessStore
from tickwork.store.time_limit_store import PostgresTimeLimitStore
from tickwork.store.timeline_store import PostgresTimelineStore
from tickwork.store.trigger_store import PostgresTriggerStore
from tickwork.store.upcoming_store import PostgresUpcomingStore
from tickwork.store.why_waiting_store import PostgresWhyWaitingStore
from tickwork.store.workflow_list_store import PostgresWorkflowStore
from tickwork.store.write_dependencies import PostgresDependencyStore
from tickwork.timeline.build_timeline import Timeline
from tickwork.tracing.open_server_tracing import make_server_spans, open_server_pipeline
from tickwork.trigger.count_upcoming import UpcomingCounts
from tickwork.trigger.fill_backfill import Backfiller
from tickwork.trigger.fire import LEAD, Trigger
from tickwork.trigger.queue_full import FullQueues
from tickwork.trigger.upcoming import Upcoming
from tickwork.trigger.waiting_executions import WaitingExecutions
from tickwork.trigger.zone_data_update import ZoneDataUpdate

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from tickwork.tracing.fire_and_handover_spans import ServerSpans

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
# Seconds between the steps of a loop
_TICK = 0.05  # shorter than the lead, so that executions are handed over before they are due
_WHEN_WOKEN = 3600.0
_BACKFILL_INTERVAL = 0.5
_LOG_INTERVAL = 0.2
_WAKE_INTERVAL = 0.5
_RENEW_STEP = 15.0  # seconds: a renewal that takes longer comes too late


class Node:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened = AsyncExitStack()
        self._loops = Loops()
        self._built_in: BuiltInWorker | None = None
        self._running = False
        self._spans: ServerSpans | None = None  # None: tracing is off
        self.tracer: Tracer | None = None  # likewise
        self.trusted_proxies = TrustedProxies(settings.trusted_proxies)
        self.database_url = settings.database_url or ""
        self.first_key: str | None = None  # the admin key, when this node made the database's first one

    async def start(self) -> None:
        await asyncio.gather(self.open(), asyncio.to_thread(load_calendars))
        self._loops.start()
        self._running = True
        _log.info(
            "server started",
            version=__version__,
            embedded_postgres=self._embedded is not None,
            loops=len(self._loops.names()),
        )
        if self._settings.http:
            deliver, token = self._channels.runner(self.breakers), self.callbacks.tokens.token
            self._built_in = BuiltInWorker(
                self._settings, self.gateway, self._access, self.breakers, deliver, self.tracer, token
            )
            self._built_in.start()
            self.status_polls.ask_by(self._built_in.poll)

    async def stop(self) -> None:
        """Workers connect to other nodes; the outcomes that they reported before are still recorded."""
        if self._running:
            _log.info("server stopping")
        await self.status_polls.close()
        if self._built_in:
            await self._built_in.stop()
        await self._channels.close()
        await self.gateway.close()
        self.end_streams()
        await self._loops.stop()
        with suppress(Unavailable):
            while await self.step("record") or await self.step("write logs"):
                pass
            await self.step("update breakers")
            await self._statistics_counter.close()
        await self.cluster.leave()
        self._recorder.close()
        await self._watches.close()
        await self._opened.aclose()
        if self._running:
            _log.info("server stopped")

    def end_streams(self) -> None:
        """End requests that follow a log or wait for something, so that clients repeat them at another node."""
        self._feeds.close()
        self.event_feed.close()
        self.waiting.close()
        self.rest_workers.close()

    async def open(self) -> None:
        """Start everything but the loops; tests call `step` instead."""
        async with AsyncExitStack() as opening:
            pipeline = open_server_pipeline(self._settings, opening)
            await self._open_database(opening)
            if pipeline:
                self.tracer = pipeline.tracer
                self._spans = await make_server_spans(pipeline, self._database)
            self._compose(await read_callback_tokens(self._database))
            self.first_key = await self.keys.first(self._settings.admin_key)
            self._opened = opening.pop_all()

    async def step(self, loop: LoopName) -> bool:
        """Run one step of a loop; whether there may be more."""
        return await self._loops.step(loop)

    async def _open_database(self, opening: AsyncExitStack) -> None:
        opened = await open_database(self._settings, opening)
        self.database_url, self._embedded = opened.url, opened.embedded
        self._database, self._vital, self._recovery = opened.work, opened.vital, opened.recovery
        self._clock, self._partitions = opened.clock, opened.partitions
        opened.add_loops(self._loops)

    def _compose(self, tokens: CallbackTokens) -> None:
        """By stage, in the order in which a job goes through them."""
        self._read = PostgresReadStore(self._database)
        self.workflows = PostgresWorkflowStore(self._database)
        self._access = PostgresAccessStore(self._database)
        self._triggers = PostgresTriggerStore(self._database)
        self._dispatch = PostgresDispatchStore(self._database, self._vital, self._recovery, LEAD)
        self._backfills = PostgresBackfillStore(self._database)
        self._trace_handover = self._spans.handed_over if self._spans else None
        self._connected_workers = ConnectedWorkers(self._trace_handover)
        self._monitoring = Monitoring(self._database)
        self._watches = Watches(
            self._database, self._clock, self._settings, self._loops, self.health, self._partitions.horizon
        )
        self._wake = Wake(self._loops, self._database.after_commit)
        self._events = EventPublisher(self._database.after_commit)
        self.notifications = Notifications(self._database, self._partitions.horizon, self._events.publish)
        self._compose_define()
        self._compose_trigger()
        self._compose_dispatch()
        self._compose_record(tokens)
        self._compose_gateway()
        self._compose_upkeep()
        self._compose_metrics()
        self._subscribe()

    def _compose_define(self) -> None:
        define = PostgresJobStore(self._database, self._partitions.horizon)
        self.keys = ApiKeys(self._access)
        self._job_search = PostgresJobSearch(self._database)
        self.sessions = Sessions(PostgresSessionStore(self._database), self.keys)
        self.idempotency = PostgresIdempotencyStore(self._database)
        self.preview = Previews(self._read).preview
        self.job_health = JobHealth(PostgresJobHealthStore(self._database), self._read)
        self.jobs = Jobs(
            define,
            self._read,
            self._job_search,
            self.job_health,
            self._events.publish,
            self._wait_until_stopped,
        )
        JobIndexing(PostgresJobIndex(self._database)).add_loops(self._loops)
        FanOut(PostgresFanOutStore(self._database), self.jobs).add_loops(self._loops)
        self.runs = Runs(PostgresRunNowStore(self._database), self._read, self._events.publish, self._wake)
        self.bulk_jobs = BulkJobs(self.jobs, self.runs, self.idempotency)
        self.backfills = Backfills(self._backfills, self._read, self._wake)
        self._channels = NodeChannels(self._settings, self._database, self._access, self._clock.micros)
        self.channels = self._channels.service

    def _compose_trigger(self) -> None:
        full_queues = FullQueues(self._triggers, LEAD)
        trigger = Trigger(
            self._triggers,
            Placer(self._connected_workers).place,
            self._partitions.make_for,
            full_queues,
            self._wake,
            self._monitoring.statistics_counter,
            self._spans.fired if self._spans else None,
        )
        backfiller = Backfiller(self._backfills, self._partitions.make_for, self._wake)
        self._loops.add("fire", trigger.fire, every=_TICK)
        self._loops.add("fire in parallel", trigger.fire, every=_WHEN_WOKEN)
        self._loops.add("refresh full queues", full_queues.refresh, every=1)
        self._loops.add("backfill", backfiller.fill, every=_BACKFILL_INTERVAL)
        WaitingExecutions(
            self._triggers,
            PostgresDependencyStore(self._database),
            self._partitions.horizon,
            self._partitions.make_for,
            self._wake,
        ).add_loops(self._loops)
        upcoming = PostgresUpcomingStore(self._database)
        self.upcoming, self.upcoming_counts = Upcoming(upcoming), UpcomingCounts(upcoming, self._job_search)
        zone_data = ZoneDataUpdate(self._triggers, LEAD, self._watches.pings.retime)
        self._loops.add("update zone data", zone_data.follow, every=3600)

    def _compose_dispatch(self) -> None:
        workers = PostgresRestWorkerStore(self._database, self._vital)
        self.reasons = WaitingReasons(PostgresWhyWaitingStore(self._database))
        self.queues = Queues(PostgresQueueStore(self._database), self._events.publish)
        self.workers, self.tasks = Workers(self._read, workers), Tasks(self._read)
        self.rest_workers = RestWorkers(self._dispatch, workers, self._clock.micros, self._trace_handover)
        self.breakers = Breakers(
            PostgresCircuitBreakerStore(self._database), self._wake, self._events.publish
        )
        claimer = Claimer(self._dispatch, self._connected_workers, LEAD)
        self._claim_again = ClaimAgain(claimer, self._wake)
        self._renewer = Renewer(self._dispatch, self._clock.micros)
        self._revoker = Revoker(self._dispatch, self._connected_workers)
        self._loops.add("claim", claimer.claim, every=_TICK)
        self._loops.add("renew", self._renewer.renew, every=1, stuck_after=_RENEW_STEP)
        self._loops.add("revoke", self._revoker.revoke, every=_TICK)
        self._loops.add("reconcile", Reconciler(self._dispatch, self._connected_workers).reconcile, every=1)
        self._loops.add("rescue", Rescuer(self._dispatch, self._events.publish).rescue, every=1)
        self._loops.add("clean up slots", partial(clean_up_slots, self._dispatch), every=1)
        self._loops.add("update breakers", self.breakers.update, every=1)

    def _compose_record(self, tokens: CallbackTokens) -> None:
        records, logs = PostgresOutcomeStore(self._database), PostgresLogStore(self._database)
        self._feeds = LogFeeds(logs)
        monitoring = self._monitoring
        self.event_feed, self.event_history = monitoring.event_feed, monitoring.event_history
        self.statistics, self._statistics_counter = monitoring.statistics, monitoring.statistics_counter
        failing, heartbeats = monitoring.failing_jobs, self._watches.heartbeats
        wanted = self.notifications.wanted_completions
        self._recorder = OutcomeRecorder(
            records, failing, heartbeats, wanted, self._statistics_counter, self._wake, self._events.publish
        )
        self.waiting = ExecutionWaits(self._read)
        self._log_writer = LogWriter(logs, self._wake, self._events.publish)
        self.logs = LogReader(logs, self._read, self._feeds)
        reports = AttemptReports(self._recorder, self._log_writer, self._clock.micros)
        self.reports = RestWorkerReports(PostgresRestWorkerReportStore(self._database), reports)
        targets = HttpTargets(self._database, tokens, reports, self._recorder, self._clock.micros)
        self.callbacks, self.status_polls = targets.callbacks, targets.status_polls
        targets.add_loops(self._loops)
        self.history = ExecutionHistory(
            records, self._read, PostgresExecutionSearch(self._database), self._wake
        )
        self.dead_letters = DeadLetters(
            PostgresDeadLetterStore(self._database), self._read, self._events.publish
        )
        self.bulk_executions = BulkExecutions(self.history, self.dead_letters)
        self.error_groups = ErrorGroups(monitoring.error_groups, self.dead_letters)
        self._loops.add("record", self._recorder.record, every=1)
        time_limits = TimeLimits(PostgresTimeLimitStore(self._recovery), self._recorder.time_out)
        self._loops.add("enforce time limits", time_limits.enforce, every=1)
        self._loops.add("write logs", self._log_writer.write, every=_LOG_INTERVAL)
        self._loops.add("wake waiting callers", self.waiting.wake_ended, every=_WAKE_INTERVAL)
        history = timedelta(days=self._settings.history_days)
        monitoring.add_loops(self._loops, history)
        self.notifications.add_loops(self._loops, history)
        self._events.subscribe(AttemptsEnded, monitoring.pulse.after_end)

    def _compose_gateway(self) -> None:
        """The server's end of the connections of workers."""
        self.gateway = WorkerGateway(
            self._dispatch,
            self._connected_workers,
            self._renewer,
            self._recorder,
            self._log_writer,
            ApiKeys(PostgresAccessStore(self._vital)),  # a worker's heartbeats wait for these answers
            self._claim_again,
            self._wake,
            now=self._clock.micros,
        )

    def _compose_upkeep(self) -> None:
        self._loops.add("record key use", self.keys.note_use, every=30)
        self._loops.add("update sessions", self.sessions.update, every=30)
        self._loops.add("expire idempotency keys", self.idempotency.delete_old, every=600)
        self.pings, self.outside_ping = self._watches.pings, self._watches.outside_ping
        self.cluster = self._watches.cluster
        self._watches.add_loops(self._loops)

    def _compose_metrics(self) -> None:
        counted = PostgresOverviewStore(self._database)
        self.overview = Overview(
            counted, self.statistics, self.jobs, self.queues, self.workers, self.breakers, self.error_groups
        )
        rows = PostgresTimelineStore(self._database)
        self.timeline = Timeline(rows, self.overview, self.statistics, self.upcoming, self.upcoming_counts)
        self.metrics = SystemMetrics(PostgresMetricStore(self._database), PostgresQueueStore(self._database))
        show_workers(self._connected_workers)
        show_database(lambda: self._database.usable, self._partitions.horizon, self._clock.micros)
        if self._embedded:
            show_disk(self._settings.data_dir)

    def _subscribe(self) -> None:
        """What each event triggers."""
        for may_be_ready in (WorkArrived, JobChanged):
            self._events.subscribe(may_be_ready, lambda _: self._wake.claim())
            self._events.subscribe(may_be_ready, lambda _: self.rest_workers.wake_claims())
        self._events.subscribe(AttemptsEnded, self.waiting.after_end)
        self._events.subscribe(AttemptsEnded, self._claim_again.after_end)
        self._events.subscribe(LogWritten, self._feeds.after_lines)

    async def _wait_until_stopped(self, tenant_id: int, job: int) -> None:
        if self._running:
            await self._database.finish_after_commit(
                partial(self._revoker.wait_until_stopped, tenant_id, job)
            )

    def ready(self) -> bool:
        return all(problem is None for problem in self.health().values())

    def health(self) -> Mapping[str, str | None]:
        """What was checked, each with its problem or None."""
        if not self._database.usable:  # then all loops fail, which says nothing more
            return {"database": ""}
        return {"database": None} | {f"loop {name}": problem for name, problem in self._loops.problems()}
