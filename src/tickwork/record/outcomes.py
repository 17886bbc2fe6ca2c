"""Records the outcomes of attempts, and decides what happens to their executions next.

Outcomes are collected while the last batch is written, so a batch grows with the load. They stay in memory until they
are committed, however long the database is away; only then are they acknowledged to the worker.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeAlias

import msgspec
from prometheus_client import Counter

from tickwork.execution_metrics import COMPLETED, ENDED, NOT_STARTED, RUN_TIME, count_after_attempt
from tickwork.loop import Wake
from tickwork.model import transition_after_attempt as lifecycle
from tickwork.model.bad_row_isolation import BadRowIsolation, error_text, is_row_error
from tickwork.model.error_group import error_fingerprint
from tickwork.model.event_after_commit import AttemptsEnded, Publish
from tickwork.model.execution import AttemptError, AttemptOutcome
from tickwork.model.http_target import destination_of
from tickwork.model.job import HTTP_TASK, JobRequest
from tickwork.model.overdue_attempt import OverdueAttempt
from tickwork.model.public_ids import from_micros
from tickwork.model.retry_policy import RetryPolicy
from tickwork.model.transition_after_attempt import LockedExecution, Transition
from tickwork.model.validate_worker_reports import as_failed_outcome
from tickwork.model.worker_protocol import Failure, Outcome, execution_key
from tickwork.record.call_heartbeat_urls_after_success import Heartbeats
from tickwork.record.failed_attempt_server_log import FailedAttemptServerLog
from tickwork.record.notify.wanted_completions import WantedCompletions
from tickwork.record.statistics_counter import StatisticsCounter
from tickwork.store.port.record import (
    AttemptEnding,
    AttemptNote,
    Claimed,
    CompletedColumns,
    EventStore,
    OutcomeStore,
    Reported,
)

_MOST_FAILING = 100_000  # jobs that a node keeps in mind
_MOST = 200  # messages written together; each contains a batch of one worker
_ATTEMPTS = Counter("tickwork_attempts_total", "Attempts that ended, by how.", ["outcome"])
_STALE = Counter(
    "tickwork_stale_outcomes_total", "Outcomes refused because the worker no longer has the execution."
)
_ENDED_BY_NODE = Counter(
    "tickwork_attempts_ended_by_nodes_total",
    "Attempts that a node ended after their timeout, because their worker did not.",
)
_NO_REASON = Failure("Unknown", "the worker gave no reason")


_Pair: TypeAlias = tuple[LockedExecution, Outcome]


class FailingJobs:
    """The jobs that are failing, as this node knows them, so that completing asks the database about no others."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self.jobs: frozenset[int] = frozenset()

    async def read(self) -> bool:
        """Read which jobs are failing. A job that completed before this node knew of its failure has recovered, too."""
        known, self.jobs = self.jobs, await self._store.failing_jobs(_MOST_FAILING)
        if new := self.jobs - known:
            await self._store.mark_completed_since(sorted(new))
        return False


for _outcome in AttemptOutcome:
    if _outcome is not AttemptOutcome.ACCEPTED:  # which is no end
        _ATTEMPTS.labels(_outcome)  # from 0 on, or Prometheus would not see the first failure as growth


class _Submission:
    __slots__ = ("lanes", "leases", "outcomes", "recorded", "worker_id")

    def __init__(
        self,
        worker_id: int,
        outcomes: Sequence[Outcome],
        lanes: Sequence[int],
        leases: Sequence[int],
        recorded: Callable[[], None],
    ) -> None:
        self.worker_id = worker_id
        self.outcomes = outcomes
        self.lanes = lanes
        self.leases = leases
        self.recorded = recorded


