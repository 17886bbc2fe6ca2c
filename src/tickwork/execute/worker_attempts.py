"""All attempts that a worker has: not due yet, ready, running, or ended but not yet recorded by a server."""

from collections.abc import Callable, Iterable, Mapping

from opentelemetry.trace import Tracer, get_tracer

from tickwork import __version__
from tickwork.execute.attempt_ending import Ending, cancelled, failed, unchanged
from tickwork.execute.attempt_state import Attempt, Handler, Key, Outboxes
from tickwork.execute.checkpoint_outbox import CheckpointOutbox
from tickwork.execute.clock import DatabaseClock
from tickwork.execute.lease_expiry import Lease
from tickwork.execute.log.outbox import LogOutbox
from tickwork.execute.resume_from_checkpoint import recalled
from tickwork.execute.run_in_slots import Slots, Throughput
from tickwork.execute.start_attempts_when_due import DueTimer
from tickwork.execute.traced_attempt import traced
from tickwork.execute.unacknowledged_outcomes import UnacknowledgedOutcomes, key_of
from tickwork.execute.worker_metrics import CountEnded
from tickwork.model.execution import AttemptOutcome
from tickwork.model.worker_protocol import (
    Checkpointed,
    Checkpoints,
    Claim,
    Micros,
    Noted,
    Notes,
    Outcomes,
    Recall,
    Recalled,
    Run,
)
from tickwork.tracing.opentelemetry_setup import SCOPE

_LONG_RUNNING = 1_000_000  # microseconds: attempts that run for longer are reported to the server

_RETURNED = Ending(AttemptOutcome.RETURNED)
_UNWANTED = cancelled("no longer this worker's")


