"""How an execution goes on after an attempt that did not complete.

                       ┌───────── retried, snoozed, returned, lost, held ───┐
                       ▼                                                     │
    (fired) ──▶    pending ──────────── claimed ───────────────────▶     running ──▶ completed
       │               │                                                     │
       └──▶ skipped    └──▶ cancelled, skipped                               └──▶ failed, cancelled

One constructor per transition; nothing else decides a state. Completing is the good case and has its own statement.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from tickwork.model.execution import ExecutionKey, ExecutionStatus
from tickwork.model.retry_policy import RetryPolicy
from tickwork.model.worker import MAX_LOSSES

FOREVER = datetime.max  # noqa: DTZ901 (without a zone it is what asyncpg takes for infinity)


class Held(NamedTuple):
    """A running execution, locked, as the database knows it."""

    key: ExecutionKey
    worker_id: int
    attempt: int
    failures: int
    losses: int
    started_at: datetime | None
    definition: bytes
    now: datetime


class Verdict(NamedTuple):
    """What the execution becomes."""

    key: ExecutionKey
    status: ExecutionStatus
    ready_at: datetime | None
    attempt: int
    failures: int
    losses: int
    started_at: datetime | None = None
    finished_at: datetime | None = None
    reason: str | None = None
    held_by: str | None = None  # the destination whose circuit breaker it waits for


def failed(
    held: Held, policy: RetryPolicy, *, final: str | None, retry_after: float, started: datetime
) -> Verdict:
    """The attempt failed: try again later, or end it when there is a reason not to or the attempts are used up."""
    failures = held.failures + 1
    if final is None and failures < policy.max_attempts:
        delay = policy.delay(failures, at_least=retry_after)
        return _again(held, held.now + delay, failures=failures)
    reason = final or "attempts used up"
    return _end(held, ExecutionStatus.FAILED, started, reason, failures=failures)


def snoozed(held: Held, delay: timedelta) -> Verdict:
    return _again(held, held.now + delay)


def returned(held: Held) -> Verdict:
    return _again(held, max(held.now, held.key.scheduled_for))


def held_back(held: Held, destination: str, reason: str) -> Verdict:
    """The circuit breaker of its destination is open, and will let it go."""
    return _again(held, FOREVER)._replace(held_by=destination, reason=reason)


def cancelled(held: Held, started: datetime | None, reason: str) -> Verdict:
    return _end(held, ExecutionStatus.CANCELLED, started, reason)


def lost(held: Held, *, may_retry: bool) -> Verdict:
    """Its worker died. Not a failure of the job, but what takes workers down is set aside."""
    losses = held.losses + 1
    if may_retry and losses < MAX_LOSSES:
        return _again(held, max(held.now, held.key.scheduled_for), losses=losses)
    reason = f"quarantined: it lost {losses} workers" if may_retry else "worker lost"
    return _end(held, ExecutionStatus.FAILED, held.started_at, reason, losses=losses)


def unreadable(held: Held, reason: str) -> Verdict:
    """What is stored of its job makes no sense: nothing can be decided by it."""
    return _end(held, ExecutionStatus.FAILED, held.started_at, f"its job cannot be read: {reason}")


def _again(held: Held, at: datetime, *, failures: int | None = None, losses: int | None = None) -> Verdict:
    return Verdict(
        held.key,
        ExecutionStatus.PENDING,
        ready_at=at,
        attempt=held.attempt + 1,
        failures=held.failures if failures is None else failures,
        losses=held.losses if losses is None else losses,
    )


def _end(
    held: Held,
    status: ExecutionStatus,
    started: datetime | None,
    reason: str,
    *,
    failures: int | None = None,
    losses: int | None = None,
) -> Verdict:
    return Verdict(
        held.key,
        status,
        ready_at=None,
        attempt=held.attempt,
        failures=held.failures if failures is None else failures,
        losses=held.losses if losses is None else losses,
        started_at=started,
        finished_at=held.now,
        reason=reason,
    )