class OutcomeRecorder:
    def __init__(
        self,
        store: OutcomeStore,
        failing: FailingJobs,
        heartbeats: Heartbeats,
        wanted: WantedCompletions,
        statistics: StatisticsCounter,
        wake: Wake,
        publish: Publish,
    ) -> None:
        self._store = store
        self._statistics = statistics
        self._failing = failing
        self._heartbeats = heartbeats
        self._wanted = wanted
        self._wake = wake
        self._publish = publish
        self._waiting: list[_Submission] = []
        self._started: dict[Claimed, datetime] = {}
        self._isolation = BadRowIsolation("record")
        self._log = FailedAttemptServerLog()

    def submit(
        self,
        worker_id: int,
        outcomes: Sequence[Outcome],
        lanes: Sequence[int],
        leases: Sequence[int],
        recorded: Callable[[], None],
    ) -> None:
        """`lanes`: of the execution of each outcome. `leases`: those of which nothing is left."""
        self._waiting.append(_Submission(worker_id, outcomes, lanes, leases, recorded))
        self._wake.record()

    def submit_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None:
        self._started.update(started)
        self._wake.record()

    def refuse_stale(self) -> None:
        """Count an outcome that the caller has found to be stale."""
        _STALE.inc()

    async def record(self) -> bool:
        """Write a batch of outcomes; whether there was one."""
        await self._write_started()
        batch = list(islice(self._waiting, _MOST))
        if not batch:
            return False
        try:
            await self._write(batch)
        except Exception as error:
            if not is_row_error(error):
                raise
            await self._write_without_bad_rows(batch)
        del self._waiting[: len(batch)]
        for submission in batch:
            submission.recorded()
        self._publish(AttemptsEnded([submission.outcomes for submission in batch]))
        return True

    async def time_out(self, overdue: Sequence[OverdueAttempt]) -> None:
        """End attempts that took too long as their workers should have done, and make these stop them."""
        await self._isolation.run_batch(overdue, self._time_out, _leave_for_next_check)

    def close(self) -> None:
        self._log.close()

    async def _write_started(self) -> None:
        if self._started:
            started = [*self._started.items()]
            await self._store.note_started(started)
            for claimed, _ in started:
                self._started.pop(claimed, None)

    async def _write(self, batch: Sequence[_Submission]) -> None:
        leases = [lease for each in batch for lease in each.leases]
        outcomes = [outcome for each in batch for outcome in each.outcomes]
        others = [outcome for outcome in outcomes if outcome.kind is not COMPLETED]
        if others or not outcomes:
            await self._write_all(_reported(batch), leases)
        else:  # as nearly always
            await self._complete(_columns(batch, outcomes), leases)

    async def _write_without_bad_rows(self, batch: Sequence[_Submission]) -> None:
        """After a row error: record an outcome that causes one as a failed attempt, and all others as they are."""
        await self._isolation.run_batch(_reported(batch), self._write_all, self._write_as_failed)
        await self._end_attempts([], [lease for each in batch for lease in each.leases])

    async def _write_as_failed(self, reported: Reported, error: Exception) -> None:
        worker_id, outcome, lane = reported
        failure = Failure("BadOutcome", f"could not be recorded: {error_text(error)}", retry=False)
        await self._end_attempts([(worker_id, as_failed_outcome(outcome, failure, outcome.at), lane)], [])

    async def _write_all(self, reported: Sequence[Reported], leases: Sequence[int] = ()) -> None:
        completed: list[Reported] = []
        others: list[Reported] = []
        for each in reported:
            group = completed if each[1].kind is COMPLETED else others
            group.append(each)
        if others or not completed:
            await self._end_attempts(others, leases if not completed else [])
        if completed:
            await self._complete(CompletedColumns.of(completed), leases)

    async def _complete(self, completed: CompletedColumns, leases: Sequence[int]) -> None:
        told = await self._wanted.among(completed)
        recorded = await self._store.complete(
            completed, leases, self._failing.jobs, self._heartbeats.jobs, told
        )
        self._statistics.count_completed(completed, recorded)
        _STALE.inc(len(completed.outcomes) - recorded)
        _ATTEMPTS.labels("completed").inc(len(completed.outcomes))
        ENDED.labels("completed").inc(recorded)
        RUN_TIME.add([*completed.run_times])

    async def _end_attempts(self, reported: Sequence[Reported], leases: Sequence[int]) -> None:
        outcomes = [(worker_id, outcome) for worker_id, outcome, _ in reported]
        by_attempt = {(execution_key(outcome), outcome.attempt): outcome for _, outcome in outcomes}
        async with self._store.settling() as settling:
            # A worker that reconnected repeats what was not acknowledged: the same outcome may be here twice.
            claimed = (
                Claimed(execution_key(outcome), worker_id, outcome.attempt) for worker_id, outcome in outcomes
            )
            executions = await settling.lock(list(dict.fromkeys(claimed)))
            found = [(each, _checked(each, by_attempt[each.key, each.attempt])) for each in executions]
            pairs = [pair for pair in found if pair[1].kind is not AttemptOutcome.ACCEPTED]
            if len(pairs) < len(found):
                await settling.give_to_targets(
                    [(*pair, taken) for pair in found if (taken := pair[1].accepted)]
                )
            transitions = await _settle(settling, pairs)
            await settling.note_cancelled(_started_and_cancelled(outcomes))
            await settling.close_leases(leases)
        _STALE.inc(len(outcomes) - len(executions))
        self._count_and_log(pairs, transitions)

    async def _time_out(self, overdue: Sequence[OverdueAttempt]) -> None:
        found = {(each.key, each.attempt): each for each in overdue}
        async with self._store.settling() as settling:
            locked = await settling.lock(
                [Claimed(each.key, each.worker_id, each.attempt) for each in overdue]
            )
            # One whose start was reported only now has more time.
            executions = [
                each for each in locked if each.started_at == found[each.key, each.attempt].started_at
            ]
            pairs = [
                (each, _timed_out(found[each.key, each.attempt], each.definition)) for each in executions
            ]
            transitions = await _settle(settling, pairs)
            await settling.stop(
                executions, sorted({found[each.key, each.attempt].lease_id for each in executions})
            )
        _ENDED_BY_NODE.inc(len(executions))
        self._count_and_log(pairs, transitions)
        self._publish(AttemptsEnded([[outcome for _, outcome in pairs]]))

    def _count_and_log(self, pairs: Sequence[_Pair], transitions: Sequence[Transition]) -> None:
        for (execution, outcome), transition in zip(pairs, transitions, strict=True):
            _ATTEMPTS.labels(outcome.kind).inc()
            count_after_attempt(outcome.kind, transition.status)
            self._log.log(execution, outcome, transition)
        ran = [outcome for _, outcome in pairs if outcome.kind not in NOT_STARTED]
        RUN_TIME.add([outcome.finished - outcome.started for outcome in ran])


