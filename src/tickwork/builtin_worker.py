"""The workers inside every server node, for all tenants: one runs HTTP jobs, the other delivers notifications.

Each has slots of its own, so that a flood of jobs does not delay the notifications, nor these the jobs.
"""

import asyncio
import platform
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import Protocol

from opentelemetry.trace import Tracer

from tickwork.config import Settings
from tickwork.dispatch.circuit_breakers import Breakers
from tickwork.dispatch.worker_gateway import WorkerGateway
from tickwork.execute.runners.http.build_request import Callback
from tickwork.execute.runners.http.circuit_breaker_runner import CircuitBreakerRunner
from tickwork.execute.runners.http.http_runner import HttpRunner
from tickwork.execute.runners.http.poll_status_url import StatusPoller
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy
from tickwork.execute.worker import Worker
from tickwork.inprocess_connection import InProcessConnection
from tickwork.model.channel import NOTIFY_TASK
from tickwork.model.errors import Unavailable
from tickwork.model.job import HTTP_TASK
from tickwork.model.task import direct_task
from tickwork.model.worker_protocol import Run

_HTTP_SLOTS = 1000  # as many as the runner has connections: enough for ten hanging destinations
_NOTIFY_SLOTS = 50
_ANY_ADDRESS = ("0.0.0.0", "::", "")  # noqa: S104 (to recognise them)
_SECRET_LIFETIME = 60.0
_DRAIN_TIMEOUT = 10.0  # seconds for calls in progress to end
_REPORT_TIMEOUT = 5.0  # seconds for those that were handed on to be recorded


class SecretStore(Protocol):
    async def signing_secret(self, tenant_id: int) -> str: ...


def callback_address(settings: Settings) -> str:
    """Where the targets of HTTP jobs reach the cluster. Without `public_url`, that is this node."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    host = platform.node() if settings.host in _ANY_ADDRESS else settings.host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


class BuiltInWorker:
    def __init__(
        self,
        settings: Settings,
        gateway: WorkerGateway,
        secrets: SecretStore,
        breakers: Breakers,
        deliver: Callable[[Run], Awaitable[bytes]],
        tracer: Tracer | None,
        callback_token: Callable[[str, int], str],
    ) -> None:
        policy = AddressPolicy.of(settings.http_allow, loopback=settings.http_allow_loopback)
        self._gateway = gateway
        address = callback_address(settings)

        def callback_of(execution: str, attempt: int) -> Callback:
            return Callback(f"{address}/v1/callbacks/{execution}", callback_token(execution, attempt))

        self._runner = HttpRunner(
            policy, SecretCache(secrets).of, callback_of=callback_of, tracing=tracer is not None
        )
        calls = CircuitBreakerRunner(self._runner, breakers.admit, breakers.report_call)
        self.poll = StatusPoller(self._runner.poll, breakers.admit, breakers.report_call)
        self._workers = [
            Worker(
                self,
                [direct_task(HTTP_TASK, calls)],
                name="built-in",
                slots=_HTTP_SLOTS,
                log_failures=False,  # the server in this process already logs them
                tracer=tracer,
            ),
            Worker(
                self,
                [direct_task(NOTIFY_TASK, deliver)],
                name="built-in, for notifications",
                slots=_NOTIFY_SLOTS,
                log_failures=False,
                tracer=tracer,
                count_attempts=False,  # the metrics of a node's worker are about HTTP jobs
            ),
        ]
        self._running: list[asyncio.Task[None]] = []
        self._connections: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._running = [
            asyncio.create_task(worker.run(), name="built-in worker") for worker in self._workers
        ]

    def drain(self) -> None:
        """Begin no more calls; other nodes make them."""
        for worker in self._workers:
            worker.drain()

    async def stop(self) -> None:
        """Wait briefly for the running attempts. Hand on the rest: another node calls again, with the same webhook-id,
        as soon as that is recorded."""
        self.drain()
        if self._running:
            await asyncio.wait(self._running, timeout=_DRAIN_TIMEOUT)
            for worker in self._workers:
                worker.abort_running("its server was stopped")
            await asyncio.wait(self._running, timeout=_REPORT_TIMEOUT)
            for worker in self._workers:
                worker.stop_now()
            await asyncio.gather(*self._running)
        await asyncio.gather(*self._connections)
        await self._runner.close()

    async def connect(self) -> InProcessConnection:
        connection = InProcessConnection()
        serving = asyncio.create_task(self._serve(connection))
        self._connections.add(serving)
        serving.add_done_callback(self._connections.discard)
        return connection

    async def _serve(self, connection: InProcessConnection) -> None:
        """Close the worker's end however this ends, so that the worker reconnects at once."""
        try:
            with suppress(Unavailable):
                await self._gateway.attend(None, connection.server_end)
        finally:
            await connection.server_end.close(1013, "the server is not available")


class SecretCache:
    """The signing secrets of tenants."""

    def __init__(self, store: SecretStore) -> None:
        self._store = store
        self._cached: dict[int, tuple[float, str]] = {}

    async def of(self, tenant_id: int) -> list[str]:
        until, secret = self._cached.get(tenant_id, (0.0, ""))
        if monotonic() >= until:
            secret = await self._store.signing_secret(tenant_id)
            self._cached[tenant_id] = (monotonic() + _SECRET_LIFETIME, secret)
        return [secret]
