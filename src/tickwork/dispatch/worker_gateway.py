"""The server's end of the worker protocol: serves each connected worker from its Hello to the end of the connection."""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

import structlog

from tickwork.dispatch.attempts_lost_in_failover import end_lost, split_lost
from tickwork.dispatch.check_hello import hello_problem, json_problem
from tickwork.dispatch.claim import ClaimAgain
from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.dispatch.renew_and_revoke_leases import Renewer, put_off_missing, send_missing
from tickwork.dispatch.take_checkpoints import CheckpointStorage, take_checkpoints, take_recall
from tickwork.dispatch.worker_message_channel import BrokenProtocol, Socket, WorkerSession
from tickwork.log_rate_limit import LogRateLimit
from tickwork.loop import Wake
from tickwork.model.access import Caller
from tickwork.model.errors import Unavailable
from tickwork.model.public_ids import from_micros, worker_id
from tickwork.model.validate_worker_reports import (
    LATEST_TIME,
    is_valid_note,
    recordable_outcomes,
    truncate_note,
)
from tickwork.model.worker import LEASE
from tickwork.model.worker_protocol import (
    LEASE_RAN_OUT,
    Ack,
    Beat,
    Checkpoints,
    Claim,
    Drain,
    Drained,
    FromWorker,
    Hello,
    Micros,
    Note,
    Noted,
    Notes,
    Outcome,
    Outcomes,
    Recall,
    Welcome,
    execution_key,
)  # fmt: skip
from tickwork.store.port.dispatch import NOTHING_LEASED, DispatchStore, LeasedExecutions, WorkerConnection
from tickwork.store.port.record import Claimed

_log = structlog.get_logger("tickwork.gateway")
_HELLO_TIMEOUT = 10.0
_POLL_INTERVAL = 0.01
_STOPPING = "this server is stopping"
_STALE = "stale outcomes refused"
_BROKEN = "a worker broke the protocol"


class Recorder(Protocol):
    """Records outcomes, and calls `recorded` once they are committed."""

    def submit(
        self,
        worker_id: int,
        outcomes: Sequence[Outcome],
        lanes: Sequence[int],
        leases: Sequence[int],
        recorded: Callable[[], None],
    ) -> None: ...

    def submit_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None: ...


class LogWriter(Protocol):
    """Writes the log lines and progress of attempts, and calls `written` once they are committed or given up."""

    def submit(self, worker_id: int, notes: Sequence[Note], written: Callable[[], None]) -> None: ...


class KeyCheck(Protocol):
    async def is_valid(self, key_id: int) -> bool: ...