async def _settle(settling: AttemptEnding, pairs: Sequence[_Pair]) -> list[Transition]:
    transitions = [_transition(execution, outcome) for execution, outcome in pairs]
    await settling.settle(transitions, [_attempt(execution, outcome) for execution, outcome in pairs])
    return transitions


async def _leave_for_next_check(_: OverdueAttempt, __: Exception) -> None:
    """Its lease is looked at again."""


def _timed_out(overdue: OverdueAttempt, definition: bytes) -> Outcome:
    """Its code may still run. A job that must not run twice because of a worker is not retried then."""
    try:
        may_retry = msgspec.json.decode(definition, type=JobRequest).on_worker_lost == "retry"
    except (TypeError, ValueError):
        may_retry = True  # the transition says what is wrong with the job
    return overdue.outcome(may_retry=may_retry)


def _checked(execution: LockedExecution, outcome: Outcome) -> Outcome:
    """Only built-in workers have executions of HTTP jobs: any other cannot say that a target has accepted one."""
    if outcome.kind is not AttemptOutcome.ACCEPTED or (outcome.accepted and execution.task == HTTP_TASK):
        return outcome
    failure = Failure("BadOutcome", "only the target of an HTTP job can accept an attempt", retry=False)
    return as_failed_outcome(outcome, failure, outcome.at)


