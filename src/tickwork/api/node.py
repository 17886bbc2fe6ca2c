"""What the HTTP layer asks of a server node. `tickwork.app.Node` is one."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

from tickwork.model.backfill import BackfillPlan, BackfillRequest, BackfillView
from tickwork.model.execution import AttemptView, ExecutionFilter, ExecutionView, MissedView
from tickwork.model.job import JobFilter, JobRequest, JobView, Overlap
from tickwork.model.page import Page
from tickwork.model.preview import Preview
from tickwork.model.tenancy import Caller, KeyView, Scope
from tickwork.model.worker import TaskView, WorkerView


class Jobs(Protocol):
    async def create(self, tenant_id: int, requests: Sequence[JobRequest], /) -> list[JobView]: ...
    async def get(self, tenant_id: int, job: int, /) -> JobView: ...
    async def list(
        self, tenant_id: int, wanted: JobFilter, limit: int, cursor: str | None, /
    ) -> Page[JobView]: ...
    async def patch(
        self, tenant_id: int, job: int, patch: dict[str, Any], if_match: int | None, /
    ) -> JobView: ...
    async def pause(self, tenant_id: int, job: int, /) -> JobView: ...
    async def resume(self, tenant_id: int, job: int, /) -> JobView: ...
    async def cancel(self, tenant_id: int, job: int, if_match: int | None, /) -> JobView: ...


class Runs(Protocol):
    async def run(self, tenant_id: int, job: int, overlap: Overlap, /) -> ExecutionView: ...


class Backfills(Protocol):
    async def plan(self, tenant_id: int, job: int, request: BackfillRequest, /) -> BackfillPlan: ...
    async def start(self, tenant_id: int, job: int, request: BackfillRequest, /) -> BackfillView: ...
    async def get(self, tenant_id: int, backfill: int, /) -> BackfillView: ...
    async def cancel(self, tenant_id: int, backfill: int, /) -> BackfillView: ...
    async def list(
        self, tenant_id: int, job: int, limit: int, cursor: str | None, /
    ) -> Page[BackfillView]: ...


class History(Protocol):
    async def get(self, tenant_id: int, job: int, scheduled_for: datetime, /) -> ExecutionView: ...
    async def attempts(self, tenant_id: int, job: int, scheduled_for: datetime, /) -> list[AttemptView]: ...
    async def cancel(self, tenant_id: int, job: int, scheduled_for: datetime, /) -> ExecutionView: ...
    async def missed(self, tenant_id: int, job: int, limit: int, /) -> Sequence[MissedView]: ...
    async def list(
        self, tenant_id: int, wanted: ExecutionFilter, limit: int, cursor: str | None, /
    ) -> Page[ExecutionView]: ...


class Workers(Protocol):
    async def list(self, tenant_id: int, limit: int, cursor: str | None, /) -> Page[WorkerView]: ...
    async def get(self, tenant_id: int, worker: int, /) -> WorkerView: ...


class Tasks(Protocol):
    async def list(self, tenant_id: int, /) -> list[TaskView]: ...


class Keys(Protocol):
    async def authenticate(self, secret: str, /) -> Caller | None: ...
    async def create(
        self,
        caller: Caller,
        name: str,
        scopes: list[Scope],
        tenant: str | None,
        expires_at: datetime | None,
        /,
    ) -> tuple[KeyView, str]: ...
    async def list(self, caller: Caller, /) -> list[KeyView]: ...
    async def revoke(self, caller: Caller, key: int, /) -> KeyView: ...
    async def signing_secret(self, caller: Caller, /) -> str: ...


class StoredResponse(Protocol):
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class Remembered(Protocol):
    """One idempotency key while its request is being worked on."""

    @property
    def replay(self) -> StoredResponse | None: ...
    async def save(self, status: int, headers: dict[str, str], body: bytes, /) -> None: ...


class Idempotency(Protocol):
    def begin(
        self, tenant_id: int, key: str, fingerprint: bytes, /
    ) -> AbstractAsyncContextManager[Remembered]:
        """Whatever is done inside and the saved answer are committed together, or not at all."""


class Socket(Protocol):
    """One end of a worker's connection."""

    async def receive(self) -> bytes | None:
        """The next message; None once the connection is closed."""

    async def send(self, message: bytes, /) -> None:
        """ConnectionError once the connection is closed."""

    async def close(self, code: int, reason: str, /) -> None: ...


class Gateway(Protocol):
    async def attend(self, caller: Caller, socket: Socket, /) -> None:
        """Serve one worker until its connection ends."""


class ServerNode(Protocol):
    @property
    def jobs(self) -> Jobs: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def backfills(self) -> Backfills: ...
    @property
    def history(self) -> History: ...
    @property
    def workers(self) -> Workers: ...
    @property
    def tasks(self) -> Tasks: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def idempotency(self) -> Idempotency: ...
    @property
    def gateway(self) -> Gateway: ...
    async def preview(
        self,
        schedule: str | dict[str, Any],
        timezone: str | None,
        after: datetime | None,
        count: int,
        viewer_timezone: str | None,
        /,
    ) -> Preview: ...
    def health(self) -> Mapping[str, bool]: ...
    def ready(self) -> bool: ...
