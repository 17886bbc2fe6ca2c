"""REST workers: they request executions instead of being sent them.

A node remembers nothing between two requests, so any node can answer any of them; the executions of a worker are in the
database. A worker whose answer was lost repeats its claim: it first gets executions that it has and has not started.
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
from tickwork.dispatch.connected_worker import ConnectedWorker, TraceHandover
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.execution_metrics import START_DELAY
from tickwork.model.access import Caller
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.json_limits import raw_json
from tickwork.model.public_ids import execution_id, from_micros, worker_id
from tickwork.model.rest_worker import (
    ClaimedExecution,
    ClaimedWork,
    ClaimRequest,
    Heartbeat,
    HeartbeatReport,
    ParentResult,
    RegisteredWorker,
    StopRequest,
    TaskRequest,
    WorkerRequest,
    resource_amounts,
    resource_errors,
    worker_errors,
)
from tickwork.model.task import BUILT_IN_TASKS
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
_NO_LEAD = timedelta(0)  # a REST worker starts executions at once, so it gets none before its due time
_BATCH_DELAY = 0.05  # seconds: one query for executions that become ready together
_POLL_INTERVAL = 0.25  # seconds, for executions that become ready through other nodes


class RestWorkers:
    def __init__(
        self,
        dispatch: DispatchStore,
        workers: RestWorkerStore,
        now: Callable[[], Micros],
        is_paused: Callable[[], bool],
        trace_handover: TraceHandover | None = None,
    ) -> None:
        """`is_paused`: whether the cluster is. Then claims find nothing."""
        self._is_paused = is_paused
        self._dispatch = dispatch
        self._workers = workers
        self._now = now
        # The worker that claims now, if any; kept because it caches lanes.
        self.claimant = ConnectedWorkers(trace_handover)
        self._claimer = Claimer(dispatch, self.claimant, _NO_LEAD)  # kept because it remembers fair shares
        self._claiming = asyncio.Lock()
        self._arrived = asyncio.Event()
        self._closed = False

    async def register(self, caller: Caller, request: WorkerRequest) -> RegisteredWorker:
        errors = [*worker_errors(request), *_reserved_names(request)]
        if errors:
            raise Invalid(errors)
        unused_token = secrets.token_bytes(32)  # a REST worker never resumes by token
        registration = await self._dispatch.register(
            caller, _hello(request), unused_token, LEASE, NO_CONNECTION
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

    async def heartbeat(self, caller: Caller, worker: int, report: HeartbeatReport) -> Heartbeat:
        """What the report changes counts from the next claim on, at any node."""
        if errors := [*resource_errors(report.resources or {})]:
            raise Invalid(errors)
        drain = await self._workers.heartbeat(caller, worker, LEASE, report)
        revocations = await self._dispatch.revocations([worker])
        return Heartbeat(LEASE.total_seconds(), drain, [*map(_stop_request, revocations)])

    async def claim(self, caller: Caller, worker: int, request: ClaimRequest) -> ClaimedWork:
        """Wait up to `request.wait` for executions. A claim counts as a heartbeat for as long as it waits."""
        deadline = monotonic() + request.wait
        await self._workers.heartbeat(caller, worker, LEASE)
        while True:
            arrived = self._arrived
            work, hello = await self._claim_up_to(caller, worker, request.max)
            if work.items or work.drain or self._closed or monotonic() >= deadline:
                return work
            if not await self._wait_for_work(caller, worker, hello, arrived, deadline):
                return work

    def wake_claims(self) -> None:
        """Let waiting claims query for executions now."""
        self._arrived.set()
        self._arrived = asyncio.Event()

    def close(self) -> None:
        """Answer all waiting claims, and let no other wait."""
        self._closed = True
        self.wake_claims()

    async def _wait_for_work(
        self, caller: Caller, worker: int, hello: Hello, arrived: asyncio.Event, deadline: float
    ) -> bool:
        """Wait until an execution is due that the worker might get, or it must drain; False after the deadline."""
        beat_at = monotonic() + BEAT.total_seconds()
        while not self._closed and (left := deadline - monotonic()) > 0:
            await _wait_until_set(arrived, min(_POLL_INTERVAL, left))
            arrived = self._arrived
            if monotonic() > beat_at:
                beat_at = monotonic() + BEAT.total_seconds()
                await self._workers.heartbeat(caller, worker, LEASE)
            if not self._is_paused() and await self._workers.is_there_news(
                caller.tenant_id, worker, self._enabled_tasks(caller.tenant_id, hello), hello.queues
            ):
                return True
        return False

    def _enabled_tasks(self, tenant_id: int, hello: Hello) -> list[str]:
        return [offer.name for offer in hello.tasks if not self.claimant.is_disabled(tenant_id, offer.name)]

    async def _claim_up_to(self, caller: Caller, worker: int, most: int) -> tuple[ClaimedWork, Hello]:
        """The executions that the worker has and has not started; new ones only if there are none of those."""
        runs: list[Run] = []
        while True:
            count = len(runs)
            served, more = await self._claim_once(caller, worker, most, runs)
            unreadable = [run for run in runs[count:] if raw_json(run.payload) is None]
            for run in unreadable:
                await self._dispatch.fail_execution(execution_key(run), "its payload is not valid JSON")
                runs.remove(run)
            if not more or len(runs) == most:
                now = self._now()
                START_DELAY.add([now - run.not_before for run in runs])
                return ClaimedWork([self._execution(run) for run in runs], served.draining), served.hello

    async def _claim_once(
        self, caller: Caller, worker_id: int, most: int, runs: list[Run]
    ) -> tuple[RestWorker, bool]:
        """One transaction that adds to `runs`; also returns whether there may be more.

        It claims at most one new execution, so that each has its own lease, which is deleted when it ends."""
        async with self._claiming, self._workers.serving(caller, worker_id) as served:
            if self._is_paused():
                return served, False
            worker = ConnectedWorker(
                WorkerConnection(worker_id, NO_CONNECTION),
                caller.tenant_id,
                served.hello,
                send=_append_to(runs),
                disconnect=_do_nothing,
            )
            with self._as_claimant(worker):
                await self._add_leases(worker, served.leased)
                unstarted = [
                    position
                    for position, started in enumerate(served.started)
                    # What it was given before a failover that lost commits it may have run: its timeout ends that.
                    if not started and served.leased.leases[position] >= self._dispatch.first_lease
                ]
                if unstarted and not runs:
                    worker.send_executions(served.leased.executions.at(unstarted[:most]))
                    return served, False
                if served.draining or worker.leased_count >= served.hello.slots:
                    return served, False
                worker.credit = worker.leased_count + 1
                return served, await self._claimer.claim()

    @contextmanager
    def _as_claimant(self, worker: ConnectedWorker) -> Iterator[None]:
        self.claimant.add(worker)
        try:
            yield
        finally:
            self.claimant.remove(worker)

    async def _add_leases(self, worker: ConnectedWorker, leased: LeasedExecutions) -> None:
        await self.claimant.load_lanes(set(leased.executions.lanes), self._dispatch)
        for position, lease in enumerate(leased.leases):
            worker.add_lease(leased.executions.at(range(position, position + 1)), lease)

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
            traceparent=run.traceparent,
        )


async def _wait_until_set(arrived: asyncio.Event, at_most: float) -> None:
    await asyncio.sleep(min(_BATCH_DELAY, at_most))
    with suppress(TimeoutError):
        async with asyncio.timeout(max(at_most - _BATCH_DELAY, 0)):
            await arrived.wait()


def _append_to(runs: list[Run]) -> Callable[[FromServer], None]:
    def append(message: FromServer) -> None:
        if isinstance(message, Runs):
            runs.extend(message.items)

    return append


def _do_nothing() -> None:
    """A REST worker has no connection to end."""


def _reserved_names(request: WorkerRequest) -> Iterator[FieldError]:
    for position, offer in enumerate(_offers(request)):
        if offer.name in BUILT_IN_TASKS:
            yield FieldError(
                f"tasks[{position}]", f"{offer.name!r} is the name of a built-in task", "choose another"
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


def _stop_request(revocation: Revocation) -> StopRequest:
    _, scheduled_for, job = revocation.key
    return StopRequest(execution_id(job, scheduled_for), revocation.attempt, revocation.reason)