class WorkerAttempts:
    def __init__(
        self,
        slots: int,
        handlers: Mapping[str, Handler],
        clock: DatabaseClock,
        lease: Lease,
        *,
        report_ready: Callable[[], None],
        lease_expired: Callable[[], None],
        needs_restart: Callable[[], None],
        failed: Callable[[Attempt, Ending], None] | None = None,
        tracer: Tracer | None = None,
        count_ended: CountEnded | None = None,
    ) -> None:
        self._count_ended = count_ended
        self._log_failure = failed
        self._tracer = tracer or get_tracer(SCOPE, __version__)
        self._outcomes = UnacknowledgedOutcomes(report_ready)
        self._logs = LogOutbox(clock)
        self._checkpoints = CheckpointOutbox(report_ready)
        self._outboxes = Outboxes(self._logs, self._checkpoints)
        self._handlers = handlers
        self._clock = clock
        self._attempts: dict[Key, Attempt] = {}
        self._slots = Slots(
            slots, clock, lease, finish=self._finish, lease_expired=lease_expired, needs_restart=needs_restart
        )
        self._due_timer = DueTimer(clock, self._slots.put)
        self._throughput = Throughput(clock.elapsed)

    def open(self) -> None:
        """Called on the event loop, before the first attempt."""
        self._checkpoints.open()

    def __len__(self) -> int:
        return len(self._attempts)

    @property
    def running(self) -> int:
        return len(self._slots.running)

    @property
    def has_due(self) -> bool:
        now = self._clock.now()
        return any(run.not_before <= now for run in self._runs())

    @property
    def next_start(self) -> Micros | None:
        """The earliest start of the attempts that are not due yet."""
        now = self._clock.now()
        return min((run.not_before for run in self._runs() if run.not_before > now), default=None)

    def _runs(self) -> Iterable[Run]:
        return (attempt.run for attempt in self._attempts.values())

    def credit(self) -> int:
        """How many attempts the worker should have at once."""
        return self._slots.usable + self._throughput.extra_credit()

    def claims(self) -> list[Claim]:
        return [attempt.claim() for attempt in self._attempts.values()]

    def take(self, runs: Iterable[Run]) -> None:
        now = self._clock.now()
        ready = []
        for run in runs:
            key = (run.tenant, run.at, run.job, run.attempt)
            if key in self._attempts:
                continue  # two servers sent it
            handler = self._handlers.get(run.task, _UNKNOWN)
            if run.attempt > 1 and handler.takes_context:
                handler = recalled(handler)
            if run.traceparent:
                handler = traced(handler, self._tracer)
            attempt = self._attempts[key] = Attempt(key, run, handler, self._outboxes)
            if run.not_before > now:
                self._due_timer.put(attempt)
            else:
                ready.append(attempt)
        self._due_timer.start_due()
        self._slots.put(ready)

    def start_due(self) -> None:
        self._due_timer.start_due()
        self._slots.wake()

    def revoke(self, claims: Iterable[Claim], reason: str) -> None:
        for attempt in self._find(claims):
            self._stop(attempt, cancelled(reason))

    def acknowledge_outcomes(self, number: int) -> None:
        outcomes = self._outcomes.acknowledge(number)
        attempts = [self._attempts.pop(key_of(outcome), None) for outcome in outcomes]
        if self._count_ended:
            self._count_ended(outcomes, attempts)

    def forget(self, claims: Iterable[Claim]) -> None:
        """Stop these and send no outcome: they belong to other workers now."""
        forgotten = self._find(claims)
        for attempt in forgotten:
            self._abandon(attempt)
            self._attempts.pop(attempt.key, None)
        if forgotten:
            self._logs.forget(forgotten)

    def stop_running(self, reason: str | None = None) -> int:
        """Stop the running attempts, because other workers may start them soon. Returns how many."""
        running = [attempt for attempt in self._slots.running if not attempt.stopped_as]
        for attempt in running:
            self._slots.stop(attempt, Ending(AttemptOutcome.LOST, reason=reason))
        return len(running)

    def forget_all(self) -> None:
        for attempt in self._attempts.values():
            self._abandon(attempt)
        self._attempts.clear()
        self._due_timer.clear()
        self._slots.clear()
        self._outcomes.clear()
        self._logs.clear()
        self._checkpoints.clear()

    def return_unstarted(self) -> None:
        """Return the attempts that have not started."""
        self._due_timer.clear()
        self._slots.clear()
        for attempt in self._attempts.values():
            if not attempt.started:
                self._finish(attempt, _RETURNED)

    def return_surplus(self) -> None:
        """Return attempts that would wait here for long: the measured throughput was too optimistic."""
        surplus = self._slots.surplus()
        for attempt in surplus:
            self._finish(attempt, _RETURNED)
        if surplus:
            self._throughput.reset()

    def next_messages(self) -> list[Recall | Checkpoints | Notes | Outcomes]:
        """Checkpoints and log lines come first, so that they are stored before the outcome of their attempt."""
        messages: list[Recall | Checkpoints | Notes | Outcomes] = [
            *self._checkpoints.next_messages(),
            *self._logs.next_messages(),
        ]
        if outcomes := self._outcomes.next_batch():
            self._throughput.count(len(outcomes.items))
            messages.append(outcomes)
        return messages

    @property
    def has_logs(self) -> bool:
        return self._logs.has_unsent

    def take_answer(self, answer: Noted | Checkpointed | Recalled) -> None:
        match answer:
            case Noted(number):
                self._logs.acknowledge(number)
            case Checkpointed():
                self._checkpoints.acknowledge(answer)
            case Recalled():
                self._checkpoints.take_recalled(answer)

    def resend(self) -> None:
        """Send everything again that no server has acknowledged: checkpoints, log lines, outcomes, and which attempts
        run."""
        self._checkpoints.resend()
        self._logs.resend()
        self._outcomes.resend(only=self._attempts)
        for attempt in self._slots.running:
            attempt.reported_running = False

    def newly_long_running(self) -> list[tuple[Claim, Micros]]:
        """Long-running attempts that the server does not know of yet, with their start times."""
        started_before = self._clock.now() - _LONG_RUNNING
        found = [
            attempt
            for attempt in self._slots.running
            if not attempt.reported_running and not attempt.done and attempt.started < started_before
        ]
        for attempt in found:
            attempt.reported_running = True
        return [(attempt.claim(), attempt.started) for attempt in found]

    async def close(self) -> None:
        self.forget_all()
        await self._slots.close()

    def _find(self, claims: Iterable[Claim]) -> list[Attempt]:
        keys = [(claim.tenant, claim.at, claim.job, claim.attempt) for claim in claims]
        return [self._attempts[key] for key in keys if key in self._attempts]

    def _stop(self, attempt: Attempt, ending: Ending) -> None:
        if attempt.started:
            self._slots.stop(attempt, ending)
        else:
            self._finish(attempt, ending)

    def _abandon(self, attempt: Attempt) -> None:
        attempt.done = True
        self._slots.stop(attempt, _UNWANTED)

    def _finish(self, attempt: Attempt, ending: Ending) -> None:
        if not attempt.done:
            attempt.done = True
            if attempt.has_log:
                self._logs.close(attempt)
            self._outcomes.add(attempt.outcome(ending, self._clock.now()))
            if ending.failure and self._log_failure:
                self._log_failure(attempt, ending)


async def _no_such_task(attempt: Attempt) -> Ending:
    return failed("UnknownTask", f"this worker offers no task {attempt.run.task!r}")


_UNKNOWN = Handler(_no_such_task, unchanged)
