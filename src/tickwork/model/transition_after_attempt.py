"""The statuses of an execution, and what happens to it after an attempt that did not complete.

                    ┌──────── retried, snoozed, returned, lost, held ────────┐
                    ▼                                                         │
    (new) ──▶    pending ───────────────── claimed ───────────────────▶    running ──▶ completed
                  │   ▲                                                       │
                  ▼   │ redriven, backfilled, resumed                         │
         failed, cancelled, skipped ◀─────────────────────────────────────────┘

A new execution may also be running at once, when it is fired straight to a worker, or skipped. One that runs a job for
each element of a list has no attempt of its own, and ends from pending.

Only the functions of this module decide what follows an attempt that did not complete: `outcome.settle` writes
their decisions about executions that `outcome.lock_running` found running and locked. Every other transition is
a statement of its own, which changes only executions in the status that it expects:

    (new) → pending, running, skipped        trigger.insert_executions
    (new) → pending, skipped                 trigger.insert_executions_carefully
    (new) → pending                          trigger.promote_deferred_jobs
    (new) → pending                          create_and_change_job.insert_first_executions
    (new) → pending                          add_move_and_stop_unstarted_executions.insert_execution
    (new) → pending                          backfill.insert_backfilled
    (new) → pending                          make_round()
    (new) → skipped                          add_move_and_stop_unstarted_executions.skip_due_time
    pending → running                        dispatch.claim
    running → completed                      outcome.complete
    running → pending, failed, cancelled     outcome.settle
    running → pending                        add_move_and_stop_unstarted_executions.take_back
    pending → pending, skipped               count_ended()
    pending → skipped                        partitions_and_retention.give_up_rounds
    pending → skipped                        trigger.give_up_unstarted
    pending → skipped                        write_dependencies.skip_decided
    pending → skipped                        fan_out.skip_fan_out
    pending → failed                         fan_out.fail_fan_out
    pending → failed                         unchecked_payload.fail_mismatch
    pending → completed                      fan_out.complete_fan_out
    pending → cancelled                      add_move_and_stop_unstarted_executions.cancel_waiting
    pending → cancelled                      backfill.cancel_backfilled
    pending, running → failed                dispatch.fail_execution
    pending, running → cancelled             outcome.cancel_execution
    pending, running → cancelled             find_overlap_blockers.cancel_blockers
    pending, running → cancelled             fan_out.cancel_elements
    running → cancelled                      add_move_and_stop_unstarted_executions.stop_running
    running → cancelled                      purge_tenant.stop_running_of_tenant
    pending, running → skipped, cancelled    add_move_and_stop_unstarted_executions.stop_ahead
    skipped → pending, skipped               trigger.insert_executions_carefully
    skipped → pending                        make_round()
    skipped, cancelled → pending             add_move_and_stop_unstarted_executions.revive_execution
    skipped, failed → pending                backfill.insert_backfilled
    failed, cancelled → pending              dead_letter.revive_ended

The names are those of store/queries (file.query) and of the schema's functions. Nothing leaves `completed`. A test
compares this table with the SQL, and the CHECKs of the table `execution` keep every status consistent with the other
columns: only a pending execution is ready at some time, a running one has a worker, and an ended one has an end.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from tickwork.model.execution import ExecutionKey, ExecutionStatus
from tickwork.model.retry_policy import RetryPolicy
from tickwork.model.worker import MAX_LOSSES, WITH_TARGET

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
    task: str


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
    locked: LockedExecution, policy: RetryPolicy, *, final: str | None, retry_after: float, started: datetime
) -> Transition:
    """The attempt failed: try again later, or end it when there is a reason not to or the attempts are used up."""
    failures = locked.failures + 1
    if final is None and failures < policy.max_attempts:
        delay = policy.delay(failures, at_least=retry_after)
        return _pending_again(locked, locked.now + delay, failures=failures)
    reason = final or "attempts used up"
    return _end(locked, ExecutionStatus.FAILED, started, reason, failures=failures)


def after_snooze(locked: LockedExecution, delay: timedelta) -> Transition:
    return _pending_again(locked, locked.now + delay)


def after_return(locked: LockedExecution) -> Transition:
    return _pending_again(locked, max(locked.now, locked.key.scheduled_for))


def after_hold(locked: LockedExecution, destination: str, reason: str) -> Transition:
    """The circuit breaker of its destination is open. It releases the execution later."""
    return _pending_again(locked, FOREVER)._replace(held_by=destination, reason=reason)


def after_cancel(locked: LockedExecution, started: datetime | None, reason: str) -> Transition:
    return _end(locked, ExecutionStatus.CANCELLED, started, reason)


def after_loss(locked: LockedExecution, *, may_retry: bool, counts: bool = True) -> Transition:
    """Its worker died, or its HTTP target sent no heartbeat. That does not count as a failure, but an execution that is
    lost again and again is quarantined. `counts`: False if its worker was stopped on purpose."""
    losses = locked.losses + counts
    if may_retry and losses < MAX_LOSSES:
        return _pending_again(locked, max(locked.now, locked.key.scheduled_for), losses=losses)
    holder = "target" if locked.worker_id == WITH_TARGET else "worker"
    reason = f"quarantined: it lost {losses} {holder}s" if may_retry else f"{holder} lost"
    return _end(locked, ExecutionStatus.FAILED, locked.started_at, reason, losses=losses)


def after_unreadable_job(locked: LockedExecution, reason: str) -> Transition:
    """The stored definition of its job cannot be read, so no policy can be applied."""
    return _end(locked, ExecutionStatus.FAILED, locked.started_at, f"its job cannot be read: {reason}")


def _pending_again(
    locked: LockedExecution, at: datetime, *, failures: int | None = None, losses: int | None = None
) -> Transition:
    return Transition(
        locked.key,
        ExecutionStatus.PENDING,
        ready_at=at,
        attempt=locked.attempt + 1,
        failures=locked.failures if failures is None else failures,
        losses=locked.losses if losses is None else losses,
    )


def _end(
    locked: LockedExecution,
    status: ExecutionStatus,
    started: datetime | None,
    reason: str,
    *,
    failures: int | None = None,
    losses: int | None = None,
) -> Transition:
    return Transition(
        locked.key,
        status,
        ready_at=None,
        attempt=locked.attempt,
        failures=locked.failures if failures is None else failures,
        losses=locked.losses if losses is None else losses,
        started_at=started,
        finished_at=locked.now,
        reason=reason,
    )
