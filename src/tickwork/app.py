"""A server node: the five stages, wired to one database.

    define ──▶ trigger ──▶ dispatch ──▶ execute ──▶ record
     jobs       fire         claim      workers     outcomes

Every node does every duty. Nodes know nothing of each other; row locks in the database decide.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from prometheus_client import Gauge

from tickwork.builtin import BuiltInWorker
from tickwork.config import Settings
from tickwork.define.backfill import Backfills
from tickwork.define.job import Jobs
from tickwork.define.key import Keys
from tickwork.define.run import Runs
from tickwork.dispatch.breaker import Breakers
from tickwork.dispatch.claim import Claimer, Placer
from tickwork.dispatch.directory import Tasks, Workers
from tickwork.dispatch.gateway import Gateway
from tickwork.dispatch.lease import Renewer
from tickwork.dispatch.queue import Queues
from tickwork.dispatch.reconcile import Reconciler
from tickwork.dispatch.rescue import Rescuer
from tickwork.dispatch.rest import RestWorkers
from tickwork.dispatch.revoke import Revoker
from tickwork.dispatch.roster import Roster
from tickwork.dispatch.why import Reasons
from tickwork.model.errors import Unavailable
from tickwork.model.preview import Preview
from tickwork.record.complete import Recorder
from tickwork.record.dead_letter import DeadLetters
from tickwork.record.feed import Feeds
from tickwork.record.history import History
from tickwork.record.log import Logs
from tickwork.record.note import Notekeeper
from tickwork.record.report import Reports
from tickwork.service import Loop
from tickwork.store.backfill import PostgresBackfillStore
from tickwork.store.breaker import PostgresBreakerStore
from tickwork.store.clock import DatabaseClock
from tickwork.store.dead_letter import PostgresDeadLetterStore
from tickwork.store.define import PostgresDefineStore
from tickwork.store.dependency import PostgresDependencyStore
from tickwork.store.dispatch import PostgresDispatchStore
from tickwork.store.embedded import EmbeddedPostgres
from tickwork.store.log import PostgresLogStore
from tickwork.store.migrate import upgrade
from tickwork.store.partition import Partitions
from tickwork.store.pool import Database
from tickwork.store.queue import PostgresQueueStore
from tickwork.store.read import PostgresReadStore
from tickwork.store.record import PostgresRecordStore
from tickwork.store.report import PostgresReportStore
from tickwork.store.run import PostgresRunStore
from tickwork.store.tenancy import PostgresTenancyStore
from tickwork.store.trigger import PostgresTriggerStore
from tickwork.store.why import PostgresWhyStore
from tickwork.store.worker import PostgresWorkerStore
from tickwork.trigger.backfill import Backfiller
from tickwork.trigger.backlog import Backlogs
from tickwork.trigger.fire import LEAD, Trigger
from tickwork.trigger.parse import parse_schedule, timing_from_text
from tickwork.trigger.preview import preview
from tickwork.trigger.zone_data import ZoneDataFollower

_CONNECTED = Gauge("tickwork_workers_connected", "Workers connected to this node.")
_TICK = 0.05  # shorter than the lead, so that everything is handed out before its time
_RELEASE = 0.2
_SELDOM = 3600.0  # it is woken
_FILL = 0.5
_NOTE = 0.2
_CONNECTIONS = 8
_VITAL_CONNECTIONS = 3
_ANSWERS_KEPT = timedelta(hours=24)
_PROMOTED = 1000


class Node:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened = AsyncExitStack()
        self._loops: dict[str, Loop] = {}
        self._embedded: EmbeddedPostgres | None = None
        self._built_in: BuiltInWorker | None = None
        self._running = False
        self.database_url = settings.database_url or ""
        self.first_key: str | None = None  # the admin key, when this node made the database's first one

    async def start(self) -> None:
        await self.open()
        for loop in self._loops.values():
            loop.start()
        self._running = True
        if self._settings.http:
            self._built_in = BuiltInWorker(self._settings, self.gateway, self._tenancy, self.breakers)
            self._built_in.start()

    async def stop(self) -> None:
        """Workers go to other nodes; what they reported until then is still recorded."""
        if self._built_in:
            await self._built_in.stop()
        await self.gateway.close()
        self.end_streams()
        for loop in self._loops.values():
            await loop.stop()
        with suppress(Unavailable):
            while await self.step("record") or await self.step("notes"):
                pass
            await self.step("breakers")
        await self._opened.aclose()

    def end_streams(self) -> None:
        """Those who follow something or wait for work here go to another node."""
        self._feeds.close()
        self.rest_workers.close()

    async def open(self) -> None:
        """Everything but the loops: tests go on from here step by step."""
        async with AsyncExitStack() as opening:
            await self._open_database(opening)
            self._compose()
            self.first_key = await self.keys.first(self._settings.admin_key)
            self._opened = opening.pop_all()

    async def step(self, loop: str) -> bool:
        """Do one step of a loop by hand; whether there may be more."""
        return await self._loops[loop].step()

    async def _open_database(self, opening: AsyncExitStack) -> None:
        if not self._settings.database_url:
            self._embedded = EmbeddedPostgres(self._settings.data_dir)
            self.database_url = await asyncio.to_thread(self._embedded.start)
            opening.push_async_callback(asyncio.to_thread, self._embedded.stop)
        await upgrade(self.database_url)
        self._database = Database(self.database_url, size=_CONNECTIONS)
        self._vital = Database(self.database_url, size=_VITAL_CONNECTIONS)
        for database in (self._database, self._vital):
            await database.open()
            opening.push_async_callback(database.close)
        self._clock = DatabaseClock(self._vital)
        self._partitions = Partitions(self._vital, self._settings.history_days)
        await self._clock.read()
        await self._partitions.keep_up()

    def _compose(self) -> None:
        fire, claim = Loop("fire", every=_TICK), Loop("claim", every=_TICK)
        fire_beside = Loop(
            "fire beside", every=_SELDOM
        )  # when there is much: one waits for the database, one works
        backfill = Loop("backfill", every=_FILL)
        record, renew, revoke = Loop("record", every=1), Loop("renew", every=1), Loop("revoke", every=_TICK)
        notes = Loop("notes", every=_NOTE)
        self._read = read = PostgresReadStore(self._database, timing_from_text)
        self._tenancy = tenancy = PostgresTenancyStore(self._database)
        define = PostgresDefineStore(self._database, timing_from_text, self._partitions.horizon)
        triggers = PostgresTriggerStore(self._database)
        backfills = PostgresBackfillStore(self._database)
        dispatch = PostgresDispatchStore(self._database, self._vital, LEAD)
        records = PostgresRecordStore(self._database)
        logs = PostgresLogStore(self._database)
        workers = PostgresWorkerStore(self._database, self._vital)
        roster = Roster()
        self.rest_workers = RestWorkers(dispatch, workers, self._clock.micros)

        # define
        self.keys = Keys(tenancy)
        self.idempotency = tenancy
        work_arrived = partial(self._database.after_commit, self._something_waits)
        revoked = partial(self._database.after_commit, revoke.wake)
        self.jobs = Jobs(
            define,
            read,
            parse_schedule,
            timing_from_text,
            work_arrived,
            self._until_stopped,
            self._database.in_transaction,
        )
        self.runs = Runs(PostgresRunStore(self._database, timing_from_text), read, work_arrived, revoked)
        self.backfills = Backfills(
            backfills, read, timing_from_text, started=partial(self._database.after_commit, backfill.wake)
        )
        # trigger
        backlogs = Backlogs(triggers, LEAD)
        trigger = Trigger(
            triggers,
            timing_from_text,
            Placer(roster).place,
            self._partitions.make_for,
            backlogs,
            much_to_do=fire_beside.wake,
        )
        backfiller = Backfiller(backfills, self._partitions.make_for, work_arrived=claim.wake)
        # dispatch
        self.reasons = Reasons(PostgresWhyStore(self._database))
        self.queues = Queues(PostgresQueueStore(self._database), may_go_on=work_arrived)
        self.workers, self.tasks = Workers(read, workers), Tasks(read)
        claimer = Claimer(dispatch, roster, LEAD)
        renewer = Renewer(dispatch, self._clock.micros)
        self._revoker = Revoker(dispatch, roster)
        breakers = Loop("breakers", every=1)
        self.breakers = Breakers(
            PostgresBreakerStore(self._database),
            something_failed=breakers.wake,
            work_arrived=claim.wake,
        )
        # record
        recorder = Recorder(records, submitted=record.wake, recorded=partial(self._go_on, claimer))
        self._feeds = feeds = Feeds(logs)
        notekeeper = Notekeeper(logs, submitted=notes.wake, kept=feeds.wake)
        self.logs = Logs(logs, read, feeds)
        self.reports = Reports(PostgresReportStore(self._database), recorder, notekeeper, self._clock.micros)
        self.history = History(records, read, revoked)
        self.dead_letters = DeadLetters(PostgresDeadLetterStore(self._database), read, work_arrived)
        # execute: workers come in here
        self.gateway = Gateway(
            dispatch,
            roster,
            renewer,
            recorder,
            notekeeper,
            Keys(PostgresTenancyStore(self._vital)),  # a worker's next beat waits for this answer
            now=self._clock.micros,
            worker_came=claim.wake,
            room_opened=partial(self._use_room, claimer),
            beat_heard=renew.wake,
        )

        loops = [
            fire.repeat(trigger.fire),
            fire_beside.repeat(trigger.fire),
            backfill.repeat(backfiller.fill),
            claim.repeat(claimer.claim),
            renew.repeat(renewer.renew),
            revoke.repeat(self._revoker.revoke),
            Loop("reconcile", every=1).repeat(Reconciler(dispatch, roster).reconcile),
            Loop("rescue", every=1).repeat(Rescuer(dispatch).rescue),
            Loop("slots", every=1).repeat(lambda: self._forget_slots(dispatch)),
            breakers.repeat(self.breakers.look_after),
            Loop("clock", every=5).repeat(self._clock.read),
            Loop("partitions", every=600).repeat(self._partitions.keep_up),
            Loop("release", every=_RELEASE).repeat(lambda: self._release(triggers)),
            Loop("zone data", every=3600).repeat(ZoneDataFollower(triggers, timing_from_text, LEAD).follow),
            Loop("backlogs", every=1).repeat(backlogs.learn),
            Loop("rounds", every=1).repeat(self._skip_rounds),
            Loop("promote", every=5).repeat(lambda: self._promote(triggers)),
            Loop("key use", every=30).repeat(self.keys.note_use),
            Loop("answers", every=600).repeat(self._forget_answers),
            record.repeat(recorder.record),
            notes.repeat(notekeeper.keep),
        ]
        if self._embedded:
            loops.append(Loop("postgres", every=1).repeat(self._embedded.keep_alive))
        self._loops = {loop.name: loop for loop in loops}
        _CONNECTED.set_function(lambda: len(roster))

    def _something_waits(self) -> None:
        self._loops["claim"].wake()
        self.rest_workers.work_arrived()

    async def _until_stopped(self, tenant_id: int, job: int) -> None:
        if self._running:
            await self._database.finish_after_commit(partial(self._revoker.until_stopped, tenant_id, job))

    def _use_room(self, claimer: Claimer) -> None:
        if claimer.something_may_be_left:
            self._loops["claim"].wake()

    def _go_on(self, claimer: Claimer) -> None:
        """Something ended: a limit that held others back may let them through."""
        if claimer.something_is_held_back:
            self._loops["claim"].wake()

    async def _forget_slots(self, dispatch: PostgresDispatchStore) -> bool:
        await dispatch.forget_slots()
        return False

    async def _release(self, triggers: PostgresTriggerStore) -> bool:
        released = await triggers.release_queued(_PROMOTED)
        if released:
            self._loops["claim"].wake()
        return released == _PROMOTED

    async def _promote(self, triggers: PostgresTriggerStore) -> bool:
        return await triggers.promote_held(self._partitions.horizon(), _PROMOTED) == _PROMOTED

    async def _skip_rounds(self) -> bool:
        """Of jobs that depend on others which are not due in them."""
        dependencies = PostgresDependencyStore(self._database)
        return await dependencies.skip_rounds_without_parents(_PROMOTED) == _PROMOTED

    async def _forget_answers(self) -> bool:
        await self._tenancy.forget_answers(_ANSWERS_KEPT)
        return False

    async def preview(
        self,
        schedule: str | dict[str, Any],
        timezone: str | None,
        after: datetime | None = None,
        count: int = 5,
        viewer_timezone: str | None = None,
    ) -> Preview:
        now = await self._read.now()
        return preview(schedule, timezone, now=now, after=after, count=count, viewer_timezone=viewer_timezone)

    def ready(self) -> bool:
        return self._database.reachable

    def health(self) -> Mapping[str, bool]:
        return {"database": self._database.reachable}
