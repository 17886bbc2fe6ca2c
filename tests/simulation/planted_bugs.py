"""Bugs to plant, one at a time: each is a small change that a tired person might make."""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from math import inf
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from tickwork.define.run_now_and_backfills import Runs
from tickwork.dispatch import connected_worker as member
from tickwork.dispatch.limits import LockedLimits
from tickwork.execute.lease_expiry import Lease
from tickwork.model import transition_after_attempt as lifecycle
from tickwork.model.public_ids import execution_id
from tickwork.model.retry_policy import RetryPolicy
from tickwork.model.worker_protocol import Run
from tickwork.record.http_target_callbacks import Callbacks
from tickwork.record.rest_and_callback_reports import End, reported
from tickwork.store.query_files import queries
from tickwork.trigger import catch_up

_MANY = 1000

Plant = Callable[[pytest.MonkeyPatch], None]


class Bug(NamedTuple):
    name: str
    invariant: str  # that must be reported as broken
    plant: Plant
    schema: str = ""  # what is done to the tables
    seed: int = 0  # of a history that shows it, to be played first: `pytest -rP` tells which does


def _in_query(file: str, query: str, old: str, new: str) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        text = queries(file)[query]
        assert old in text, f"{query} no longer says {old!r}"
        patch.setitem(queries(file), query, text.replace(old, new))

    return plant


def _all_of(*plants: Plant) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        for each in plants:
            each(patch)

    return plant


def _in_code(owner: Any, name: str, changed: Any) -> Plant:
    return lambda patch: patch.setattr(owner, name, changed)


def _again_under_the_same_number(patch: pytest.MonkeyPatch) -> None:
    again = lifecycle._pending_again
    patch.setattr(
        lifecycle,
        "_pending_again",
        lambda held, *args, **kwargs: again(held, *args, **kwargs)._replace(attempt=held.attempt),
    )


def _returned_as_failure(held: lifecycle.LockedExecution) -> lifecycle.Transition:
    return lifecycle._pending_again(held, max(held.now, held.key.scheduled_for), failures=held.failures + 1)


async def _answered_before_written(runs: Runs, tenant_id: int, job: int, overlap: str = "allow") -> Any:
    return SimpleNamespace(id=execution_id(job, await runs._read.now()))


async def _answered_before_recorded(
    callbacks: Callbacks, job: int, scheduled_for: datetime, attempt: int, end: End
) -> Any:
    key, _ = await callbacks._store.state(job, scheduled_for, attempt)
    return reported(key, attempt, end.kind)


def _never_over(lease: Lease, token: str, *, sent: float, seconds: float) -> None:
    lease.token, lease._seconds, lease.deadline = token, seconds, inf


def _no_gate_is_an_open_gate(patch: pytest.MonkeyPatch) -> None:
    begin = LockedLimits.__init__

    def believe_in_all(limits: LockedLimits, *lanes_and_limiters: Any) -> None:
        begin(limits, *lanes_and_limiters)
        limits._lane_limits = defaultdict(list, limits._lane_limits)

    patch.setattr(LockedLimits, "__init__", believe_in_all)
    patch.setattr(
        LockedLimits,
        "capacity",
        lambda limits, lane: min(map(limits._capacity, limits._lane_limits[lane.id]), default=_MANY),
    )


