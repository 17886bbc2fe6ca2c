"""A worker that is connected to this node, and what is in its hands."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tickwork.model.execution import ExecutionKey
from tickwork.model.ids import to_micros
from tickwork.model.protocol import FromServer, Hello, Run, Runs
from tickwork.store.port import Lane, Seat, Work


class InHand(NamedTuple):
    attempt: int
    lease_id: int


class Member:
    def __init__(
        self, seat: Seat, tenant_id: int | None, hello: Hello, send: Callable[[FromServer], None]
    ) -> None:
        self.seat = seat
        self.tenant_id = tenant_id
        self.send = send
        self.credit = hello.credit
        self.draining = False
        self.reserved = 0  # room promised to a transaction that has not committed
        self.doubtful = False  # a commit whose answer was lost may have given it more than we know
        self._tasks = frozenset(offer.name for offer in hello.tasks)
        self._queues = frozenset(hello.queues)
        self._hands: dict[ExecutionKey, InHand] = {}
        self._left: dict[int, int] = {}  # of each lease

    @property
    def room(self) -> int:
        return 0 if self.draining else max(self.credit - len(self._hands) - self.reserved, 0)

    @property
    def holding(self) -> int:
        return len(self._hands)

    def serves(self, lane: Lane) -> bool:
        """The built-in worker belongs to no tenant and serves all of them."""
        return (
            self.tenant_id in (None, lane.tenant_id)
            and lane.task in self._tasks
            and (not self._queues or lane.queue in self._queues)
        )

    def attempt_in_hand(self, key: ExecutionKey) -> int | None:
        held = self._hands.get(key)
        return held.attempt if held else None

    def take(self, works: Iterable[Work], lease_id: int) -> None:
        """These are in its hands from now on, whether or not it has been told."""
        for work in works:
            key = ExecutionKey(work.tenant_id, work.scheduled_for, work.job_id)
            held = self._hands.get(key)
            if held and held.lease_id != lease_id:
                self.put_down(key)  # an attempt that was taken back and that it has not told the end of
            if held is None or held.lease_id != lease_id:
                self._left[lease_id] = self._left.get(lease_id, 0) + 1
            self._hands[key] = InHand(work.attempt, lease_id)

    def put_down(self, key: ExecutionKey) -> int | None:
        """One less in its hands; the lease, when that was the last of it."""
        held = self._hands.pop(key, None)
        if held is None:
            return None
        self._left[held.lease_id] -= 1
        if self._left[held.lease_id]:
            return None
        del self._left[held.lease_id]
        return held.lease_id

    def deliver(self, works: Iterable[Work]) -> None:
        self.send(Runs([_run(work) for work in works]))


def _run(work: Work) -> Run:
    return Run(
        work.tenant_id,
        to_micros(work.scheduled_for),
        work.job_id,
        work.attempt,
        work.task,
        work.payload,
        work.timeout,
        to_micros(work.ready_at),
        work.target,
    )
