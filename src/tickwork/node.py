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

from tickwork.access.api_keys import ApiKeys
from tickwork.access.trusted_proxies import TrustedProxies
from tickwork.builtin_worker import BuiltInWorker
from tickwork.config import Settings
from tickwork.define.bulk_job_actions import BulkJobs
from tickwork.define.check_retry_payload import RetryPayloads
from tickwork.define.declare_disable_and_retire_tasks import Tasks
from tickwork.define.job_health import JobHealth
from tickwork.define.jobs import Jobs
from tickwork.define.preview_schedule import Previews
from tickwork.define.purge_jobs import Purges
from tickwork.define.run_now_and_backfills import Backfills, Runs
from tickwork.dispatch.circuit_breakers import Breakers
from tickwork.dispatch.claim import ClaimAgain, Claimer, Placer
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.dispatch.list_and_drain_workers import Workers
from tickwork.dispatch.list_set_and_pause_queues import Queues
from tickwork.dispatch.read_disabled_tasks_and_queue_priorities import DispatchSettingsReader
from tickwork.dispatch.renew_and_revoke_leases import Renewer, Revoker
from tickwork.dispatch.rescue import Rescuer
from tickwork.dispatch.rest_workers import RestWorkers
from tickwork.dispatch.why_waiting import WaitingReasons
from tickwork.dispatch.worker_gateway import WorkerGateway
from tickwork.loop import Loops, Wake
from tickwork.loop_names import LoopName
from tickwork.model.errors import Unavailable
from tickwork.model.event_after_commit import (
    AttemptsEnded,
    FanOutDefined,
    JobChanged,
    JobsCreated,
    LogWritten,
    WorkArrived,
)
from tickwork.node_access import NodeAccess
from tickwork.node_archive import NodeArchive
from tickwork.node_channels import NodeChannels
from tickwork.node_database import OpenDatabase, open_database
from tickwork.node_dispatch_loops import add_dispatch_loops
from tickwork.node_events_and_statistics import Monitoring
from tickwork.node_http_callbacks import HttpTargets, read_callback_tokens
from tickwork.node_job_index_and_fan_out_loops import add_define_loops
from tickwork.node_notifications import Notifications
from tickwork.node_overview_and_metrics import NodeViews, show_node
from tickwork.node_pings_heartbeat_urls_and_liveness import Watches
from tickwork.node_trigger_loops import TICK, add_fire_loops, add_waiting_loops
from tickwork.pause_cluster import ClusterPause
from tickwork.record.bulk_execution_actions import BulkExecutions
from tickwork.record.checkpoints import Checkpoints
from tickwork.record.dead_letters import DeadLetters
from tickwork.record.http_target_callbacks import CallbackTokens
from tickwork.record.list_and_redrive_error_groups import ErrorGroups
from tickwork.record.list_cancel_and_await_executions import ExecutionHistory, ExecutionWaits
from tickwork.record.log_reader import LogFeeds, LogReader
from tickwork.record.log_writer import LogWriter
from tickwork.record.outcomes import OutcomeRecorder
from tickwork.record.publish_after_commit import EventPublisher
from tickwork.record.rest_and_callback_reports import AttemptReports
from tickwork.record.rest_worker_reports import RestWorkerReports
from tickwork.record.time_limits import TimeLimits
from tickwork.resume_cluster import ClusterResumption
from tickwork.schedule.excluded_days import load_calendars
from tickwork.startup_report import startup_report
from tickwork.store.backfill_store import PostgresBackfillStore
from tickwork.store.checkpoint_store import PostgresCheckpointStore
from tickwork.store.circuit_breaker_store import PostgresCircuitBreakerStore
from tickwork.store.create_and_change_job import PostgresJobStore
from tickwork.store.dead_letter_store import PostgresDeadLetterStore
from tickwork.store.dispatch_store import PostgresDispatchStore
from tickwork.store.execution_search import PostgresExecutionSearch
from tickwork.store.job_health_store import PostgresJobHealthStore
from tickwork.store.job_search.search_jobs import PostgresJobSearch
from tickwork.store.log_store import PostgresLogStore
from tickwork.store.outcome_store import PostgresOutcomeStore
from tickwork.store.past_attempt_input_store import PostgresJobVersionStore
from tickwork.store.purge_job_store import PostgresPurgeStore
from tickwork.store.queue_store import PostgresQueueStore
from tickwork.store.read_jobs_executions_workers_store import PostgresReadStore
from tickwork.store.rest_worker_and_report_store import PostgresRestWorkerReportStore, PostgresRestWorkerStore
from tickwork.store.run_now_store import PostgresRunNowStore
from tickwork.store.task_store import PostgresTaskStore
from tickwork.store.tenant_and_key_store import PostgresAccessStore
from tickwork.store.time_limit_store import PostgresTimeLimitStore
from tickwork.store.trigger_store import PostgresTriggerStore
from tickwork.store.why_waiting_store import PostgresWhyWaitingStore
from tickwork.store.workflow_list_store import PostgresWorkflowStore
from tickwork.tracing.open_server_tracing import make_server_spans, open_server_pipeline
from tickwork.trigger.fire import LEAD, Trigger
from tickwork.trigger.queue_full import FullQueues

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from tickwork.tracing.fire_and_handover_spans import ServerSpans

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
_LOG_INTERVAL, _WAKE_INTERVAL = 0.2, 0.5  # seconds between the steps of a loop
_WRITING: tuple[LoopName, ...] = ("record", "store checkpoints", "write logs")  # what workers have sent


