"""Where workers come in: one session per connection, from Hello to the end of the connection."""

import asyncio
import hashlib
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

import msgspec
import structlog

from tickwork.dispatch.claim_again import ClaimAgain
from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.dispatch.lease_renewal import Renewer
from tickwork.dispatch.reconcile_leases import compare
from tickwork.log_rate_limit import LogRateLimit
from tickwork.model.access import Caller
from tickwork.model.errors import Unavailable
from tickwork.model.ids import from_micros, worker_id
from tickwork.model.job import HTTP_TASK
from tickwork.model.json_limits import json_error
from tickwork.model.outcome_limits import LATEST_TIME, is_valid_note, recordable_outcome, truncate_note
from tickwork.model.worker import LEASE
from tickwork.model.worker_protocol import (
    LEASE_RAN_OUT,
    Ack,
    Beat,
    Claim,
    Drain,
    Drained,
    FromServer,
    FromWorker,
    Hello,
    Micros,
    Note,
    Noted,
    Notes,
    Outcome,
    Outcomes,
    Welcome,
    execution_key,
)  # fmt: skip
from tickwork.store.port.dispatch import NOTHING_LEASED, DispatchStore, WorkerConnection
from tickwork.store.port.record import Claimed
from tickwork.wake import Wake

_log = structlog.get_logger("tickwork.gateway")
_HELLO_WITHIN = 10.0
_MOMENT = 0.01  # seconds between looks whether a transaction has ended
_STOPPING = "this server is stopping"
_STALE = "stale outcomes refused"
_BROKEN = "a worker broke the protocol"
_LARGEST_OFFER = 1024 * 1024  # bytes of each part of a Hello, as JSON
_MOST_UNREAD = 10_000  # messages that a worker has not taken
_OFFERED = ("name", "host", "version", "tasks", "labels", "resources")


class BrokenProtocol(Exception):
    """What came is not what a worker may say: its connection ends, and nothing else."""


class Socket(Protocol):
    async def receive(self) -> bytes | None:
        """The next message; None when the connection is closed."""

    async def send(self, message: bytes) -> None: ...

    async def close(self, code: int, reason: str) -> None: ...


class Recorder(Protocol):
    """Takes outcomes and says when they are safe."""

    def submit(
        self, worker_id: int, outcomes: Sequence[Outcome], leases: Sequence[int], recorded: Callable[[], None]
    ) -> None: ...

    def submit_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None: ...


class Notekeeper(Protocol):
    """Takes what attempts log, and says when it is kept."""

    def submit(self, worker_id: int, notes: Sequence[Note], noted: Callable[[], None]) -> None: ...


class KeyCheck(Protocol):
    async def is_valid(self, key_id: int) -> bool: ...


