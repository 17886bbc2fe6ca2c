"""A worker that does by hand what a real one does by itself, with the real one's lease, clock and outbox."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from math import inf
from random import Random
from typing import Any, NamedTuple, Protocol

import msgspec

from simulation.simulated_network import Link
from support.observed_history import Key, SeenAttempt
from tickwork.execute.clock import DatabaseClock
from tickwork.execute.lease_expiry import Lease
from tickwork.execute.unacknowledged_outcomes import UnacknowledgedOutcomes, key_of
from tickwork.model import worker_protocol as protocol
from tickwork.model.execution import AttemptOutcome
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import HTTP_TASK
from tickwork.model.public_ids import from_micros, to_micros
from tickwork.model.worker import LEASE, MARGIN
from tickwork.model.worker_protocol import (
    Accepted,
    Beat,
    Claim,
    Drain,
    Failure,
    Hello,
    Outcome,
    Run,
    TaskOffer,
)

TASKS = ("work", "other")
POISON = b"poison"  # in the payload of a job that takes its workers down
_ROUNDING = 1e-6
_MAY_WORK_FOR = (LEASE - MARGIN).total_seconds() + _ROUNDING
_SILENCE = 7.0  # seconds without a word, after which the server counts as lost
_ENDINGS = (
    [AttemptOutcome.COMPLETED] * 9
    + [AttemptOutcome.FAILED] * 5
    + [AttemptOutcome.SNOOZED] * 2
    + [AttemptOutcome.CANCELLED]
)
_LENGTHS = (0.0, 0.0, 0.5, 2.0, 6.0, 20.0)  # seconds that an attempt takes; some outlast a lease
_HANGS = 0.3  # of attempts with a short timeout
_SHORT = 10.0  # seconds
_ACCEPTED = 0.8  # of calls to targets
_REPORT_AFTER = (0.0, 0.0, 1.0, 4.0, 12.0, 20.0, inf)  # seconds
_Id = tuple[int, int, int, int]


class AcceptedAttempt(NamedTuple):
    """What an HTTP target works on. It reports when the time has come, maybe before its 202 was recorded."""

    run: Run
    place: int  # in the ledger
    report_at: float
    completes: bool


class Surroundings(Protocol):
    """What is outside of the worker."""

    random: Random
    now: datetime
    seen_attempts: list[SeenAttempt]
    told_to_stop: set[tuple[Key, int]]
    accepted: list["AcceptedAttempt"]
    calm_at: datetime | None

    def seconds(self) -> float: ...


class _Attempt:
    def __init__(self, run: Run) -> None:
        self.run = run
        self.place: int | None = None  # in the ledger, once it was begun
        self.over_at = 0.0
        self.ending = AttemptOutcome.COMPLETED
        self.settled = False

    @property
    def runs(self) -> bool:
        return self.place is not None and not self.settled


class SimulatedWorker:
    def __init__(self, world: Surroundings, name: str, tasks: Sequence[str]) -> None:
        self._world = world
        self.name = name
        self.tasks = tasks
        self.calls_targets = HTTP_TASK in tasks
        self._offset = world.random.uniform(0, 1000)
        self._slots = world.random.randint(1, 3)
        self._start_over()
        self.link: Link | None = None
        self.frozen = False
        self.draining = False
        self.gone = False  # drained, and left
        self.killed = False  # by what it ran

    def _start_over(self) -> None:
        self._lease, self._clock = Lease(), DatabaseClock(self.elapsed)
        self._outbox = UnacknowledgedOutcomes(lambda: None)
        self._held: dict[_Id, _Attempt] = {}
        self._id: int | None = None
        self._welcomed = False
        self._drain_told = False
        self._drained = False
        self._heard = self._greeted = self._renewed = 0.0

    def elapsed(self) -> float:
        return self._world.seconds() + self._offset

    @property
    def places(self) -> int:
        return self._credit()

    @property
    def busy(self) -> bool:
        return any(attempt.runs for attempt in self._held.values())

    def connect(self, link: Link) -> None:
        self.link = link
        self._welcomed = self._drain_told = self._drained = False
        self._heard = self._greeted = self.elapsed()
        link.send(
            Hello(
                name=self.name,
                host="here",
                version="0",
                slots=self._slots,
                credit=self._credit(),
                tasks=[TaskOffer(task, {"type": "object"}) for task in self.tasks],
                resume=self._lease.token,
                holding=[_claim(attempt.run) for attempt in self._held.values()],
            )
        )

    # What it is told

    def hear(self, message: protocol.FromServer | None) -> str:  # noqa: C901 (one case per message)
        self._heard = self.elapsed()
        match message:
            case None:
                self.link = None
            case protocol.Welcome():
                self._settle_in(message)
            case protocol.Runs(runs):
                for run in runs:
                    self._held.setdefault(_id(run), _Attempt(run))
                if self.draining:
                    self._give_back()
            case protocol.Ack(number):
                for outcome in self._outbox.acknowledge(number):
                    self._held.pop(key_of(outcome), None)
            case protocol.Renewed(sent, now):
                self._lease.renew(sent=sent)
                self._renewed = max(self._renewed, sent)
                self._clock.learn(sent=sent, database=now)
            case protocol.Revoke(claims, _):
                for attempt in self._find(claims):
                    self._told(attempt.run)
                    self._end(attempt, AttemptOutcome.CANCELLED)
            case protocol.Drained():
                self._drained = True
            case protocol.Refused():
                self._forget(list(self._held.values()))
                self.link = None
                self._start_over()
        return type(message).__name__

    def _settle_in(self, welcome: protocol.Welcome) -> None:
        self._lease.grant(welcome.token, sent=self._greeted, seconds=welcome.lease)
        self._renewed = self._greeted
        self._clock.learn(sent=self._greeted, database=welcome.now)
        self._id = welcome.worker
        self._forget(self._find(welcome.forget))
        self._outbox.resend(only=self._held)
        self._welcomed = True

    # What it does by itself

    def act(self, share: float = 1.0) -> None:
        """Ends and begins what its time has come for, a random part of it, and tells of it."""
        self._watch()
        chance = self._world.random.random
        for attempt in list(self._held.values()):
            if attempt.runs and self.elapsed() >= attempt.over_at and chance() < share:
                self._end(attempt, attempt.ending)
        for attempt in list(self._held.values()):
            if self._may_begin(attempt) and chance() < share:
                self._begin(attempt)
                if POISON in attempt.run.payload:
                    self.killed = True
                    return
        self._report()

    def beat(self) -> None:
        if self.link and self._welcomed:
            self.link.send(Beat(sent=self.elapsed(), credit=self._credit(), running=self._running()))

    def drain(self) -> None:
        self.draining = True
        self._give_back()
        self._report()

    def wake_up(self) -> None:
        """After it stood still: code may end, and be told of, before the worker looks at its lease."""
        self.frozen = False
        for attempt in self._held.values():
            if attempt.runs and self._world.random.random() < 0.5:
                self._end(attempt, attempt.ending)
        self._report()

    def hurry(self) -> None:
        """Let all that runs end well, and soon."""
        for attempt in self._held.values():
            if attempt.over_at < inf:  # what hangs goes on hanging
                attempt.over_at = self.elapsed()
            if attempt.ending is not AttemptOutcome.ACCEPTED:
                attempt.ending = AttemptOutcome.COMPLETED

    def _watch(self) -> None:
        if self._lease.ran_out(self.elapsed()):
            for attempt in self._held.values():
                if attempt.runs:
                    self._end(attempt, AttemptOutcome.LOST)
        if self.link and self.elapsed() - self._heard > _SILENCE:
            self.link.to_server.append(None)
            self.link = None
        if self.draining and self._drained and not self._held:
            self.gone = True
            if self.link:
                self.link.to_server.append(None)
                self.link = None

    def _report(self) -> None:
        if self.link is None or not self._welcomed:
            return
        if self.draining and not self._drain_told:
            self.link.send(Drain())
            self._drain_told = True
        while outcomes := self._outbox.next_batch():
            self.link.send(outcomes)

    # Attempts

    def _give_back(self) -> None:
        for attempt in self._held.values():
            if attempt.place is None and not attempt.settled:
                self._settle(attempt, AttemptOutcome.RETURNED)

    def _may_begin(self, attempt: _Attempt) -> bool:
        return (
            attempt.place is None
            and not attempt.settled
            and not self.draining
            and attempt.run.not_before <= self._clock.now()
            and self.elapsed() <= self._lease.deadline
            and sum(each.runs for each in self._held.values()) < self._slots
        )

    def _begin(self, attempt: _Attempt) -> None:
        random = self._world.random
        attempt.over_at = self.elapsed() + random.choice(_LENGTHS)
        attempt.ending = random.choice(_ENDINGS)
        if self.calls_targets:
            attempt.ending = AttemptOutcome.ACCEPTED if random.random() < _ACCEPTED else AttemptOutcome.FAILED
        elif attempt.run.timeout <= _SHORT and random.random() < _HANGS and self._world.calm_at is None:
            attempt.over_at = inf
        attempt.place = len(self._world.seen_attempts)
        self._world.seen_attempts.append(
            SeenAttempt(
                _key(attempt.run),
                attempt.run.attempt,
                self._id,
                self._world.now,
                past_deadline=self.elapsed() - self._renewed > _MAY_WORK_FOR,
            )
        )

    def _end(self, attempt: _Attempt, kind: AttemptOutcome) -> None:
        """What was not begun is put down, what runs is ended in this way, what has ended stays as it is."""
        if attempt.settled:
            return
        outcome = self._settle(attempt, kind)
        if attempt.place is not None and kind is AttemptOutcome.ACCEPTED:
            self._leave_to_target(attempt)
        elif attempt.place is not None:
            seen = self._world.seen_attempts[attempt.place]
            self._world.seen_attempts[attempt.place] = seen._replace(
                ended_at=self._world.now,
                outcome=None if kind == AttemptOutcome.LOST else str(kind),
                result="\\x" + outcome.result.hex() if outcome.result else None,
                retry_after=outcome.failure.retry_after if outcome.failure else 0.0,
            )

    def _settle(self, attempt: _Attempt, kind: AttemptOutcome) -> Outcome:
        attempt.settled = True
        run, random = attempt.run, self._world.random
        now = max(self._clock.now(), 1)
        outcome = Outcome(
            run.tenant, run.at, run.job, run.attempt, kind, started=now, finished=now,
            result=msgspec.json.encode(self._result(run)) if kind == AttemptOutcome.COMPLETED else None,
            failure=Failure("Boom", "it broke", retry=random.random() < 0.9, retry_after=random.choice((0.0, 0.0, 5.0)))
            if kind == AttemptOutcome.FAILED else None,
            snooze=random.choice((0.5, 3.0)) if kind == AttemptOutcome.SNOOZED else 0.0,
            reason="wanted to" if kind == AttemptOutcome.CANCELLED else None,
            accepted=_accepted(run) if kind == AttemptOutcome.ACCEPTED else None,
        )  # fmt: skip
        self._outbox.add(outcome)
        return outcome

    def _result(self, run: Run) -> Any:
        """What a job returns that others depend on is in its payload."""
        own = f"{run.attempt} on w{self._id}"
        n = msgspec.json.decode(run.payload).get("n") if b'"n"' in run.payload else None
        return own if n is None else {"n": n, "list": [*range(n)], "by": own}

    def _leave_to_target(self, attempt: _Attempt) -> None:
        """The target has it: from now on its own word counts, whoever called it."""
        random, place = self._world.random, attempt.place
        self._world.seen_attempts[place] = self._world.seen_attempts[place]._replace(worker=None)
        after = random.choice(_REPORT_AFTER) if self._world.calm_at is None else 0.0
        self._world.accepted.append(
            AcceptedAttempt(attempt.run, place, self._world.seconds() + after, random.random() < 0.8)
        )

    def _forget(self, attempts: Iterable[_Attempt]) -> None:
        for attempt in attempts:
            self._told(attempt.run)
            if attempt.runs:
                seen = self._world.seen_attempts[attempt.place]
                self._world.seen_attempts[attempt.place] = seen._replace(ended_at=self._world.now)
            attempt.settled = True
            self._held.pop(_id(attempt.run), None)

    def _told(self, run: Run) -> None:
        self._world.told_to_stop.add((_key(run), run.attempt))

    def _find(self, claims: Iterable[Claim]) -> list[_Attempt]:
        ids = [(claim.tenant, claim.at, claim.job, claim.attempt) for claim in claims]
        return [self._held[each] for each in ids if each in self._held]

    def _running(self) -> list[tuple[Claim, int]]:
        return [
            (_claim(attempt.run), to_micros(self._world.seen_attempts[attempt.place].begun_at))
            for attempt in self._held.values()
            if attempt.runs
            and self._world.seen_attempts[attempt.place].begun_at < self._world.now - timedelta(seconds=1)
        ]

    def _credit(self) -> int:
        return 0 if self.draining else self._slots + 1


def _accepted(run: Run) -> Accepted:
    target = msgspec.json.decode(run.target, type=HttpTarget)
    return Accepted(run.timeout, float(str(target.heartbeat).removesuffix("s")) if target.heartbeat else None)


def _id(run: Run) -> _Id:
    return (run.tenant, run.at, run.job, run.attempt)


def _key(run: Run) -> Key:
    return Key(run.job, from_micros(run.at))


def _claim(run: Run) -> Claim:
    return Claim(run.tenant, run.at, run.job, run.attempt)
