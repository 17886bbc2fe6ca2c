"""A server node: the five stages, wired to one database.

    define ──▶ trigger ──▶ dispatch ──▶ execute ──▶ record
       jobs       fire        claim      workers     outcomes

Every node does every duty. Nodes know nothing of each other; row locks in the database decide.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog
from prometheus_client import Gauge

from tickwork.builtin import BuiltInWorker
from tickwork.config import Settings
from tickwork.define.job import Jobs
from tickwork.define.key import Keys
from tickwork.dispatch.claim import Claimer
from tickwork.dispatch.directory import Tasks, Workers
from tickwork.dispatch.gateway import Gateway
from tickwork.dispatch.lease import Renewer
from tickwork.dispatch.reconcile import Reconciler
from tickwork.dispatch.rescue import Rescuer
from tickwork.dispatch.revoke import Revoker
from tickwork.dispatch.roster import Roster
from tickwork.record.complete import Recorder
from tickwork.record.history import History
from tickwork.service import Loop
from tickwork.store.clock import DatabaseClock
from tickwork.store.define import PostgresDefineStore
from tickwork.store.dispatch import PostgresDispatchStore
from tickwork.store.embedded import EmbeddedPostgres
from tickwork.store.migrate import upgrade
from tickwork.store.partition import Partitions
from tickwork.store.pool import Database
from tickwork.store.read import PostgresReadStore
from tickwork.store.record import PostgresRecordStore
from tickwork.store.tenancy import PostgresTenancyStore
from tickwork.store.trigger import PostgresTriggerStore
from tickwork.trigger.fire import LEAD, Trigger
from tickwork.trigger.parse import parse_schedule, timing_from_text
from tickwork.trigger.preview import Preview, preview

_log = structlog.get_logger("tickwork")
_CONNECTED = Gauge("tickwork_workers_connected", "Workers connected to this node.")
_TICK = 0.05  # shorter than the lead, so that everything is handed out before its time
_ANSWERS_KEPT = timedelta(hours=24)
_PROMOTED = 1000


class Node:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._embedded = None if settings.database_url else EmbeddedPostgres(settings.data_dir)
        self._loops: dict[str, Loop] = {}
        self._built_in: BuiltInWorker | None = None
        self.database_url = settings.database_url or ""
        self.first_key: str | None = None

    async def open(self) -> None:
        """Everything but the loops: what tests drive step by step."""
        if self._embedded:
            self.database_url = await asyncio.to_thread(self._embedded.start)
        await upgrade(self.database_url)
        await self._open_stores()
        self._compose()
        self.first_key = await self.keys.first(self._settings.admin_key)

    async def start(self) -> None:
        await self.open()
        for loop in self._loops.values():
            loop.start()
        if self._settings.http:
            self._built_in = BuiltInWorker(self._settings, self.gateway, self._tenancy)
            self._built_in.start()

    async def stop(self) -> None:
        """Workers go to other nodes; what they reported until then is still recorded."""
        if self._built_in:
            await self._built_in.stop()
        await self.gateway.close()
        for loop in self._loops.values():
            await loop.stop()
        await self._database.close()
        await self._vital.close()
        if self._embedded:
            await asyncio.to_thread(self._embedded.stop)

    async def _open_stores(self) -> None:
        self._database = Database(self.database_url, size=8)
        self._vital = Database(self.database_url, size=3)
        await self._database.open()
        await self._vital.open()
        self._clock = DatabaseClock(self._vital)
        self._partitions = Partitions(self._vital, self._settings.history_days)
        await self._clock.read()
        await self._partitions.keep_up()

    def _compose(self) -> None:
        read = PostgresReadStore(self._database, timing_from_text)
        define = PostgresDefineStore(self._database, timing_from_text, self._partitions.horizon)
        trigger_store = PostgresTriggerStore(self._database)
        dispatch_store = PostgresDispatchStore(self._database, self._vital)
        record_store = PostgresRecordStore(self._database)
        self._tenancy = PostgresTenancyStore(self._database)
        self._roster = roster = Roster()

        # define
        self.keys = Keys(self._tenancy)
        self.jobs = Jobs(define, read, parse_schedule, work_arrived=lambda: claim.wake())
        # trigger
        trigger = Trigger(trigger_store, timing_from_text, roster.place)
        # dispatch
        claimer = Claimer(dispatch_store, roster, LEAD)
        renewer = Renewer(dispatch_store, self._clock.micros)
        # record
        recorder = Recorder(record_store, submitted=lambda: record.wake())
        self.history = History(record_store, read, revoked=lambda: revoke.wake())
        # execute: workers come in here
        self.gateway = Gateway(
            dispatch_store,
            roster,
            renewer,
            recorder,
            now=self._clock.micros,
            room_opened=lambda: claim.wake(),
            beat_heard=lambda: renew.wake(),
        )
        self.workers = Workers(read)
        self.tasks = Tasks(read)
        self.idempotency = self._tenancy
        self._read = read

        fire = Loop("fire", trigger.fire, every=_TICK)
        claim = Loop("claim", claimer.claim, every=_TICK)
        record = Loop("record", recorder.record, every=1)
        renew = Loop("renew", renewer.renew, every=1)
        revoke = Loop("revoke", Revoker(dispatch_store, roster).revoke, every=1)
        loops = [
            fire,
            claim,
            renew,
            revoke,
            Loop("reconcile", Reconciler(dispatch_store, roster).reconcile, every=1),
            Loop("rescue", Rescuer(dispatch_store).rescue, every=1),
            Loop("clock", self._clock.read, every=5),
            Loop("partitions", self._partitions.keep_up, every=600),
            Loop("promote", lambda: self._promote(trigger_store), every=5),
            Loop("key use", self.keys.note_use, every=30),
            Loop("answers", self._forget_answers, every=600),
            record,  # last: what came in until the others stopped is still written
        ]
        self._loops = {loop.name: loop for loop in loops}
        _CONNECTED.set_function(lambda: len(roster))

    async def step(self, loop: str) -> bool:
        """Do one step of a loop by hand; whether there may be more."""
        return await self._loops[loop].step()

    async def _promote(self, store: PostgresTriggerStore) -> bool:
        return await store.promote_held(self._partitions.horizon(), _PROMOTED) == _PROMOTED

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
