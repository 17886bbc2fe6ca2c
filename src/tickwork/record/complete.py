"""Outcomes of attempts → what their executions become.

Outcomes are collected while the last batch is being written, so a batch grows with the load. They are kept until
the database has them: when it is away they wait, and only then is the worker told that it may forget them.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import islice

import msgspec
from prometheus_client import Counter, Histogram

from tickwork.model import lifecycle
from tickwork.model.execution import AttemptError, AttemptOutcome, ExecutionKey
from tickwork.model.ids import from_micros
from tickwork.model.job import JobRequest
from tickwork.model.lifecycle import Held, Verdict
from tickwork.model.protocol import Failure, Outcome
from tickwork.store.port import AttemptNote, Claimed, Completion, RecordStore

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


class Recorder:
    def __init__(self, store: RecordStore, submitted: Callable[[], None]) -> None:
        self._store = store
        self._submitted = submitted
        self._waiting: list[_Submission] = []
        self._started: list[tuple[Claimed, datetime]] = []

    def submit(
        self, worker_id: int, outcomes: Sequence[Outcome], leases: Sequence[int], recorded: Callable[[], None]
    ) -> None:
        self._waiting.append(_Submission(worker_id, outcomes, leases, recorded))
        self._submitted()

    def submit_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None:
        self._started.extend(started)
        self._submitted()

    async def record(self) -> bool:
        """Write what came in; whether there was anything."""
        await self._note_started()
        batch = list(islice(self._waiting, _MOST))
        if not batch:
            return False
        await self._write(batch)
        del self._waiting[: len(batch)]
        for submission in batch:
            submission.recorded()
        return True

    async def _note_started(self) -> None:
        if self._started:
            noted = list(self._started)
            await self._store.note_started(noted)
            del self._started[: len(noted)]

    async def _write(self, batch: Sequence[_Submission]) -> None:
        completions: list[Completion] = []
        others: list[tuple[int, Outcome]] = []
        for submission in batch:
            for outcome in submission.outcomes:
                if outcome.kind == AttemptOutcome.COMPLETED:
                    completions.append(_completion(submission.worker_id, outcome))
                else:
                    others.append((submission.worker_id, outcome))
        leases = [lease for submission in batch for lease in submission.leases]
        if others or not completions:
            await self._settle(others, leases if not completions else [])
        if completions:
            _STALE.inc(len(completions) - await self._store.complete(completions, leases))
            _ATTEMPTS.labels("completed").inc(len(completions))
            _observe_delay(completions[0])

    async def _settle(self, others: Sequence[tuple[int, Outcome]], leases: Sequence[int]) -> None:
        by_claim = {(_key(outcome), outcome.attempt): outcome for _, outcome in others}
        async with self._store.settling() as settling:
            claimed = [Claimed(_key(outcome), worker_id, outcome.attempt) for worker_id, outcome in others]
            held = await settling.lock(claimed)
            pairs = [(each, by_claim[each.key, each.attempt]) for each in held]
            await settling.settle(
                [decide(each, outcome) for each, outcome in pairs],
                [_note(each, outcome) for each, outcome in pairs],
            )
            await settling.close_leases(leases)
        _STALE.inc(len(others) - len(held))
        for _, outcome in pairs:
            _ATTEMPTS.labels(outcome.kind).inc()


def decide(held: Held, outcome: Outcome) -> Verdict:
    """How the execution goes on after an attempt that did not complete."""
    started = from_micros(outcome.started)
    if outcome.kind == AttemptOutcome.SNOOZED:
        return lifecycle.snoozed(held, timedelta(seconds=outcome.snooze))
    if outcome.kind == AttemptOutcome.RETURNED:
        return lifecycle.returned(held)
    if outcome.kind == AttemptOutcome.CANCELLED:
        return lifecycle.cancelled(held, started, (outcome.reason or "cancelled").replace("\0", ""))
    failure = outcome.failure or _NOTHING_SAID
    policy = msgspec.json.decode(held.definition, type=JobRequest).retry.policy()
    return lifecycle.failed(
        held, policy, retry=failure.retry, retry_after=failure.retry_after, started=started
    )


def _observe_delay(completion: Completion) -> None:
    if completion.attempt == 1:
        _DELAY.observe((completion.started_at - completion.key.scheduled_for).total_seconds())


def _completion(worker_id: int, outcome: Outcome) -> Completion:
    return Completion(
        _key(outcome), worker_id, outcome.attempt, from_micros(outcome.started), from_micros(outcome.finished),
        outcome.result,
    )  # fmt: skip


def _note(held: Held, outcome: Outcome) -> AttemptNote:
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


def _key(outcome: Outcome) -> ExecutionKey:
    return ExecutionKey(outcome.tenant, from_micros(outcome.at), outcome.job)
