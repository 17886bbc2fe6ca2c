"""Executions that a transaction gives to workers, and how they are sent after the commit.

Worker slots are reserved while the transaction runs. After the commit call `deliver`; after an error call `release`.
A commit whose answer was lost may still have happened, so `release` marks the leases for `renew_and_revoke_leases.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from time import time_ns
from typing import NamedTuple

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.limits import LockedLimits
from tickwork.dispatch.list_set_and_pause_queues import count_started
from tickwork.store.port.dispatch import ExecutionColumns, Handover, Lane, Slot


class Share(NamedTuple):
    """The executions that one worker gets, grouped by lane, and their positions among all executions."""

    worker: ConnectedWorker
    positions: Sequence[int]
    executions: ExecutionColumns


class Assignment:
    def __init__(
        self,
        executions: ExecutionColumns,
        shares: Sequence[Share],
        limits: LockedLimits,
        lanes: Mapping[int, Lane],
    ) -> None:
        self._executions = executions
        self._limits = limits
        self._lanes = lanes
        self._began = time_ns()  # for the trace: it decides nothing
        self._leases: dict[int, int] = {}
        self.shares = list(shares)

    def workers(self) -> Sequence[int | None]:
        """The worker of each execution; None if it got none."""
        count = self._executions.size
        if len(self.shares) == 1 and len(self.shares[0].positions) == count:
            return [self.shares[0].worker.id] * count
        chosen: list[int | None] = [None] * count
        for worker, positions, _ in self.shares:
            for position in positions:
                chosen[position] = worker.id
        return chosen

    async def drop_lost_workers(self, handover: Handover) -> None:
        """Unassign the shares of workers that lost their lease or reconnected elsewhere, and lock the other workers.

        A lost worker may be frozen with its connection open. Its credit becomes 0, so that it is not chosen again
        before its next heartbeat."""
        if not self.shares:
            return
        alive = await handover.lock_workers([share.worker.connection for share in self.shares])
        for worker, _, executions in self.shares:
            if worker.id not in alive:
                worker.unreserve(executions)
                worker.credit = 0
        self.shares = [share for share in self.shares if share.worker.id in alive]

    async def lease(self, handover: Handover) -> None:
        for worker, _, executions in self.shares:
            slots = [] if self._limits.is_empty else [*self._slots(executions)]
            self._leases[worker.id] = await handover.lease(worker.id, executions, slots)
        await self._limits.write_rates(handover)

    def deliver(self) -> None:
        for worker, _, executions in self.shares:
            worker.unreserve(executions)
            worker.add_lease(executions, self._leases[worker.id])
            worker.send_executions(executions, self._began)
            count_started(executions.lanes, self._lanes)

    def release(self) -> None:
        for worker, _, executions in self.shares:
            worker.unreserve(executions)
            lease_id = self._leases.get(worker.id)
            if lease_id is not None:
                worker.uncertain_leases.add(lease_id)

    def _slots(self, executions: ExecutionColumns) -> Iterator[Slot]:
        begin = 0
        for lane, group in groupby(executions.lanes):
            end = begin + sum(1 for _ in group)
            yield from self._limits.slots(self._lanes[lane], range(begin, end))
            begin = end