BUGS = [
    Bug(
        "the cursor moves, but some executions are not written",
        "I1",
        _in_query(
            "trigger",
            "insert_executions",
            "worker_id, blocked_by, reason, followed, attempt)",
            "worker_id, blocked_by, reason, followed, attempt) WHERE job_id % 2 = 0",
        ),
    ),
    Bug(
        "every due time is written twice",
        "I2",
        _in_query(
            "trigger",
            "insert_executions",
            "worker_id, blocked_by, reason, followed, attempt)",
            "worker_id, blocked_by, reason, followed, attempt), generate_series(1, 2)",
        ),
        schema="ALTER TABLE tickwork.execution DROP CONSTRAINT execution_pkey",
    ),
    Bug(
        "paused jobs are fired",
        "I3",
        _in_query("trigger", "pick_jobs", "status = 'active'", "status <> 'cancelled'"),
        seed=21,
    ),
    Bug(
        "work starts when it arrives, not when it is due",
        "I4",
        _in_code(member, "Run", lambda *fields: Run(*fields[:7], 0, *fields[8:])),  # type: ignore[call-arg]
        seed=54,
    ),
    Bug(
        "a round starts from the beginning with every chunk",
        "I5",
        _in_query(
            "trigger",
            "advance_rules",
            "cursor_priority = a.cursor_priority, cursor_job = a.cursor_job",
            "cursor_priority = NULL, cursor_job = NULL",
        ),
    ),
    Bug(
        "missed due times never run, whatever the policy",
        "I6",
        _in_code(
            catch_up, "first_to_run", lambda rule, timing, _: timing.next_after(rule.now - catch_up.GRACE)
        ),
    ),
    Bug(
        "a run is answered before it is written",
        "I7",
        _in_code(Runs, "run", _answered_before_written),
        seed=1,
    ),
    Bug(
        "the response for an Idempotency-Key is not found again",
        "I8",
        _all_of(
            _in_query("idempotency", "find_answer", "WHERE", "WHERE false AND"),
            _in_query("idempotency", "keep_answer", "$6)", "$6) ON CONFLICT DO NOTHING"),
        ),
        seed=29,
    ),
    Bug(
        "queued executions are never released",
        "I9",
        _in_query("trigger", "release_queued", "WHERE q.blocked_by", "WHERE false AND q.blocked_by"),
    ),
    Bug(
        "the outcome of a cancelled execution is accepted",
        "I10",
        _in_query("outcome", "complete", "AND e.status = 'running'", ""),
        seed=14,
    ),
    Bug(
        "a late failure overwrites the end",
        "I10",
        _in_query("outcome", "lock_running", "AND e.status = 'running'", ""),
        seed=4,
    ),
    Bug(
        "work is taken from workers with a valid lease",
        "I11",
        _in_query(
            "dispatch", "take_dead_workers", "tickwork.clock()", "tickwork.clock() + interval '10 seconds'"
        ),
        seed=1,
    ),
    Bug("another attempt has the same number", "I12", _again_under_the_same_number),
    Bug(
        "work is handed over that was never written",
        "I13",
        _in_query(
            "trigger",
            "insert_executions",
            "worker_id, blocked_by, reason, followed, attempt)",
            "worker_id, blocked_by, reason, followed, attempt) WHERE worker_id IS NULL",
        ),
    ),
    Bug("a worker never gives up its lease", "I14", _in_code(Lease, "grant", _never_over), seed=6),
    Bug(
        "an attempt that a draining worker returns counts as a failure",
        "I15",
        _in_code(lifecycle, "after_return", _returned_as_failure),
    ),
    Bug(
        "an execution that kills workers is never quarantined",
        "I15",
        _in_code(lifecycle, "MAX_LOSSES", 1000),
        seed=126,
    ),
    Bug("retries do not wait", "I16", _in_code(RetryPolicy, "delay", lambda *_, **__: timedelta(0)), seed=1),
    Bug(
        "the overlap policy is ignored",
        "I17",
        _in_query("find_overlap_blockers", "blockers", ") found", ") found WHERE false"),
    ),
    Bug(
        "queued executions are released at once",
        "I17",
        _in_query("trigger", "insert_executions", "CASE WHEN blocked_by IS NULL THEN", "CASE WHEN true THEN"),
    ),
    Bug(
        "a pause does not reach waiting executions",
        "I18",
        _in_query("add_move_and_stop_unstarted_executions", "pause_waiting", "WHERE", "WHERE false AND"),
        seed=4,
    ),
    Bug(
        "an execution that returns to a paused job does not wait",
        "I18",
        _in_query("outcome", "settle", "j.status = 'paused'", "false"),
        seed=12,
    ),
    Bug(
        "running executions are not counted under a limit",
        "I19",
        _in_query(
            "lease_under_limits", "running_by_limiter", "WHERE s.limiter_id", "WHERE false AND s.limiter_id"
        ),
    ),
    Bug("work of a lane whose limits were not read is handed over", "I19", _no_gate_is_an_open_gate, seed=11),
    Bug(
        "a failure is lost on its way to the stream",
        "I20",
        _in_query("event", "number_events", "FROM taken", "FROM taken WHERE kind <> 'execution.failed'"),
        seed=1,
    ),
    Bug(
        "a job runs as soon as one of its parents has ended",
        "I21",
        lambda _: None,
        schema="""CREATE OR REPLACE FUNCTION tickwork.awaits_parents(job bigint, at timestamptz) RETURNS boolean
                  LANGUAGE sql STABLE AS 'SELECT false'""",
        seed=7,
    ),
    Bug(
        "a fan-out does not wait for its elements",
        "I21",
        _in_query(
            "fan_out", "await_elements", "SET ready_at = 'infinity'", "SET ready_at = tickwork.clock()"
        ),
        seed=7,
    ),
    Bug(
        "a node never ends what takes too long",
        "I22",
        _in_query("time_limit", "check_leases", "limit_at <= now AND (", "false AND ("),
        seed=11,
    ),
    Bug(
        "the report of an HTTP target is answered before it is recorded",
        "I23",
        _in_code(Callbacks, "_end", _answered_before_recorded),
        seed=1,
    ),
]