class WorkerGateway:
    def __init__(
        self,
        store: DispatchStore,
        roster: ConnectedWorkers,
        renewer: Renewer,
        recorder: Recorder,
        notekeeper: Notekeeper,
        keys: KeyCheck,
        claim_again: ClaimAgain,
        wake: Wake,
        *,
        now: Callable[[], Micros],
    ) -> None:
        self._store = store
        self._roster = roster
        self._renewer = renewer
        self._recorder = recorder
        self._notekeeper = notekeeper
        self._keys = keys
        self._now = now
        self._claim_again = claim_again
        self._wake = wake
        self._sessions: set[_Session] = set()
        self._stale = LogRateLimit(_log.info, _STALE)
        self._broken = LogRateLimit(_log.warning, _BROKEN)

    async def attend(self, caller: Caller | None, socket: Socket) -> None:
        """Serve one worker until its connection ends. Nobody's worker is the built-in one, for all tenants."""
        session = _Session(socket)
        self._sessions.add(session)
        try:
            await self._serve(caller, session)
        except BrokenProtocol as error:
            self._complain(caller, str(error))
            await session.close(1003, f"not a message of this protocol: {error}")
        finally:
            self._sessions.discard(session)
            await session.end()

    async def close(self) -> None:
        """End all connections; the workers go to another node."""
        for session in list(self._sessions):
            await session.close(1012, _STOPPING)

    def _complain(self, caller: Caller | None, what: str) -> None:
        if self._broken.admits(caller.key_id if caller else None):
            _log.warning(
                _BROKEN,
                error=what[:300],
                tenant_id=caller.tenant_id if caller else None,
                key_id=caller.key_id if caller else None,
            )

    async def _serve(self, caller: Caller | None, session: "_Session") -> None:
        try:
            async with asyncio.timeout(_HELLO_WITHIN):
                hello = await session.receive()
        except TimeoutError:
            await session.close(1002, "no Hello came")
            return
        if not isinstance(hello, Hello):
            await session.close(1002, "the first message is Hello")
            return
        member = await self._admit(caller, hello, session)
        if member is None:
            return
        try:
            while message := await session.receive():
                await self._handle(member, message)
                if caller and isinstance(message, Beat) and not await self._may_stay(caller):
                    await session.close(1008, "the key was revoked")
        except BrokenProtocol:
            session.reason = "it said something that is not of this protocol"
            raise
        finally:
            self._roster.leave(member)
            _tell_gone(member, hello.name, session.reason)
            await self._farewell(member)

    async def _admit(
        self, caller: Caller | None, hello: Hello, session: "_Session"
    ) -> ConnectedWorker | None:
        tenant_id = caller.tenant_id if caller else None
        problem = _objection(tenant_id, hello)
        if problem:
            self._complain(caller, problem)
            await session.close(1008, problem)
            return None
        token = hello.resume or secrets.token_urlsafe(32)
        seat = await self._register(caller, hello, token)
        if seat is None:
            _log.warning("worker refused: its lease ran out; it starts anew", name=hello.name)
            await session.send_last(LEASE_RAN_OUT)
            return None
        member = ConnectedWorker(seat, tenant_id, hello, session.send, session.dismiss)
        session.hold_back()
        before = self._roster.get(seat.worker_id)
        self._roster.join(member)
        if before:
            before.dismiss()
        held = await self._store.leased_to(seat.worker_id) if hello.resume else NOTHING_LEASED
        await self._roster.learn(held.executions.lanes, self._store)
        forget = compare(member, held, hello.holding)
        session.send_first(
            Welcome(
                worker=seat.worker_id,
                token=token,
                lease=LEASE.total_seconds(),
                now=self._now(),
                forget=forget,
            )
        )
        _log.info(
            "worker connected",
            worker=worker_id(seat.worker_id),
            name=hello.name,
            slots=hello.slots,
            tasks=len(hello.tasks),
            resumed=bool(hello.resume),
        )
        self._wake.claim()
        return member

    async def _register(self, caller: Caller | None, hello: Hello, token: str) -> WorkerConnection | None:
        """Who knows the token is the worker, also with another key: it is bound to that one from now on."""
        digest = hashlib.sha256(token.encode()).digest()
        if hello.resume:
            return await self._store.resume(caller, digest, LEASE)
        return await self._store.register(caller, hello, digest, LEASE)

    async def _handle(self, member: ConnectedWorker, message: FromWorker) -> None:
        match message:
            case Outcomes():
                self._take_outcomes(member, message)
            case Notes():
                self._take_notes(member, message)
            case Beat():
                self._take_beat(member, message)
            case Drain():
                await self._drain(member)
            case Hello():
                raise BrokenProtocol("Hello comes once")

    async def _drain(self, member: ConnectedWorker) -> None:
        """What is on its way to it still arrives; only then may it leave."""
        _log.info("worker drains", worker=worker_id(member.seat.worker_id), holding=member.holding)
        member.draining = True
        await self._store.drain(member.seat.worker_id)
        while member.reserved:  # noqa: ASYNC110 (rare and short, where an event would burden every handout)
            await asyncio.sleep(_MOMENT)
        member.send(Drained())

    def _take_outcomes(self, member: ConnectedWorker, message: Outcomes) -> None:
        """Only what this worker holds counts; the rest is stale, and acknowledged so that it is not repeated."""
        ours, leases = member.end(message.items)
        now = self._now()
        if len(ours) < len(message.items) and self._stale.admits(member.seat.worker_id):
            _log.info(
                _STALE,
                worker=worker_id(member.seat.worker_id),
                count=len(message.items) - len(ours),
            )
        self._recorder.submit(
            member.seat.worker_id,
            [recordable_outcome(outcome, now) for outcome in ours],
            leases,
            recorded=lambda: member.send(Ack(message.number)),
        )
        self._claim_again.after_room_opened()

    def _take_notes(self, member: ConnectedWorker, message: Notes) -> None:
        """Like outcomes. One that makes no sense is passed over: it is not worth a connection."""
        ours = [
            truncate_note(note) for note in message.items if _in_hand(member, note) and is_valid_note(note)
        ]
        self._notekeeper.submit(member.seat.worker_id, ours, noted=lambda: member.send(Noted(message.number)))

    def _take_beat(self, member: ConnectedWorker, message: Beat) -> None:
        member.credit = message.credit
        self._renewer.hear(member, message.sent)
        self._wake.renew()
        started = [
            (Claimed(execution_key(claim), member.seat.worker_id, claim.attempt), from_micros(at))
            for claim, at in message.running
            if _in_hand(member, claim) and 0 < at < LATEST_TIME
        ]
        if started:
            self._recorder.submit_started(started)

    async def _may_stay(self, caller: Caller) -> bool:
        try:
            return await self._keys.is_valid(caller.key_id)
        except Unavailable:
            return True  # nobody can have revoked it meanwhile, and the worker is to stay with what it holds

    async def _farewell(self, member: ConnectedWorker) -> None:
        """A drained worker that holds nothing has left for good; any other may come back on another node."""
        if member.draining and not member.holding and not member.reserved:
            await self._store.leave(member.seat.worker_id)


