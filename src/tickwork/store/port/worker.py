"""What workers that speak plain REST ask of the store."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import NamedTuple, Protocol

from tickwork.model.protocol import Hello
from tickwork.model.tenancy import Caller
from tickwork.store.port.work import HeldWorks


class RestWorker(NamedTuple):
    """A worker that speaks plain REST, and what is in its hands."""

    hello: Hello
    draining: bool
    held: HeldWorks
    begun: Sequence[bool]  # which of these it has said to have begun


class WorkerStore(Protocol):
    async def heartbeat(self, caller: Caller, worker: int, lease: timedelta) -> bool:
        """A worker that speaks plain REST lives; whether somebody wants it to drain. NotFound, LeaseGone, NotAllowed
        when another key registered it, or Conflict when it is connected otherwise."""

    def serving(self, caller: Caller, worker: int) -> AbstractAsyncContextManager[RestWorker]:
        """One transaction, in which nobody else hands this worker anything; LeaseGone."""

    async def is_there_news(self, tenant_id: int, worker: int, hello: Hello) -> bool:
        """Whether something is due that this worker might be handed, or it is to drain."""

    async def drain(self, tenant_id: int, worker: int, only_of: int | None) -> None:
        """It is to take nothing new; NotFound, Conflict when it is a part of the server, or NotAllowed when it was
        not registered with the only key that will do."""
