"""What is in the worker's hands: waiting for its time or a slot, running, or ended but not yet recorded."""

from collections.abc import Callable, Iterable, Mapping

from tickwork.execute.attempt import Attempt, Handler, Key
from tickwork.execute.attempt_ending import Ending, as_it_is, cancelled, failed
from tickwork.execute.clock import DatabaseClock
from tickwork.execute.due_timer import DueTimer
from tickwork.execute.lease import Lease
from tickwork.execute.log.outbox import LogOutbox
from tickwork.execute.slots import Slots, Throughput
from tickwork.execute.unacknowledged_outcomes import UnacknowledgedOutcomes, key_of
from tickwork.model.execution import AttemptOutcome
from tickwork.model.worker_protocol import Claim, Micros, Notes, Outcomes, Run

_LONG = 1_000_000  # microseconds: an attempt that runs for longer is shown as running

_RETURNED = Ending(AttemptOutcome.RETURNED)
_LOST = Ending(AttemptOutcome.LOST)
_UNWANTED = cancelled("no longer this worker's")


class HeldAttempts:
    def __init__(
        self,
        slots: int,
        handlers: Mapping[str, Handler],
        clock: DatabaseClock,
        lease: Lease,
        *,
        outcome_ready: Callable[[], None],
        lease_over: Callable[[], None],
        worn_out: Callable[[], None],
        failed: Callable[[Attempt, Ending], None] | None = None,
    ) -> None:
        self._failed = failed
        self._outbox = UnacknowledgedOutcomes(outcome_ready)
        self._journal = LogOutbox(clock)
        self._handlers = handlers
        self._clock = clock
        self._held: dict[Key, Attempt] = {}
        self._slots = Slots(
            slots, clock, lease, finish=self._settle, lease_over=lease_over, worn_out=worn_out
        )
        self._agenda = DueTimer(clock, self._slots.put)
        self._pace = Throughput(clock.elapsed)

    def __len__(self) -> int:
        return len(self._held)

    @property
    def running(self) -> int:
        return len(self._slots.running)

    @property
    def has_due(self) -> bool:
        now = self._clock.now()
        return any(run.not_before <= now for run in self._runs())

    @property
    def next_start(self) -> Micros | None:
        """When the first of those begins whose time has not come."""
        now = self._clock.now()
        return min((run.not_before for run in self._runs() if run.not_before > now), default=None)

    def _runs(self) -> Iterable[Run]:
        return (attempt.run for attempt in self._held.values())

    def credit(self) -> int:
        """How many attempts it makes sense to hold."""
        return self._slots.usable + self._pace.ahead()

    def claims(self) -> list[Claim]:
        return [attempt.claim() for attempt in self._held.values()]

    def take(self, runs: Iterable[Run]) -> None:
        now = self._clock.now()
        ready = []
        for run in runs:
            key = (run.tenant, run.at, run.job, run.attempt)
            if key in self._held:
                continue  # told twice, by two servers
            handler = self._handlers.get(run.task, _UNKNOWN)
            attempt = self._held[key] = Attempt(key, run, handler, self._journal)
            if run.not_before > now:
                self._agenda.put(attempt)
            else:
                ready.append(attempt)
        self._agenda.start_due()
        self._slots.put(ready)

    def start_due(self) -> None:
        self._agenda.start_due()
        self._slots.wake()

    def revoke(self, claims: Iterable[Claim], reason: str) -> None:
        for attempt in self._find(claims):
            self._end(attempt, cancelled(reason))

    def acknowledge(self, number: int) -> None:
        for outcome in self._outbox.acknowledge(number):
            self._held.pop(key_of(outcome), None)

    def forget(self, claims: Iterable[Claim]) -> None:
        """Stop these and say nothing of them."""
        forgotten = self._find(claims)
        for attempt in forgotten:
            self._abandon(attempt)
            self._held.pop(attempt.key, None)
        if forgotten:
            self._journal.forget(forgotten)

    def stop_running(self) -> int:
        """Stop what runs, because others may do it soon; how many were told to."""
        running = [attempt for attempt in self._slots.running if not attempt.stopped_as]
        for attempt in running:
            self._slots.stop(attempt, _LOST)
        return len(running)

    def forget_all(self) -> None:
        for attempt in self._held.values():
            self._abandon(attempt)
        self._held.clear()
        self._agenda.clear()
        self._slots.clear()
        self._outbox.clear()
        self._journal.clear()

    def give_back(self) -> None:
        """Hand back what was not begun."""
        self._agenda.clear()
        self._slots.clear()
        for attempt in self._held.values():
            if not attempt.started:
                self._settle(attempt, _RETURNED)

    def give_back_surplus(self) -> None:
        """What waits here for long is better off with others: the pace told the servers too much."""
        surplus = self._slots.surplus()
        for attempt in surplus:
            self._settle(attempt, _RETURNED)
        if surplus:
            self._pace.forget()

    def next_report(self) -> list[Notes | Outcomes]:
        """What attempts said comes before how they ended."""
        report: list[Notes | Outcomes] = [*self._journal.take()]
        if outcomes := self._outbox.next_batch():
            self._pace.count(len(outcomes.items))
            report.append(outcomes)
        return report

    @property
    def has_notes(self) -> bool:
        return self._journal.has_news

    def noted(self, number: int) -> None:
        self._journal.acknowledge(number)

    def tell_again(self) -> None:
        """To a server that may not have heard it: what attempts said, which ended, and which are running."""
        self._journal.resend()
        self._outbox.resend(only=self._held)
        for attempt in self._slots.running:
            attempt.told = False

    def newly_long_running(self) -> list[tuple[Claim, Micros]]:
        """Those that the server has not yet been told of."""
        begun_before = self._clock.now() - _LONG
        found = [
            attempt
            for attempt in self._slots.running
            if not attempt.told and not attempt.settled and attempt.started < begun_before
        ]
        for attempt in found:
            attempt.told = True
        return [(attempt.claim(), attempt.started) for attempt in found]

    async def close(self) -> None:
        self.forget_all()
        await self._slots.close()

    def _find(self, claims: Iterable[Claim]) -> list[Attempt]:
        keys = [(claim.tenant, claim.at, claim.job, claim.attempt) for claim in claims]
        return [self._held[key] for key in keys if key in self._held]

    def _end(self, attempt: Attempt, ending: Ending) -> None:
        if attempt.started:
            self._slots.stop(attempt, ending)
        else:
            self._settle(attempt, ending)

    def _abandon(self, attempt: Attempt) -> None:
        attempt.settled = True
        self._slots.stop(attempt, _UNWANTED)

    def _settle(self, attempt: Attempt, ending: Ending) -> None:
        if not attempt.settled:
            attempt.settled = True
            if attempt.speaks:
                self._journal.close(attempt)
            self._outbox.add(attempt.outcome(ending, self._clock.now()))
            if ending.failure and self._failed:
                self._failed(attempt, ending)


async def _no_such_task(attempt: Attempt) -> Ending:
    return failed("UnknownTask", f"this worker offers no task {attempt.run.task!r}")


_UNKNOWN = Handler(_no_such_task, as_it_is)
