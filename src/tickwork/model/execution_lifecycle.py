"""The statuses of an execution, and what happens to it after an attempt that did not complete.

                    ┌──────── retried, snoozed, returned, lost, held ────────┐
                    ▼                                                         │
    (new) ──▶    pending ───────────────── claimed ───────────────────▶    running ──▶ completed
                  │   ▲                                                       │
                  ▼   │ redriven, backfilled, resumed                         │
         failed, cancelled, skipped ◀─────────────────────────────────────────┘

A new execution may also be running at once, when it is fired straight to a worker, or skipped.

What becomes of an attempt that did not complete is decided by the functions of this module and by nothing else:
`record.settle` writes their verdicts about executions that `record.lock_running` found running and locked. Every other
transition is a statement of its own, which changes only executions in the status that it expects:

    (new) → pending, running, skipped        trigger.insert_executions
    (new) → pending, skipped                 trigger.insert_executions_carefully
    (new) → pending                          trigger.promote_deferred_jobs
    (new) → pending                          define.insert_first_executions
    (new) → pending                          define.insert_execution
    (new) → pending                          backfill.make_backfilled
    (new) → pending                          make_round()
    (new) → skipped                          run.skip_due_time
    pending → running                        dispatch.claim
    running → completed                      record.complete
    running → pending, failed, cancelled     record.settle
    running → pending                        define.take_back
    pending → pending, skipped               count_ended()
    pending → skipped                        upkeep.give_up_rounds
    pending → cancelled                      define.cancel_waiting
    pending → cancelled                      backfill.cancel_backfilled
    pending, running → failed                dispatch.set_aside
    pending, running → cancelled             record.cancel_execution
    pending, running → cancelled             trigger.cancel_blockers
    pending, running → skipped, cancelled    define.stop_ahead
    skipped → pending, skipped               trigger.insert_executions_carefully
    skipped → pending                        make_round()
    skipped, cancelled → pending             define.revive_execution
    skipped, failed → pending                backfill.make_backfilled
    failed, cancelled → pending              dead_letter.revive_ended

The names are those of store/queries (file.query) and of the schema's functions. Nothing leaves `completed`. A test
compares this table with the SQL, and the CHECKs of the table `execution` keep every status consistent with the columns
beside it: only a pending execution is ready at some time, a running one has a worker, and an ended one has an end.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from tickwork.model.execution import ExecutionKey, ExecutionStatus
from tickwork.model.retry_policy import RetryPolicy
from tickwork.model.worker import MAX_LOSSES

FOREVER = datetime.max  # noqa: DTZ901 (without a zone it is what asyncpg takes for infinity)


class LockedExecution(NamedTuple):
    """A running execution, locked, as the database knows it."""

    key: ExecutionKey
    worker_id: int
    attempt: int
    failures: int
    losses: int
    started_at: datetime | None
    definition: bytes
    now: datetime


class Transition(NamedTuple):
    """The new state of an execution."""

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


def after_failure(
    held: LockedExecution, policy: RetryPolicy, *, final: str | None, retry_after: float, started: datetime
) -> Transition:
    """The attempt failed: try again later, or end it when there is a reason not to or the attempts are used up."""
    failures = held.failures + 1
    if final is None and failures < policy.max_attempts:
        delay = policy.delay(failures, at_least=retry_after)
        return _pending_again(held, held.now + delay, failures=failures)
    reason = final or "attempts used up"
    return _end(held, ExecutionStatus.FAILED, started, reason, failures=failures)


def after_snooze(held: LockedExecution, delay: timedelta) -> Transition:
    return _pending_again(held, held.now + delay)


def after_return(held: LockedExecution) -> Transition:
    return _pending_again(held, max(held.now, held.key.scheduled_for))


def after_hold(held: LockedExecution, destination: str, reason: str) -> Transition:
    """The circuit breaker of its destination is open. It releases the execution later."""
    return _pending_again(held, FOREVER)._replace(held_by=destination, reason=reason)


def after_cancel(held: LockedExecution, started: datetime | None, reason: str) -> Transition:
    return _end(held, ExecutionStatus.CANCELLED, started, reason)


def after_loss(held: LockedExecution, *, may_retry: bool) -> Transition:
    """Its worker died. That does not count as a failure, but an execution that keeps losing workers is quarantined."""
    losses = held.losses + 1
    if may_retry and losses < MAX_LOSSES:
        return _pending_again(held, max(held.now, held.key.scheduled_for), losses=losses)
    reason = f"quarantined: it lost {losses} workers" if may_retry else "worker lost"
    return _end(held, ExecutionStatus.FAILED, held.started_at, reason, losses=losses)


def after_unreadable_job(held: LockedExecution, reason: str) -> Transition:
    """The stored definition of its job cannot be read, so no policy can be applied."""
    return _end(held, ExecutionStatus.FAILED, held.started_at, f"its job cannot be read: {reason}")


def _pending_again(
    held: LockedExecution, at: datetime, *, failures: int | None = None, losses: int | None = None
) -> Transition:
    return Transition(
        held.key,
        ExecutionStatus.PENDING,
        ready_at=at,
        attempt=held.attempt + 1,
        failures=held.failures if failures is None else failures,
        losses=held.losses if losses is None else losses,
    )


def _end(
    held: LockedExecution,
    status: ExecutionStatus,
    started: datetime | None,
    reason: str,
    *,
    failures: int | None = None,
    losses: int | None = None,
) -> Transition:
    return Transition(
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
