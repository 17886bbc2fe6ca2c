"""Runs the worker of an App in the process of the test, on a clock that only the test moves."""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta

from tickwork.dispatch.worker_gateway import WorkerGateway
from tickwork.execute.worker import SLOTS_DEFAULT, Worker
from tickwork.inprocess_connection import InProcessConnection
from tickwork.model.access import Caller
from tickwork.model.public_ids import from_micros
from tickwork.model.worker_protocol import Beat, FromServer, Renewed
from tickwork.sdk.app import App

_DRAIN_WITHIN = 1.0  # seconds


class ManualElapsed:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class InProcessWorker:
    def __init__(self, app: App, gateway: WorkerGateway, caller: Caller) -> None:
        self._gateway = gateway
        self._caller = caller
        self._elapsed = ManualElapsed()
        self._worker = Worker(self, app.definitions.values(), name="test", measure=self._elapsed)
        app.worker = self._worker.description
        self._connection = _ObservedConnection()
        self._running: asyncio.Task[None] | None = None
        self._attending: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when the server knows the worker and its tasks."""
        self._running = asyncio.create_task(self._worker.run(), name="test worker")
        while not self._worker.is_connected and not self._running.done():  # noqa: ASYNC110 (there is no event to wait for)
            await asyncio.sleep(0.001)

    async def stop(self) -> None:
        """Attempts that still run are aborted: the test is over."""
        self._worker.drain()
        if self._running:
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_WITHIN):
                    await asyncio.shield(self._running)
            self._worker.stop_now()
            await self._running
        if self._attending:
            await self._attending

    async def connect(self) -> InProcessConnection:
        """Called by the worker itself."""
        self._connection = _ObservedConnection()
        attended = self._gateway.attend(self._caller, self._connection.server_end)
        self._attending = asyncio.create_task(attended)
        return self._connection

    @property
    def is_busy(self) -> bool:
        """It has an attempt that is due and whose end is not recorded."""
        return self._worker.is_busy

    @property
    def next_start(self) -> datetime | None:
        """When it starts the next attempt that it got early."""
        at = self._worker.next_start
        return None if at is None else from_micros(at)

    def move_time(self, by: timedelta) -> None:
        self._elapsed.seconds += by.total_seconds()

    async def send_beat(self) -> asyncio.Event:
        """Send a heartbeat. The event is set when the answer has arrived, with the new time."""
        connection = self._connection
        connection.renewed.clear()
        await connection.send(Beat(sent=self._elapsed(), credit=SLOTS_DEFAULT, running=[]))
        return connection.renewed


class _ObservedConnection(InProcessConnection):
    def __init__(self) -> None:
        super().__init__()
        self.renewed = asyncio.Event()

    async def receive(self) -> FromServer:
        message = await super().receive()
        if isinstance(message, Renewed):
            asyncio.get_running_loop().call_soon(self.renewed.set)  # after the worker has read it
        return message
