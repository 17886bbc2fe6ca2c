"""Holds what was observed in a chaos run against every promise, and against what no table shows."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import accumulate, groupby, pairwise
from typing import Any, Protocol

import asyncpg

from support.attempt_ledger import Run
from support.change_log import Change, read_changes
from support.chaos_cluster import Death
from support.client_traffic import Asked, Traffic
from support.cluster import Cluster, Program
from support.invariant import violations
from support.job_load import due_between
from support.kept_steps import steps_run_again
from support.observed_history import Key, ObservedHistory, Operation, SeenAttempt, read_events
from tickwork.model.public_ids import from_micros, parse_execution_id, parse_job_id

_MOST_MEMORY = 400 * 1024 * 1024
_UNTOLD = (
    "http",
    "http later",
    "dying",
    "command",
)  # who calls them may know that they failed when they themselves do not
_UNFORESEEN = ('"step failed"', '"request failed"', "worker connection failed")
_COMMITTED = "SELECT number, pg_xact_commit_timestamp(transaction::xid) AS at FROM tickwork.observed"
_A_SERVER_FAILED = 500
_STALE = "\\x" + b'"stale"'.hex()


class Installation(Protocol):
    """What is checked."""

    cluster: Cluster
    largest: dict[str, int]
    deaths: list[Death]

    @property
    def surprises(self) -> list[Death]: ...

    @property
    def programs(self) -> list[Program]: ...


class ChaosCheck:
    """All that is held against the promises, once it is quiet."""

    def __init__(
        self, chaos: Installation, traffic: Traffic, changes: list[Change], observed: ObservedHistory
    ) -> None:
        self._chaos = chaos
        self._traffic = traffic
        self.observed = observed
        self.changes = changes

    @classmethod
    async def prepare(
        cls, chaos: Installation, traffic: Traffic, connection: asyncpg.Connection
    ) -> "ChaosCheck":
        async with connection.transaction(
            isolation="repeatable_read", readonly=True
        ):  # workers go on beating
            changes, events = await _in_order_of_commit(connection), await read_events(connection)
            now = await connection.fetchval("SELECT tickwork.clock()")
        runs = chaos.cluster.ledger.runs()
        observed = ObservedHistory(
            changes, seen_attempts=[_seen_attempt(run) for run in runs], operations=_operations(traffic.asked, changes),
            oracle=due_between, ended_at=now, events=events,
        )  # fmt: skip
        observed.seen_attempts = list(_completed_by_callers(observed, runs))
        observed.told_to_stop = set(_never_begun(observed))
        return cls(chaos, traffic, changes, observed)

    def findings(self) -> list[str]:
        return [
            *map(str, violations(self.observed)),
            *_overlaps(self.observed),
            *_stale_results(self.observed),
            *self._bad_answers(),
            *(
                f"{death.program} ended by itself with {death.exit_code}: {death.last_words}"
                for death in self._chaos.surprises
            ),
            *steps_run_again(self._chaos.cluster.ledger),
            *self._too_large(),
            *self._unforeseen(),
        ]

    def figures(self) -> dict[str, Any]:
        """How much was looked at, and what it took."""
        observed = self.observed
        return {
            "executions": len(observed.executions),
            "changes": len(observed.transitions),
            "attempts_begun": len(observed.seen_attempts),
            "statuses": Counter(state.status for key in observed.executions if (state := observed.last(key))),
            "outcomes_of_other_attempts": Counter(row.outcome for row in observed.attempts.values()),
            "requests": len(self._traffic.asked),
            "requests_repeated": sum(asked.sent > 1 for asked in self._traffic.asked),
            "processes_started_again": len(self._chaos.deaths),
            "largest_megabytes": {name: size // 1_000_000 for name, size in self._chaos.largest.items()},
        }

    def _bad_answers(self) -> Iterator[str]:
        for asked in self._traffic.asked:
            if asked.answer == "unknown":
                yield f"nobody answered {asked}"
            elif asked.status and asked.status >= _A_SERVER_FAILED:
                yield f"a server failed: {asked}"

    def _too_large(self) -> Iterator[str]:
        for program, size in self._chaos.largest.items():
            if size > _MOST_MEMORY:
                yield f"{program} took {size / 1e6:.0f} MB of memory"

    def _unforeseen(self) -> Iterator[str]:
        for program in self._chaos.programs:
            for line in program.log.splitlines():
                if any(words in line for words in _UNFORESEEN):
                    yield f"{program.name} did not foresee: {line}"


async def _in_order_of_commit(connection: asyncpg.Connection) -> list[Change]:
    """What happened before what is decided by commits: until then, a change is only a plan."""
    committed = {row["number"]: row["at"] for row in await connection.fetch(_COMMITTED)}
    changes = sorted(await read_changes(connection), key=lambda each: (committed[each.number], each.number))
    return [change._replace(number=number) for number, change in enumerate(changes, 1)]


def _seen_attempt(run: Run) -> SeenAttempt:
    over_at = run.ended_at or run.stopped_at
    return SeenAttempt(
        Key(*parse_execution_id(run.attempt.execution)), run.attempt.attempt, None, from_micros(run.begun_at),
        from_micros(over_at) if over_at else None, run.outcome,
    )  # fmt: skip


def _completed_by_callers(observed: ObservedHistory, runs: Sequence[Run]) -> Iterator[SeenAttempt]:
    """An attempt that failed by what its caller saw (no connection, a dead child) has that for an outcome."""
    told = set()
    for seen, run in zip(observed.seen_attempts, runs, strict=True):
        row = observed.attempts.get((seen.key, seen.attempt))
        told.add((seen.key, seen.attempt))
        if run.task in _UNTOLD and row is not None and row.outcome == "failed":
            yield seen._replace(outcome="failed", ended_at=seen.ended_at or seen.begun_at)
        else:
            yield seen
    for (key, attempt), row in observed.attempts.items():
        task = observed.jobs[key.job][-1].request.get("task")
        if (key, attempt) not in told and row.outcome == "failed" and task in (None, *_UNTOLD):
            yield SeenAttempt(key, attempt, None, row.at, _handed_out_at(observed, key, attempt), "failed")


def _never_begun(observed: ObservedHistory) -> Iterator[tuple[Key, int]]:
    """Of these there was nothing to stop."""
    for each in observed.transitions:
        if each.claims and each.after and not observed.seen_attempt(each.key, each.after.attempt):
            yield each.key, each.after.attempt


def _handed_out_at(observed: ObservedHistory, key: Key, attempt: int) -> datetime:
    """The earliest that it can have ended."""
    claims = (each for each in observed.executions[key] if each.claims)
    return next(each.at for each in claims if each.after and each.after.attempt == attempt)


def _operations(asked: Sequence[Asked], changes: Sequence[Change]) -> Iterator[Operation]:
    times = list(accumulate((change.at for change in changes), max))
    for each in asked:
        place = bisect_right(times, each.answered_at or datetime.max.replace(tzinfo=each.asked_at.tzinfo))
        answered = changes[place - 1].number if place else 0
        yield Operation(
            each.kind, each.answer, answered, idempotency_key=each.idempotency_key, **_about(each)
        )


def _about(asked: Asked) -> dict[str, Any]:
    match asked.kind:
        case "create":
            return {
                "keys": tuple(asked.subject.split(",")),
                "job": parse_job_id(asked.made) if asked.made else None,
            }
        case "cancel":
            return {"execution": Key(*parse_execution_id(asked.subject))}
        case "run":
            execution = Key(*parse_execution_id(asked.made)) if asked.made else None
            return {"job": parse_job_id(asked.subject), "execution": execution}
        case _:
            return {"job": parse_job_id(asked.subject)}


def _stale_results(observed: ObservedHistory) -> Iterator[str]:
    """A target reports on attempts that were taken from it, too. Nobody may believe it."""
    for key in observed.executions:
        state = observed.last(key)
        if state and state.result == _STALE:
            yield f"{key} ended by the report of an earlier attempt"


def _overlaps(observed: ObservedHistory) -> Iterator[str]:
    """Two attempts at once, although the first was not lost; that a lease had run out by then is I11."""
    seen_attempts = sorted(observed.seen_attempts, key=lambda each: (each.key, each.attempt))
    for key, group in groupby(seen_attempts, key=lambda each: each.key):
        for first, second in pairwise(group):
            row = observed.attempts.get((key, first.attempt))
            over = first.ended_at and first.ended_at <= second.begun_at
            if not over and (row is None or row.outcome != "lost") and first.outcome != "failed":
                yield f"{key}: attempt {second.attempt} began while attempt {first.attempt} ran"