def _reported(batch: Sequence[_Submission]) -> list[Reported]:
    return [
        (each.worker_id, outcome, lane)
        for each in batch
        for outcome, lane in zip(each.outcomes, each.lanes, strict=True)
    ]


def _columns(batch: Sequence[_Submission], outcomes: Sequence[Outcome]) -> CompletedColumns:
    """`outcomes`: of the whole batch."""
    workers = [worker for each in batch for worker in [each.worker_id] * len(each.outcomes)]
    lanes = [lane for each in batch for lane in each.lanes]
    return CompletedColumns.make(workers, outcomes, lanes)


def _started_and_cancelled(outcomes: Sequence[tuple[int, Outcome]]) -> list[tuple[Claimed, datetime]]:
    """Most were cancelled by request: their executions ended before the workers reported when they had started."""
    return [
        (Claimed(execution_key(outcome), worker_id, outcome.attempt), from_micros(outcome.started))
        for worker_id, outcome in outcomes
        if outcome.kind is AttemptOutcome.CANCELLED and outcome.started < outcome.finished
    ]


def _transition(execution: LockedExecution, outcome: Outcome) -> Transition:
    try:
        return decide(execution, outcome)
    except Exception as error:  # noqa: BLE001 (one bad outcome must not stop the others)
        return lifecycle.after_unreadable_job(execution, error_text(error))


def decide(execution: LockedExecution, outcome: Outcome) -> Transition:
    """What happens to the execution after an attempt that did not complete."""
    started = from_micros(outcome.started)
    if outcome.kind == AttemptOutcome.SNOOZED:
        return lifecycle.after_snooze(execution, timedelta(seconds=outcome.snooze))
    if outcome.kind == AttemptOutcome.RETURNED:
        return lifecycle.after_return(execution)
    if outcome.kind == AttemptOutcome.HELD:
        return _after_hold(execution, outcome)
    if outcome.kind == AttemptOutcome.CANCELLED:
        return lifecycle.after_cancel(execution, started, outcome.reason or "cancelled")
    job = msgspec.json.decode(execution.definition, type=JobRequest)
    if outcome.kind == AttemptOutcome.LOST:  # abandoned by a worker that could not renew its lease
        return lifecycle.after_loss(
            execution._replace(started_at=started),
            may_retry=job.on_worker_lost == "retry",
            counts=outcome.reason is None,
        )
    failure = outcome.failure or _NO_REASON
    policy = job.retry.policy()
    final = _why_final(failure, policy)
    return lifecycle.after_failure(
        execution, policy, final=final, retry_after=failure.retry_after, started=started
    )


def _why_final(failure: Failure, policy: RetryPolicy) -> str | None:
    """Why there is no other attempt, if so: the failure says so, or the retry policy refuses its type of error."""
    if not failure.retry:
        return "not to be retried"
    refusal = policy.refusal([failure.type, *failure.kinds])
    return f"not to be retried: {refusal}" if refusal else None


def _after_hold(execution: LockedExecution, outcome: Outcome) -> Transition:
    """Held for the present destination of the job: if that has changed, its breaker releases the execution at once."""
    target = msgspec.json.decode(execution.definition, type=JobRequest).http
    if target is None:
        return lifecycle.after_return(execution)
    return lifecycle.after_hold(
        execution, destination_of(target.url), outcome.reason or "circuit breaker open"
    )


def _attempt(execution: LockedExecution, outcome: Outcome) -> AttemptNote:
    failure = outcome.failure
    error = (
        msgspec.json.encode(AttemptError(failure.type, failure.message, failure.traceback))
        if failure
        else None
    )
    return AttemptNote(
        execution.key, execution.attempt, AttemptOutcome(outcome.kind), execution.worker_id,
        from_micros(outcome.started), from_micros(outcome.finished), error, _fingerprint(execution, failure),
    )  # fmt: skip


def _fingerprint(execution: LockedExecution, failure: Failure | None) -> int | None:
    if failure is None:
        return None
    return error_fingerprint(execution.task, failure.type, failure.message, failure.traceback)
