"""Outcomes of attempts → what their executions become.

Outcomes are collected while the last batch is being written, so a batch grows with the load. They are kept until
the database has them: when it is away they wait, and only then is the worker told that it may forget them.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import islice

import msgspec
from prometheus_client import Counter, Histogram

from tickwork.model import execution_lifecycle as lifecycle
from tickwork.model.bad_row_isolation import BadRowIsolation, error_text, is_row_error
from tickwork.model.event import AttemptsEnded, Publish
from tickwork.model.execution import AttemptError, AttemptOutcome
from tickwork.model.execution_lifecycle import LockedExecution, Transition
from tickwork.model.http_target import destination_of
from tickwork.model.ids import from_micros
from tickwork.model.job import JobRequest
from tickwork.model.outcome_limits import as_failed_outcome
from tickwork.model.retry_policy import RetryPolicy
from tickwork.model.worker_protocol import Failure, Outcome, execution_key
from tickwork.record.log_failed_attempts import FailedAttemptLog
from tickwork.store.port.record import AttemptNote, Claimed, OutcomeStore
from tickwork.wake import Wake

_MOST = 200  # messages written together; each holds a worker's batch
_ATTEMPTS = Counter("tickwork_attempts_total", "Attempts that ended, by how.", ["outcome"])
_STALE = Counter(
    "tickwork_stale_outcomes_total", "Outcomes refused because somebody else holds the execution."
)
_DELAY = Histogram(
    "tickwork_start_delay_seconds",
    "From due to started, of first attempts; one sample per recorded batch.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60, 600),
)
_NOTHING_SAID = Failure("Unknown", "the worker gave no reason")


class _Submission:
    __slots__ = ("leases", "outcomes", "recorded", "worker_id")

    def __init__(
        self, worker_id: int, outcomes: Sequence[Outcome], leases: Sequence[int], recorded: Callable[[], None]
    ) -> None:
        self.worker_id = worker_id
        self.outcomes = outcomes
        self.leases = leases
        self.recorded = recorded


class OutcomeRecorder:
    def __init__(
        self,
        store: OutcomeStore,
        wake: Wake,
        publish: Publish,
    ) -> None:
        self._store = store
        self._wake = wake
        self._publish = publish
        self._waiting: list[_Submission] = []
        self._started: dict[Claimed, datetime] = {}
        self._isolation = BadRowIsolation("record")
        self._log = FailedAttemptLog()

    def submit(
        self, worker_id: int, outcomes: Sequence[Outcome], leases: Sequence[int], recorded: Callable[[], None]
    ) -> None:
        self._waiting.append(_Submission(worker_id, outcomes, leases, recorded))
        self._wake.record()

    def submit_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None:
        self._started.update(started)
        self._wake.record()

    def refuse_stale(self) -> None:
        """Count an outcome that needs no look at the database any more."""
        _STALE.inc()

    async def record(self) -> bool:
        """Write what came in; whether there was anything."""
        await self._note_started()
        batch = list(islice(self._waiting, _MOST))
        if not batch:
            return False
        try:
            await self._write(batch)
        except Exception as error:
            if not is_row_error(error):
                raise
            await self._write_each(batch)
        del self._waiting[: len(batch)]
        for submission in batch:
            submission.recorded()
        self._publish(AttemptsEnded([submission.outcomes for submission in batch]))
        return True

    def close(self) -> None:
        self._log.close()

    async def _note_started(self) -> None:
        if self._started:
            noted = [*self._started.items()]
            await self._store.note_started(noted)
            for claimed, _ in noted:
                self._started.pop(claimed, None)

    async def _write(self, batch: Sequence[_Submission]) -> None:
        reported = [(each.worker_id, outcome) for each in batch for outcome in each.outcomes]
        await self._write_all(reported, [lease for each in batch for lease in each.leases])

    async def _write_each(self, batch: Sequence[_Submission]) -> None:
        """One of the outcomes cannot be recorded: the others are."""
        reported = [(each.worker_id, outcome) for each in batch for outcome in each.outcomes]
        await self._isolation.run_batch(reported, self._write_all, self._write_as_failed)
        await self._settle([], [lease for each in batch for lease in each.leases])

    async def _write_as_failed(self, reported: tuple[int, Outcome], error: Exception) -> None:
        worker_id, outcome = reported
        failure = Failure("BadOutcome", f"could not be recorded: {error_text(error)}", retry=False)
        await self._settle([(worker_id, as_failed_outcome(outcome, failure, outcome.at))], [])

    async def _write_all(self, reported: Sequence[tuple[int, Outcome]], leases: Sequence[int] = ()) -> None:
        completed: list[tuple[int, Outcome]] = []
        others: list[tuple[int, Outcome]] = []
        for each in reported:
            pile = completed if each[1].kind is AttemptOutcome.COMPLETED else others
            pile.append(each)
        if others or not completed:
            await self._settle(others, leases if not completed else [])
        if completed:
            _STALE.inc(len(completed) - await self._store.complete(completed, leases))
            _ATTEMPTS.labels("completed").inc(len(completed))
            _observe_delay(completed[0][1])

    async def _settle(self, others: Sequence[tuple[int, Outcome]], leases: Sequence[int]) -> None:
        by_claim = {(execution_key(outcome), outcome.attempt): outcome for _, outcome in others}
        async with self._store.settling() as settling:
            # A worker that came back repeats what was not acknowledged: the same outcome may be here twice.
            claimed = (
                Claimed(execution_key(outcome), worker_id, outcome.attempt) for worker_id, outcome in others
            )
            held = await settling.lock(list(dict.fromkeys(claimed)))
            pairs = [(each, by_claim[each.key, each.attempt]) for each in held]
            verdicts = [_verdict(each, outcome) for each, outcome in pairs]
            await settling.settle(verdicts, [_note(each, outcome) for each, outcome in pairs])
            await settling.note_cancelled(_begun_and_cancelled(others))
            await settling.close_leases(leases)
        _STALE.inc(len(others) - len(held))
        for (each, outcome), verdict in zip(pairs, verdicts, strict=True):
            _ATTEMPTS.labels(outcome.kind).inc()
            self._log.tell(each, outcome, verdict)


def _begun_and_cancelled(outcomes: Sequence[tuple[int, Outcome]]) -> list[tuple[Claimed, datetime]]:
    """Most of these were cancelled by somebody, so that their executions have ended before their workers said so."""
    return [
        (Claimed(execution_key(outcome), worker_id, outcome.attempt), from_micros(outcome.started))
        for worker_id, outcome in outcomes
        if outcome.kind is AttemptOutcome.CANCELLED and outcome.started < outcome.finished
    ]


def _verdict(held: LockedExecution, outcome: Outcome) -> Transition:
    try:
        return decide(held, outcome)
    except Exception as error:  # noqa: BLE001 (one that cannot be decided about keeps no other from it)
        return lifecycle.after_unreadable_job(held, error_text(error))


def decide(held: LockedExecution, outcome: Outcome) -> Transition:
    """How the execution goes on after an attempt that did not complete."""
    started = from_micros(outcome.started)
    if outcome.kind == AttemptOutcome.SNOOZED:
        return lifecycle.after_snooze(held, timedelta(seconds=outcome.snooze))
    if outcome.kind == AttemptOutcome.RETURNED:
        return lifecycle.after_return(held)
    if outcome.kind == AttemptOutcome.HELD:
        return _held_back(held, outcome)
    if outcome.kind == AttemptOutcome.CANCELLED:
        return lifecycle.after_cancel(held, started, outcome.reason or "cancelled")
    job = msgspec.json.decode(held.definition, type=JobRequest)
    if outcome.kind == AttemptOutcome.LOST:  # broken off by a worker that could not renew its lease
        return lifecycle.after_loss(
            held._replace(started_at=started), may_retry=job.on_worker_lost == "retry"
        )
    failure = outcome.failure or _NOTHING_SAID
    policy = job.retry.policy()
    final = _final(failure, policy)
    return lifecycle.after_failure(
        held, policy, final=final, retry_after=failure.retry_after, started=started
    )


def _final(failure: Failure, policy: RetryPolicy) -> str | None:
    """Why there is to be no other attempt, if so: the failure itself says it, or the job by the kind of error."""
    if not failure.retry:
        return "not to be retried"
    refusal = policy.refusal([failure.type, *failure.kinds])
    return f"not to be retried: {refusal}" if refusal else None


def _held_back(held: LockedExecution, outcome: Outcome) -> Transition:
    """By the job as it is now: if it calls elsewhere since, the breaker there lets it go at once."""
    target = msgspec.json.decode(held.definition, type=JobRequest).http
    if target is None:
        return lifecycle.after_return(held)
    return lifecycle.after_hold(held, destination_of(target.url), outcome.reason or "circuit breaker open")


def _observe_delay(outcome: Outcome) -> None:
    if outcome.attempt == 1:
        _DELAY.observe((outcome.started - outcome.at) / 1e6)


def _note(held: LockedExecution, outcome: Outcome) -> AttemptNote:
    failure = outcome.failure
    error = (
        msgspec.json.encode(AttemptError(failure.type, failure.message, failure.traceback))
        if failure
        else None
    )
    return AttemptNote(
        held.key, held.attempt, AttemptOutcome(outcome.kind), held.worker_id,
        from_micros(outcome.started), from_micros(outcome.finished), error,
    )  # fmt: skip