class Node:
    def __init__(self, settings: Settings, *, paused: bool = False) -> None:
        self._settings, self._begins_paused = settings, paused
        self.draining = False  # it is about to stop
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
        await self._loops.step("look for work")
        self._loops.start()
        self._running = True
        _log.info("server started", **self._startup_report)
        if self._settings.http:
            deliver, token = self._channels.runner(self.breakers), self.callbacks.tokens.token
            self._built_in = BuiltInWorker(
                self._settings, self.gateway, self._access, self.breakers, deliver, self.tracer, token
            )
            self._built_in.start()
            self.status_polls.ask_by(self._built_in.poll)

    async def drain(self) -> None:
        """Say that this node is going away, and leave its work to other nodes, while it still answers."""
        self.draining = True
        if self._built_in:
            self._built_in.drain()
        await self.gateway.move_workers()

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
            while any([await self.step(loop) for loop in _WRITING]):
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
            opened = await self._open_database(opening)
            if pipeline:
                self.tracer = pipeline.tracer
                self._spans = await make_server_spans(pipeline, self._database)
            self._compose(opened, await read_callback_tokens(self._database))
            await self._dispatch_settings.read()
            await (self.pause.pause("--paused") if self._begins_paused else self.pause.read())
            self.first_key = await self.keys.first(self._settings.admin_key)
            view, pooled = await self.cluster.view(), self._database.pooled
            self._startup_report = startup_report(
                self._settings, view, pooled=pooled, loops=len(self._loops.names())
            )
            self._opened = opening.pop_all()

    async def step(self, loop: LoopName) -> bool:
        """Run one step of a loop; whether there may be more."""
        return await self._loops.step(loop)

    async def _open_database(self, opening: AsyncExitStack) -> OpenDatabase:
        opened = await open_database(self._settings, opening)
        self.database_url, self._embedded = opened.url, opened.embedded
        self._database, self._vital, self._recovery = opened.work, opened.vital, opened.recovery
        self._clock, self._partitions, self._failovers = opened.clock, opened.partitions, opened.failovers
        opened.add_loops(self._loops)
        return opened

    def _compose(self, opened: OpenDatabase, tokens: CallbackTokens) -> None:
        """By stage, in the order in which a job goes through them."""
        self._read, self.workflows = PostgresReadStore(self._database), PostgresWorkflowStore(self._database)
        self._access = PostgresAccessStore(self._database)
        fence = opened.failovers.fence
        self._triggers = PostgresTriggerStore(self._database, fence)
        self._dispatch = PostgresDispatchStore(self._database, self._vital, self._recovery, LEAD, fence)
        self._backfills = PostgresBackfillStore(self._database)
        self._trace_handover = self._spans.handed_over if self._spans else None
        self._connected_workers = ConnectedWorkers(self._trace_handover)
        self._monitoring = Monitoring(self._database, self._settings.history_days)
        self._watches = Watches(opened, self._settings, self._loops, self.health)
        self.pings, self.outside_ping = self._watches.pings, self._watches.outside_ping
        self.cluster = self._watches.cluster
        self.pause = ClusterPause(self._database, self._loops)
        self._wake = Wake(self._loops, self._database.after_commit)
        self._events = EventPublisher(self._database.after_commit)
        self.notifications = Notifications(self._database, self._partitions.horizon, self._events.publish)
        self._compose_define()
        self._compose_trigger()
        self._compose_dispatch()
        self.archive = NodeArchive(self._settings, opened, self._loops)
        self._compose_record(tokens)
        self._compose_gateway()
        self._watches.add_loops(self._loops)
        self._compose_views()
        self._subscribe()

    def _compose_define(self) -> None:
        define = PostgresJobStore(self._database, self._partitions.horizon)
        self._job_search = PostgresJobSearch(self._database)
        access = NodeAccess(self._database, self._access, self._loops)
        self.keys, self.sessions, self.tenants = access.keys, access.sessions, access.tenants
        self.idempotency = access.idempotency
        self.preview = Previews(self._read).preview
        self.job_health = JobHealth(PostgresJobHealthStore(self._database), self._read)
        publish, until_stopped = self._events.publish, self._wait_until_stopped
        self.jobs = Jobs(define, self._read, self._job_search, self.job_health, publish, until_stopped)
        self._retry_payloads = RetryPayloads(define)
        purges, number_events = PostgresPurgeStore(self._database), partial(self.step, "number events")
        self.purges = Purges(purges, number_events, publish, until_stopped)
        self.purges.add_loops(self._loops)
        self.tasks = Tasks(PostgresTaskStore(self._database), self._wake)
        self._fan_out = add_define_loops(self._loops, self._database, self._job_search, self.jobs, self._wake)
        self.runs = Runs(PostgresRunNowStore(self._database), self._read, publish, self._wake)
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
        add_fire_loops(self._loops, trigger, full_queues)
        used = self._triggers, self._backfills, self._partitions, self.pings, self._wake
        self._waiting_executions = add_waiting_loops(self._loops, self._database, *used)

    def _compose_dispatch(self) -> None:
        workers = PostgresRestWorkerStore(self._database, self._vital)
        self.reasons = WaitingReasons(PostgresWhyWaitingStore(self._database), self.pause.is_on)
        self.queues = Queues(PostgresQueueStore(self._database), self._events.publish, self._wake)
        self.workers = Workers(self._read, workers)
        self.rest_workers = RestWorkers(
            self._dispatch, workers, self._clock.micros, self.pause.is_on, self._trace_handover
        )
        self.breakers = Breakers(
            PostgresCircuitBreakerStore(self._database), self._wake, self._events.publish
        )
        claimants = (self._connected_workers, self.rest_workers.claimant)
        self._dispatch_settings = DispatchSettingsReader(self._dispatch, claimants, self._wake)
        self._dispatch_settings.add_loops(self._loops)
        claimer = Claimer(self._dispatch, self._connected_workers, LEAD)
        self._claim_again = ClaimAgain(claimer, self._wake)
        self._renewer = Renewer(self._dispatch, self._clock.micros)
        self._revoker = Revoker(self._dispatch, self._connected_workers)
        self._rescuer = Rescuer(self._dispatch, self._events.publish)
        leases = claimer, self._renewer, self._revoker, self._rescuer
        add_dispatch_loops(self._loops, self._dispatch, self._connected_workers, *leases, self.breakers)

    def _compose_record(self, tokens: CallbackTokens) -> None:
        database, publish = self._database, self._events.publish
        records, logs = PostgresOutcomeStore(database), PostgresLogStore(database)
        self._feeds = LogFeeds(logs)
        monitoring, self.retention = self._monitoring, self._monitoring.retention
        self.event_feed, self.event_history = monitoring.event_feed, monitoring.event_history
        self.statistics, self._statistics_counter = monitoring.statistics, monitoring.statistics_counter
        failing, heartbeats = monitoring.failing_jobs, self._watches.heartbeats
        wanted = self.notifications.wanted_completions
        self._recorder = OutcomeRecorder(
            records, failing, heartbeats, wanted, self._statistics_counter, self._wake, publish
        )
        self.waiting = ExecutionWaits(self._read)
        self._log_writer = LogWriter(logs, self._wake, publish)
        self.logs = LogReader(logs, self._read, self._feeds, self.archive.restored)
        self.checkpoints = Checkpoints(PostgresCheckpointStore(database), self._wake)
        self._loops.add("store checkpoints", self.checkpoints.store, every=TICK)
        reports = AttemptReports(self._recorder, self._log_writer, self.checkpoints, self._clock.micros)
        self.reports = RestWorkerReports(PostgresRestWorkerReportStore(database), reports)
        targets = HttpTargets(database, tokens, reports, self._recorder, self._clock.micros)
        self.callbacks, self.status_polls = targets.callbacks, targets.status_polls
        targets.add_loops(self._loops)
        search, inputs = PostgresExecutionSearch(database), PostgresJobVersionStore(database)
        self.history = ExecutionHistory(records, self._read, search, inputs, self.archive, self._wake)
        dead, check = PostgresDeadLetterStore(database), self._retry_payloads.check
        self.dead_letters = DeadLetters(dead, self._read, check, publish)
        promote = self._waiting_executions.create_overdue
        self.resumption = ClusterResumption(
            self.pause, self._database, self._triggers, self._rescuer, records.cancel, promote
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
            self.checkpoints,
            ApiKeys(PostgresAccessStore(self._vital)),  # a worker's heartbeats wait for these answers
            self._claim_again,
            self._wake,
            now=self._clock.micros,
            is_paused=self.pause.is_on,
        )

    def _compose_views(self) -> None:
        views = NodeViews(
            self._database, self.statistics, self.jobs, self.queues, self.workers, self.breakers, self.error_groups,
            self.pause.is_on, self._connected_workers,
        )  # fmt: skip
        self.upcoming, self.upcoming_counts = views.upcoming, views.upcoming_counts
        self.overview, self.timeline, self.metrics = views.overview, views.timeline, views.metrics
        horizon, folder = self._partitions.horizon, self._settings.data_dir if self._embedded else None
        show_node(self._database, horizon, self._clock.micros, folder)

    def _subscribe(self) -> None:
        """What each event triggers."""
        for may_be_ready in (WorkArrived, JobChanged):
            self._events.subscribe(may_be_ready, lambda _: self._wake.claim())
            self._events.subscribe(may_be_ready, lambda _: self.rest_workers.wake_claims())
            self._events.subscribe(may_be_ready, self._fan_out.after_change)
        self._events.subscribe(AttemptsEnded, self.waiting.after_end)
        self._events.subscribe(AttemptsEnded, self._claim_again.after_end)
        self._events.subscribe(AttemptsEnded, self._fan_out.after_change)
        self._events.subscribe(FanOutDefined, self._fan_out.after_define)
        self._events.subscribe(LogWritten, self._feeds.after_lines)
        self._events.subscribe(JobsCreated, lambda created: self._failovers.note_created(created.jobs))
        self._failovers.after_loss = self._connected_workers.disconnect_all

    async def _wait_until_stopped(self, tenant_id: int, job: int) -> None:
        if self._running:
            await self._database.finish_after_commit(
                partial(self._revoker.wait_until_stopped, tenant_id, job)
            )

    def ready(self) -> bool:
        return not self.draining and all(problem is None for problem in self.health().values())

    def stuck(self) -> bool:
        """Whether a loop hangs, so that only a new process helps."""
        return bool(self._loops.stuck())

    def health(self) -> Mapping[str, str | None]:
        """What was checked, each with its problem or None."""
        problem = self._database.problem
        if problem is not None:  # then all loops fail, which says nothing more
            return {"database": problem}
        return {"database": None} | {f"loop {name}": problem for name, problem in self._loops.problems()}
