"""Workers that speak plain REST: they ask for work instead of being handed it.

Nothing is remembered between two requests, so that any node can answer any of them; what a worker holds is in the
database. A claim whose answer was lost is simply made again: what the worker holds and has not begun comes first.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from time import monotonic

import msgspec
import structlog

from tickwork.dispatch.claim import Claimer
from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.model.access import Caller
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.ids import execution_id, from_micros, worker_id
from tickwork.model.job import HTTP_TASK
from tickwork.model.json_limits import raw_json
from tickwork.model.rest_worker import (
    ClaimedExecution,
    ClaimedWork,
    ClaimRequest,
    Heartbeat,
    ParentResult,
    RegisteredWorker,
    StopRequest,
    TaskRequest,
    WorkerRequest,
    resource_amounts,
    worker_errors,
)
from tickwork.model.task_context import read_outcomes
from tickwork.model.worker import BEAT, LEASE
from tickwork.model.worker_protocol import FromServer, Hello, Micros, Run, Runs, TaskOffer, execution_key
from tickwork.store.port.dispatch import (
    NO_CONNECTION,
    DispatchStore,
    LeasedExecutions,
    RestWorker,
    RestWorkerStore,
    Revocation,
    WorkerConnection,
)

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.gateway")
_ON_TIME = timedelta(0)  # such a worker cannot wait for the moment: nothing is handed to it ahead of its time
_MOMENT = 0.05  # seconds: work that arrives in a swarm is looked for once
_GLANCE = 0.25  # seconds between looks for work that arrived at other nodes


class RestWorkers:
    def __init__(self, dispatch: DispatchStore, workers: RestWorkerStore, now: Callable[[], Micros]) -> None:
        self._dispatch = dispatch
        self._workers = workers
        self._now = now
        self._roster = ConnectedWorkers()  # of whoever claims just now; it stays for what it knows of lanes
        self._claimer = Claimer(dispatch, self._roster, _ON_TIME)  # stays for what it knows of fair shares
        self._claiming = asyncio.Lock()
        self._arrived = asyncio.Event()
        self._closed = False

    async def register(self, caller: Caller, request: WorkerRequest) -> RegisteredWorker:
        errors = [*worker_errors(request), *_reserved_names(request)]
        if errors:
            raise Invalid(errors)
        unknown_to_all = secrets.token_bytes(32)  # nobody comes back by a token
        registration = await self._dispatch.register(
            caller, _hello(request), unknown_to_all, LEASE, NO_CONNECTION
        )
        _log.info(
            "worker registered over REST",
            worker=worker_id(registration.worker_id),
            name=request.name,
            slots=request.slots,
        )
        return RegisteredWorker(
            worker_id(registration.worker_id), LEASE.total_seconds(), BEAT.total_seconds()
        )

    async def heartbeat(self, caller: Caller, worker: int) -> Heartbeat:
        drain = await self._workers.heartbeat(caller, worker, LEASE)
        revocations = await self._dispatch.revocations([worker])
        return Heartbeat(LEASE.total_seconds(), drain, [*map(_stop, revocations)])

    async def claim(self, caller: Caller, worker: int, request: ClaimRequest) -> ClaimedWork:
        """A claim is a sign of life, for as long as it waits."""
        ends = monotonic() + request.wait
        await self._workers.heartbeat(caller, worker, LEASE)
        while True:
            arrived = self._arrived
            work, hello = await self._hand_out(caller, worker, request.max)
            if work.items or work.drain or self._closed or monotonic() >= ends:
                return work
            if not await self._until_news(caller, worker, hello, arrived, ends):
                return work

    def look_again(self) -> None:
        """Those that wait for work here look whether there is any for them."""
        self._arrived.set()
        self._arrived = asyncio.Event()

    def close(self) -> None:
        """Nobody waits here any more."""
        self._closed = True
        self.look_again()

    async def _until_news(
        self, caller: Caller, worker: int, hello: Hello, arrived: asyncio.Event, ends: float
    ) -> bool:
        """Until something is due that might be for it, or it is to drain; False when the time is over."""
        beat_at = monotonic() + BEAT.total_seconds()
        while not self._closed and (left := ends - monotonic()) > 0:
            await _either(arrived, min(_GLANCE, left))
            arrived = self._arrived
            if monotonic() > beat_at:
                beat_at = monotonic() + BEAT.total_seconds()
                await self._workers.heartbeat(caller, worker, LEASE)
            if await self._workers.is_there_news(caller.tenant_id, worker, hello):
                return True
        return False

    async def _hand_out(self, caller: Caller, worker: int, most: int) -> tuple[ClaimedWork, Hello]:
        """What it holds and has not begun; only when that is nothing, something new."""
        runs: list[Run] = []
        while True:
            count = len(runs)
            served, more = await self._turn(caller, worker, most, runs)
            broken = [run for run in runs[count:] if raw_json(run.payload) is None]
            for run in broken:
                await self._dispatch.fail_execution(execution_key(run), "its payload is not valid JSON")
                runs.remove(run)
            if not more or len(runs) == most:
                return ClaimedWork([self._execution(run) for run in runs], served.draining), served.hello

    async def _turn(self, caller: Caller, worker: int, most: int, runs: list[Run]) -> tuple[RestWorker, bool]:
        """One transaction; new is one execution at most, so that each has a lease of its own, which goes when it ends.
        Whether there may be more."""
        async with self._claiming, self._workers.serving(caller, worker) as served:
            member = ConnectedWorker(
                WorkerConnection(worker, NO_CONNECTION),
                caller.tenant_id,
                served.hello,
                _into(runs),
                dismiss=_nobody,
            )
            with self._at_hand(member):
                await self._put_into_hands(member, served.leased)
                unbegun = [place for place, begun in enumerate(served.started) if not begun]
                if unbegun and not runs:
                    member.deliver(served.leased.executions.at(unbegun[:most]))
                    return served, False
                if served.draining or member.holding >= served.hello.slots:
                    return served, False
                member.credit = member.holding + 1
                return served, await self._claimer.claim()

    @contextmanager
    def _at_hand(self, member: ConnectedWorker) -> Iterator[None]:
        self._roster.join(member)
        try:
            yield
        finally:
            self._roster.leave(member)

    async def _put_into_hands(self, member: ConnectedWorker, held: LeasedExecutions) -> None:
        await self._roster.learn(set(held.executions.lanes), self._dispatch)
        for place, lease in enumerate(held.leases):
            member.take(held.executions.at(range(place, place + 1)), lease)

    def _execution(self, run: Run) -> ClaimedExecution:
        scheduled_for = from_micros(run.at)
        return ClaimedExecution(
            id=execution_id(run.job, scheduled_for),
            attempt=run.attempt,
            task=run.task,
            payload=msgspec.Raw(run.payload),
            timeout=run.timeout,
            scheduled_for=scheduled_for,
            deadline=from_micros(self._now()) + timedelta(seconds=run.timeout),
            parents=_parents(run),
        )


async def _either(arrived: asyncio.Event, at_most: float) -> None:
    await asyncio.sleep(min(_MOMENT, at_most))
    with suppress(TimeoutError):
        async with asyncio.timeout(max(at_most - _MOMENT, 0)):
            await arrived.wait()


def _into(runs: list[Run]) -> Callable[[FromServer], None]:
    def take(message: FromServer) -> None:
        if isinstance(message, Runs):
            runs.extend(message.items)

    return take


def _nobody() -> None:
    """There is no connection to end."""


def _reserved_names(request: WorkerRequest) -> Iterator[FieldError]:
    for place, offer in enumerate(_offers(request)):
        if offer.name == HTTP_TASK:
            yield FieldError(
                f"tasks[{place}]", f"{HTTP_TASK!r} is the name of the built-in task", "choose another"
            )


def _hello(request: WorkerRequest) -> Hello:
    return Hello(
        name=request.name,
        host="",
        version="",
        slots=request.slots,
        credit=0,
        tasks=_offers(request),
        queues=request.queues,
        weights=request.weights,
        labels=request.labels,
        resources=resource_amounts(request.resources),
    )


def _offers(request: WorkerRequest) -> list[TaskOffer]:
    tasks = [TaskRequest(task) if isinstance(task, str) else task for task in request.tasks]
    return [
        TaskOffer(task.name, task.parameters, task.description, msgspec.to_builtins(task.defaults))
        for task in tasks
    ]


def _parents(run: Run) -> list[ParentResult] | None:
    try:
        return [ParentResult(*msgspec.structs.astuple(parent)) for parent in read_outcomes(run.parents)]
    except ValueError:
        return None


def _stop(revocation: Revocation) -> StopRequest:
    _, scheduled_for, job = revocation.key
    return StopRequest(execution_id(job, scheduled_for), revocation.attempt, revocation.reason)