class WorkerGateway:
    def __init__(
        self,
        store: DispatchStore,
        connected: ConnectedWorkers,
        renewer: Renewer,
        recorder: Recorder,
        log_writer: LogWriter,
        checkpoints: CheckpointStorage,
        keys: KeyCheck,
        claim_again: ClaimAgain,
        wake: Wake,
        *,
        now: Callable[[], Micros],
        is_paused: Callable[[], bool],
    ) -> None:
        """`is_paused`: whether the cluster is."""
        self._is_paused = is_paused
        self._stopping = False
        self._store = store
        self._connected = connected
        self._renewer = renewer
        self._recorder = recorder
        self._log_writer = log_writer
        self._checkpoints = checkpoints
        self._keys = keys
        self._now = now
        self._claim_again = claim_again
        self._wake = wake
        self._sessions: dict[WorkerSession, bool] = {}  # whether it is that of a built-in worker
        self._stale_limit = LogRateLimit(_log.info, _STALE)
        self._broken_limit = LogRateLimit(_log.warning, _BROKEN)

    @property
    def accepts_workers(self) -> bool:
        return not self._stopping

    async def attend(self, caller: Caller | None, socket: Socket) -> None:
        """Serve one worker until its connection ends. Without a caller it is the built-in worker, for all tenants."""
        session = WorkerSession(socket)
        self._sessions[session] = caller is None
        try:
            await self._serve(caller, session)
        except BrokenProtocol as error:
            self._log_broken(caller, str(error))
            await session.close(1003, f"not a message of this protocol: {error}")
        finally:
            del self._sessions[session]
            await session.end()

    async def move_workers(self) -> None:
        """End the connections of all workers and accept no more: they go on with another node. The built-in workers
        stay until `close`."""
        self._stopping = True
        for session, is_built_in in list(self._sessions.items()):
            if not is_built_in:
                await session.close(1012, _STOPPING)

    async def close(self) -> None:
        """End all connections; the workers connect to another node."""
        self._stopping = True
        for session in list(self._sessions):
            await session.close(1012, _STOPPING)

    def _log_broken(self, caller: Caller | None, error: str) -> None:
        if self._broken_limit.admits(caller.key_id if caller else None):
            _log.warning(
                _BROKEN,
                error=error[:300],
                tenant_id=caller.tenant_id if caller else None,
                key_id=caller.key_id if caller else None,
            )

    async def _serve(self, caller: Caller | None, session: WorkerSession) -> None:
        try:
            async with asyncio.timeout(_HELLO_TIMEOUT):
                hello = await session.receive()
        except TimeoutError:
            await session.close(1002, "no Hello came")
            return
        if not isinstance(hello, Hello):
            await session.close(1002, "the first message is Hello")
            return
        worker = await self._connect(caller, hello, session)
        if worker is None:
            return
        try:
            while message := await session.receive():
                await self._handle(worker, message)
                if caller and isinstance(message, Beat) and not await self._has_valid_key(caller):
                    await session.close(1008, "the key has expired or was revoked")
        except BrokenProtocol:
            session.close_reason = "it broke the protocol"
            raise
        finally:
            self._connected.remove(worker)
            _log_disconnected(worker, hello.name, session.close_reason)
            await self._leave_if_drained(worker)

    async def _connect(
        self, caller: Caller | None, hello: Hello, session: WorkerSession
    ) -> ConnectedWorker | None:
        tenant_id = caller.tenant_id if caller else None
        problem = hello_problem(tenant_id, hello)
        if problem:
            self._log_broken(caller, problem)
            await session.close(1008, problem)
            return None
        token = hello.resume or secrets.token_urlsafe(32)
        connection = await self._register(caller, hello, token)
        if connection is None:
            _log.warning("worker refused: its lease expired; it registers again", name=hello.name)
            await session.send_now(LEASE_RAN_OUT)
            return None
        worker = ConnectedWorker(connection, tenant_id, hello, session.send, session.disconnect)
        session.queue_until_welcome()
        before = self._connected.get(worker.id)
        self._connected.add(worker)
        if before:
            before.disconnect()
        leased = await self._store.leased_to(worker.id) if hello.resume else NOTHING_LEASED
        await self._connected.load_lanes(leased.executions.lanes, self._store)
        leased, lost = split_lost(leased, hello.holding, self._store.first_lease)
        if lost.leases:
            self._record_lost(worker, lost)
        if self._is_paused():
            leased = put_off_missing(worker, leased, hello.holding)
        forget = send_missing(worker, leased, hello.holding)
        session.send_welcome(
            Welcome(
                worker=worker.id,
                token=token,
                lease=LEASE.total_seconds(),
                now=self._now(),
                forget=forget,
            )
        )
        _log.info(
            "worker connected",
            worker=worker_id(worker.id),
            name=hello.name,
            slots=hello.slots,
            tasks=len(hello.tasks),
            resumed=bool(hello.resume),
        )
        self._wake.claim()
        return worker

    def _record_lost(self, worker: ConnectedWorker, lost: LeasedExecutions) -> None:
        _log.warning(
            "reports of a worker were lost in a failover", worker=worker_id(worker.id), count=len(lost.leases)
        )
        self._recorder.submit(
            worker.id, *end_lost(worker, lost, self._now()), recorded=_nothing_to_acknowledge
        )

    async def _register(self, caller: Caller | None, hello: Hello, token: str) -> WorkerConnection | None:
        """The token identifies a worker that reconnects. With another API key, it belongs to that key from now on."""
        digest = hashlib.sha256(token.encode()).digest()
        if hello.resume:
            return await self._store.resume(caller, hello, digest, LEASE)
        return await self._store.register(caller, hello, digest, LEASE)

    async def _handle(self, worker: ConnectedWorker, message: FromWorker) -> None:
        match message:
            case Outcomes():
                self._take_outcomes(worker, message)
            case Notes():
                self._take_notes(worker, message)
            case Beat():
                self._take_beat(worker, message)
            case Checkpoints():
                take_checkpoints(worker, message, self._checkpoints)
            case Recall():
                take_recall(worker, message, self._checkpoints)
            case Drain():
                await self._drain(worker)
            case Hello():
                raise BrokenProtocol("Hello comes once")

    async def _drain(self, worker: ConnectedWorker) -> None:
        """Answer Drained only after all executions that are reserved for the worker were sent to it."""
        _log.info("worker drains", worker=worker_id(worker.id), holding=worker.leased_count)
        worker.draining = True
        await self._store.drain(worker.id)
        while worker.reserved:  # noqa: ASYNC110 (rare and short; an event would cost every handover)
            await asyncio.sleep(_POLL_INTERVAL)
        worker.send(Drained())

    def _take_outcomes(self, worker: ConnectedWorker, message: Outcomes) -> None:
        """Record the outcomes of attempts that this worker has. Others are stale: they are only acknowledged, so that
        the worker does not repeat them."""
        accepted, lanes, ended_leases = worker.end_attempts(message.items)
        if len(accepted) < len(message.items) and self._stale_limit.admits(worker.id):
            _log.info(
                _STALE,
                worker=worker_id(worker.id),
                count=len(message.items) - len(accepted),
            )
        self._recorder.submit(
            worker.id,
            recordable_outcomes(accepted, self._now()),
            lanes,
            ended_leases,
            recorded=lambda: worker.send(Ack(message.number)),
        )
        self._claim_again.after_slots_freed()

    def _take_notes(self, worker: ConnectedWorker, message: Notes) -> None:
        """Write log lines and progress of attempts that this worker has. Invalid ones are dropped: they are no reason
        to end the connection."""
        accepted = [
            truncate_note(note)
            for note in message.items
            if _has_attempt(worker, note) and is_valid_note(note)
        ]
        self._log_writer.submit(worker.id, accepted, written=lambda: worker.send(Noted(message.number)))

    def _take_beat(self, worker: ConnectedWorker, message: Beat) -> None:
        worker.credit = message.credit
        if message.load is not None:
            worker.measured(message.load)
        if message.labels is not None or message.resources is not None:
            self._change(worker, message)
        self._renewer.add_heartbeat(worker, message.sent)
        self._wake.renew()
        started = [
            (Claimed(execution_key(claim), worker.id, claim.attempt), from_micros(at))
            for claim, at in message.running
            if _has_attempt(worker, claim) and 0 < at < LATEST_TIME
        ]
        if started:
            self._recorder.submit_started(started)

    def _change(self, worker: ConnectedWorker, message: Beat) -> None:
        """The worker has other labels or resources: from now on it gets what fits these."""
        if problem := json_problem(message, ("labels", "resources")):
            raise BrokenProtocol(problem)
        worker.change(message.labels, message.resources)
        self._connected.match_again()
        self._wake.claim()
        _log.info(
            "worker changed",
            worker=worker_id(worker.id),
            name=worker.name,
            labels=message.labels,
            resources=message.resources,
        )

    async def _has_valid_key(self, caller: Caller) -> bool:
        try:
            return await self._keys.is_valid(caller.key_id)
        except Unavailable:
            return True  # nobody can revoke a key while the database is away, and the worker must keep its attempts

    async def _leave_if_drained(self, worker: ConnectedWorker) -> None:
        """A drained worker without executions does not come back; any other may reconnect to another node."""
        if worker.draining and not worker.leased_count and not worker.reserved:
            await self._store.leave(worker.id)


def _nothing_to_acknowledge() -> None:
    """The worker has reported it before, and was answered."""


def _log_disconnected(worker: ConnectedWorker, name: str, reason: str | None) -> None:
    """As information if the worker drained or this server stops, otherwise as a warning."""
    drained = worker.draining and not worker.leased_count
    log = _log.info if drained or reason == _STOPPING else _log.warning
    log(
        "worker disconnected",
        worker=worker_id(worker.id),
        name=name,
        reason=reason or ("drained" if drained else "the connection was lost"),
        holding=worker.leased_count,
    )


def _has_attempt(worker: ConnectedWorker, claim: Claim | Outcome | Note) -> bool:
    return worker.leased_attempt((claim.tenant, claim.at, claim.job)) == claim.attempt
