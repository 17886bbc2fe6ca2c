"""All that was seen of one history, from three sides: the tables (by triggers in the database), the tasks themselves
(by their own ledger) and the clients (by the answers they got). Nothing here is decided by Tickwork's code."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple

import asyncpg

from support.change_log import Change, Row, document, instant
from tickwork.model.public_ids import execution_id

_EVENTS = """
    SELECT kind, job_id, scheduled_for FROM (
        SELECT 0 AS unnumbered, number, kind, job_id, scheduled_for FROM tickwork.event
        UNION ALL SELECT 1, id, kind, job_id, scheduled_for FROM tickwork.new_event
    ) told WHERE scheduled_for IS NOT NULL ORDER BY unnumbered, number"""

Schedule = dict[str, Any]
Oracle = Callable[
    [Schedule, datetime, datetime], list[datetime]
]  # the due times of a schedule in [begin, end)


class Key(NamedTuple):
    job: int
    scheduled_for: datetime

    def __str__(self) -> str:
        return execution_id(self.job, self.scheduled_for)


class State(NamedTuple):
    """An execution as a row says it."""

    status: str
    attempt: int
    worker: int | None
    ready_at: datetime | None
    failures: int
    losses: int
    trigger: str
    blocked_by: datetime | None
    reason: str | None
    result: str | None

    @property
    def ended(self) -> bool:
        return self.status not in ("pending", "running")


class Transition(NamedTuple):
    number: int
    at: datetime
    key: Key
    before: State | None  # None: inserted
    after: State | None  # None: deleted
    transaction: int

    @property
    def claims(self) -> bool:
        """Whether an attempt is put into a worker's hands."""
        return _status(self.after) == "running" and _status(self.before) != "running"

    @property
    def ends_attempt(self) -> bool:
        return _status(self.before) == "running" and _status(self.after) != "running"

    def __str__(self) -> str:
        return f"#{self.number} {self.at:%H:%M:%S.%f} {_told(self.before)} → {_told(self.after)}"


class AttemptRow(NamedTuple):
    number: int
    at: datetime
    outcome: str
    worker: int | None
    transaction: int
    error_type: str | None = None
    finished_at: datetime | None = None


class WorkerState(NamedTuple):
    number: int
    lease_until: datetime
    ended_at: datetime | None
    transaction: int


class JobState(NamedTuple):
    number: int
    at: datetime
    status: str
    rule: int | None
    scheduled_for: datetime | None
    active_from: datetime
    deferred: bool
    overlap: str
    request: dict[str, Any]

    @property
    def schedule(self) -> Schedule:
        schedule = self.request.get("schedule")
        return schedule if isinstance(schedule, dict) else {}


class RuleMove(NamedTuple):
    number: int
    at: datetime
    rule: int
    before: Row | None
    after: Row | None


class Missed(NamedTuple):
    number: int
    at: datetime
    rule: int
    first: datetime
    last: datetime


class SeenAttempt(NamedTuple):
    """One attempt as whoever ran it saw it."""

    key: Key
    attempt: int
    worker: int | None  # None: not told
    begun_at: datetime  # by the database's clock
    ended_at: datetime | None = None
    outcome: str | None = None  # None: broken off
    result: str | None = None  # as the row would show it
    retry_after: float = 0.0
    past_deadline: bool = False  # begun after the worker's own lease had run out by its own clock


class Operation(NamedTuple):
    """What a client asked for and what it heard."""

    kind: Literal[
        "create", "run", "pause", "resume", "edit", "cancel", "cancel_job", "backfill", "redrive", "callback"
    ]
    answer: Literal["ok", "refused", "unknown"]
    answered: int  # number of the last change that was made before the answer
    job: int | None = None
    execution: Key | None = None
    keys: tuple[str, ...] = ()  # of the jobs in a create
    idempotency_key: str | None = None
    attempt: int | None = None  # of a callback
    outcome: str | None = None  # likewise


class ToldEvent(NamedTuple):
    """Of an execution, as the stream has it."""

    kind: str
    key: Key


async def read_events(connection: asyncpg.Connection) -> list[ToldEvent]:
    """In the order of the stream; those without a number come last."""
    rows = await connection.fetch(_EVENTS)
    return [ToldEvent(row["kind"], Key(row["job_id"], row["scheduled_for"])) for row in rows]


