"""The worker inside every server node: it runs HTTP jobs, for all tenants."""

import asyncio
from contextlib import suppress
from time import monotonic
from typing import Protocol

from opentelemetry.trace import Tracer

from tickwork.config import Settings
from tickwork.dispatch.circuit_breakers import Breakers
from tickwork.dispatch.worker_gateway import WorkerGateway
from tickwork.execute.runners.http.circuit_breaker_runner import CircuitBreakerRunner
from tickwork.execute.runners.http.http_runner import HttpRunner
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy
from tickwork.execute.worker import Worker
from tickwork.inprocess_connection import InProcessConnection
from tickwork.model.errors import Unavailable
from tickwork.model.job import HTTP_TASK
from tickwork.model.task import direct_task

_SLOTS = 1000  # as many as the runner has connections: enough for ten hanging destinations
_SECRET_LIFETIME = 60.0
_DRAIN_TIMEOUT = 10.0


class SecretStore(Protocol):
    async def signing_secret(self, tenant_id: int) -> str: ...


class BuiltInWorker:
    def __init__(
        self,
        settings: Settings,
        gateway: WorkerGateway,
        secrets: SecretStore,
        breakers: Breakers,
        tracer: Tracer | None,
    ) -> None:
        policy = AddressPolicy.of(settings.http_allow, loopback=settings.http_allow_loopback)
        self._gateway = gateway
        self._runner = HttpRunner(policy, SecretCache(secrets).of, tracing=tracer is not None)
        runner = CircuitBreakerRunner(self._runner, breakers.admit, breakers.report_call)
        self._worker = Worker(
            self,
            [direct_task(HTTP_TASK, runner)],
            name="built-in",
            slots=_SLOTS,
            log_failures=False,  # the server in this process already logs them
            tracer=tracer,
        )
        self._running: asyncio.Task[None] | None = None
        self._connections: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._running = asyncio.create_task(self._worker.run(), name="built-in worker")

    async def stop(self) -> None:
        """Wait briefly for the running attempts. Another node retries the rest."""
        self._worker.drain()
        if self._running:
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_TIMEOUT):
                    await asyncio.shield(self._running)
            self._worker.stop_now()
            await self._running
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
