"""A worker that is connected to this node, and what is in its hands."""

from collections.abc import Callable
from itertools import repeat

from tickwork.model.protocol import FromServer, Hello, Key, Run, Runs
from tickwork.store.port import Lane, Seat, Works


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
        self.doubtful: set[int] = set()  # leases that a commit without an answer may have given it
        self._tasks = frozenset(offer.name for offer in hello.tasks)
        self._queues = frozenset(hello.queues)
        self._hands: dict[Key, tuple[int, int]] = {}  # attempt and lease of each
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

    def attempt_in_hand(self, key: Key) -> int | None:
        held = self._hands.get(key)
        return held[0] if held else None

    def take(self, works: Works, lease_id: int) -> None:
        """These are in its hands from now on, whether or not it has been told."""
        for key in self._hands.keys() & set(works.keys()):
            self.put_down(key)  # an attempt that was taken back and that it has not told the end of
        self._hands.update(
            zip(works.keys(), zip(works.attempts, repeat(lease_id), strict=False), strict=True)
        )
        self._left[lease_id] = self._left.get(lease_id, 0) + works.size

    def doubt(self, lease_id: int) -> None:
        self.doubtful.add(lease_id)

    def put_down(self, key: Key) -> int | None:
        """One less in its hands; the lease, when that was the last of it."""
        held = self._hands.pop(key, None)
        if held is None:
            return None
        lease_id = held[1]
        left = self._left[lease_id] - 1
        if left:
            self._left[lease_id] = left
            return None
        del self._left[lease_id]
        return lease_id

    def deliver(self, works: Works) -> None:
        runs = map(
            Run,
            works.tenants,
            works.times,
            works.jobs,
            works.attempts,
            works.tasks,
            works.payloads,
            works.timeouts,
            works.ready,
            works.targets,
        )
        self.send(Runs(list(runs)))
