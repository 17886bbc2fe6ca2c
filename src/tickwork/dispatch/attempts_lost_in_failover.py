"""What a worker has according to the database, but not according to itself, after a failover that lost commits.

The worker had ended these attempts, and the commit of its report is lost. They are not sent again under the same
number: they count as lost, and their executions go on as their jobs say.
"""

from collections.abc import Iterator, Sequence

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.model.execution import AttemptOutcome
from tickwork.model.worker_protocol import Claim, Micros, Outcome
from tickwork.store.port.dispatch import ExecutionColumns, LeasedExecutions

_REASON = "the database failed over"


def split_lost(
    leased: LeasedExecutions, known: Sequence[Claim], first_lease: int
) -> tuple[LeasedExecutions, LeasedExecutions]:
    """What the worker has, or gets, and what it had. `first_lease`: earlier ones were written before the failover."""
    if not leased.leases or min(leased.leases) >= first_lease:
        return leased, leased.of(())
    has = set(known)
    lost = [
        place
        for place, (lease, claim) in enumerate(zip(leased.leases, _claims(leased.executions), strict=True))
        if lease < first_lease and claim not in has
    ]
    kept = sorted({*range(len(leased.leases))} - {*lost})
    return _at(leased, kept), _at(leased, lost)


def end_lost(
    worker: ConnectedWorker, lost: LeasedExecutions, now: Micros
) -> tuple[list[Outcome], Sequence[int], list[int]]:
    """The outcomes to record, with the lanes and the ended leases of their executions."""
    for place, lease in enumerate(lost.leases):
        worker.add_lease(lost.executions.at(range(place, place + 1)), lease)
    return worker.end_attempts(
        Outcome(*claim_fields, AttemptOutcome.LOST, now, now, reason=_REASON)
        for claim_fields in map(_fields, _claims(lost.executions))
    )


def _claims(executions: ExecutionColumns) -> Iterator[Claim]:
    for key, attempt in zip(executions.keys(), executions.attempts, strict=True):
        yield Claim(*key, attempt)


def _fields(claim: Claim) -> tuple[int, Micros, int, int]:
    return claim.tenant, claim.at, claim.job, claim.attempt


def _at(leased: LeasedExecutions, places: Sequence[int]) -> LeasedExecutions:
    return LeasedExecutions([leased.leases[place] for place in places], leased.executions.at(places))