class ObservedHistory:
    def __init__(
        self,
        changes: Sequence[Change],
        *,
        seen_attempts: Iterable[SeenAttempt],
        operations: Iterable[Operation],
        oracle: Oracle,
        ended_at: datetime,
        settled: bool = True,
        told_to_stop: Iterable[tuple[Key, int]] = (),
        calm_at: datetime | None = None,
        events: Iterable[ToldEvent] | None = None,
    ) -> None:
        """`settled`: faults were over for long enough that everything must have ended by `ended_at`. `calm_at`: they
        were over for long enough that every worker must have been told what to stop. `events`: None if they were not
        looked at."""
        self.events = None if events is None else list(events)
        self.seen_attempts = list(seen_attempts)
        self.operations = list(operations)
        self.oracle = oracle
        self.ended_at = ended_at
        self.settled = settled
        self.told_to_stop = set(told_to_stop)
        self.calm_at = calm_at
        self.transitions: list[Transition] = []
        self.attempts: dict[tuple[Key, int], AttemptRow] = {}
        self.workers: dict[int, list[WorkerState]] = defaultdict(list)
        self.jobs: dict[int, list[JobState]] = defaultdict(list)
        self.rules: dict[int, list[RuleMove]] = defaultdict(list)
        self.missed: list[Missed] = []
        self.deleted_jobs: set[int] = set()
        # The elements of fan-outs: number, job, due time.
        self.elements: dict[Key, set[tuple[int, int, datetime]]] = defaultdict(set)
        for change in changes:
            getattr(self, f"_see_{change.relation}")(change)
        self.executions: dict[Key, list[Transition]] = defaultdict(list)
        for transition in self.transitions:
            self.executions[transition.key].append(transition)

    def job_at(self, job: int, number: int) -> JobState:
        """The job as it stood when that change was made."""
        states = self.jobs[job]
        place = bisect_right(states, number, key=lambda state: state.number)
        return states[max(place - 1, 0)]

    def lease_at(self, worker: int, number: int) -> WorkerState | None:
        states = self.workers[worker]
        place = bisect_right(states, number, key=lambda state: state.number)
        return states[place - 1] if place else None

    def last(self, key: Key) -> State | None:
        return self.executions[key][-1].after

    def seen_attempt(self, key: Key, attempt: int) -> SeenAttempt | None:
        return self._first_efforts.get((key, attempt))

    @cached_property
    def _first_efforts(self) -> dict[tuple[Key, int], SeenAttempt]:
        return {(each.key, each.attempt): each for each in reversed(self.seen_attempts)}

    def _see_execution(self, change: Change) -> None:
        row = change.after or change.before or {}
        key = Key(row["job_id"], instant(row["scheduled_for"]))
        self.transitions.append(
            Transition(
                change.number,
                change.at,
                key,
                _state(change.before),
                _state(change.after),
                change.transaction,
            )
        )

    def _see_attempt(self, change: Change) -> None:
        if change.after:
            row = change.after
            key = Key(row["job_id"], instant(row["scheduled_for"]))
            self.attempts[key, row["attempt"]] = AttemptRow(
                change.number,
                change.at,
                row["outcome"],
                row["worker_id"],
                change.transaction,
                document(row["error"]).get("type") if row["error"] else None,
                instant(row.get("finished_at")),
            )

    def _see_worker(self, change: Change) -> None:
        if row := change.after:
            self.workers[row["id"]].append(
                WorkerState(
                    change.number, instant(row["lease_until"]), instant(row["ended_at"]), change.transaction
                )
            )

    def _see_job(self, change: Change) -> None:
        if change.after is None:
            self.deleted_jobs.add(change.before["id"])
            return
        row = change.after
        if row["element_of"] is not None:
            fan_out = Key(row["element_of"], instant(row["element_at"]))
            self.elements[fan_out].add((row["element_number"], row["id"], instant(row["scheduled_for"])))
        self.jobs[row["id"]].append(
            JobState(
                change.number,
                change.at,
                row["status"],
                row["rule_id"],
                instant(row["scheduled_for"]),
                instant(row["active_from"]),
                row["deferred"],
                row["overlap"],
                {**document(row["definition"]), "key": row["key"]},
            )
        )

    def _see_rule(self, change: Change) -> None:
        rule = (change.after or change.before)["id"]
        self.rules[rule].append(RuleMove(change.number, change.at, rule, change.before, change.after))

    def _see_round(self, change: Change) -> None:
        if change.after and change.after["missed"]:
            row = change.after
            self.missed.append(
                Missed(
                    change.number,
                    change.at,
                    row["rule_id"],
                    instant(row["scheduled_for"]),
                    instant(row["missed_until"]),
                )
            )

    def _see_backfill(self, change: Change) -> None:
        """Its executions tell of it themselves."""


def _state(row: Row | None) -> State | None:
    if row is None:
        return None
    return State(
        row["status"],
        row["attempt"],
        row["worker_id"],
        instant(row["ready_at"]),
        row["failures"],
        row["losses"],
        row["trigger"],
        instant(row["blocked_by"]),
        row["reason"],
        row["result"],
    )


def _status(state: State | None) -> str | None:
    return state.status if state else None


def _told(state: State | None) -> str:
    if state is None:
        return "nothing"
    holder = f" w{state.worker}" if state.worker is not None else ""
    counts = f" failures {state.failures}" * bool(state.failures) + f" losses {state.losses}" * bool(
        state.losses
    )
    waits = f" until {state.ready_at:%H:%M:%S.%f}" if state.ready_at and state.ready_at.year < 9999 else ""
    return (
        f"{state.status} {state.attempt}{holder}{counts}{waits}{f' ({state.reason})' if state.reason else ''}"
    )