class _Session:
    """One connection: messages in order, sent by a task of its own so that nobody waits for a slow worker."""

    def __init__(self, socket: Socket) -> None:
        self.reason: str | None = None  # why this side ended it
        self._socket = socket
        self._decoder = msgspec.msgpack.Decoder(FromWorker)
        self._encoder = msgspec.msgpack.Encoder()
        self._outbox: deque[FromServer | None] = deque()  # None ends the connection
        self._held_back = False
        self._overflows = False
        self._filled = asyncio.Event()
        self._sender = asyncio.create_task(self._send_all())

    def send(self, message: FromServer) -> None:
        if len(self._outbox) < _MOST_UNREAD:
            self._outbox.append(message)
        else:
            self._overflows = True
        if not self._held_back:
            self._filled.set()

    def dismiss(self) -> None:
        """Without a word: the worker comes back and is told again what it holds."""
        self._outbox.append(None)
        self._filled.set()

    def hold_back(self) -> None:
        """Until `send_first`: nothing may overtake the Welcome."""
        self._held_back = True

    def send_first(self, message: FromServer) -> None:
        self._outbox.appendleft(message)
        self._held_back = False
        self._filled.set()

    async def receive(self) -> FromWorker | None:
        message = await self._socket.receive()
        if self._overflows:  # it comes back and is told again what it holds
            raise BrokenProtocol("it does not read what it is told")
        try:
            return None if message is None else self._decoder.decode(message)
        except (ValueError, RecursionError) as error:
            raise BrokenProtocol(str(error)) from None

    async def send_last(self, message: FromServer) -> None:
        await self._socket.send(self._encoder.encode(message))

    async def close(self, code: int, reason: str) -> None:
        self.reason = self.reason or reason
        await self._socket.close(code, reason)

    async def end(self) -> None:
        self._sender.cancel()
        await asyncio.gather(self._sender, return_exceptions=True)

    async def _send_all(self) -> None:
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._outbox and not self._held_back:
                message = self._outbox.popleft()
                if message is None:
                    await self.close(1012, "this worker has come back on another connection")
                    return
                await self._socket.send(self._encoder.encode(message))


def _tell_gone(member: ConnectedWorker, name: str, reason: str | None) -> None:
    """Nobody has to look after one that left, or that goes to another node because this one stops."""
    left = member.draining and not member.holding
    tell = _log.info if left or reason == _STOPPING else _log.warning
    tell(
        "worker disconnected",
        worker=worker_id(member.seat.worker_id),
        name=name,
        reason=reason or ("drained" if left else "the connection was lost"),
        holding=member.holding,
    )


def _objection(tenant_id: int | None, hello: Hello) -> str | None:
    """What was not bounded when it was decoded: what goes into columns that hold no NUL, and names that are taken."""
    for part in _OFFERED:
        try:
            fault = json_error(msgspec.json.encode(getattr(hello, part)), _LARGEST_OFFER)
        except (TypeError, ValueError) as error:  # MessagePack knows kinds of values that JSON does not
            fault = f"cannot be written as JSON: {error}"
        if fault:
            return f"{part} {fault}"
    names = [offer.name for offer in hello.tasks]
    if len({*names}) < len(names):
        return "tasks: name each task once"
    if tenant_id is not None and HTTP_TASK in names:
        return f"{HTTP_TASK!r} is the name of the built-in task: choose another"
    return None


def _in_hand(member: ConnectedWorker, claim: Claim | Outcome | Note) -> bool:
    return member.attempt_in_hand((claim.tenant, claim.at, claim.job)) == claim.attempt
