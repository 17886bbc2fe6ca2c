"""Every SQL statement that gives an execution its status, with the transitions it makes and the guard that makes them
legal. A new statement does not pass unnoticed: it has to be added here and to the module that describes the lifecycle.
"""

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

import pytest

from tickwork.model import transition_after_attempt
from tickwork.model.execution import ExecutionStatus
from tickwork.store.query_files import queries

NEW = "(new)"
LEGAL = {
    NEW: {"pending", "running", "skipped"},
    "pending": {"pending", "running", "completed", "failed", "cancelled", "skipped"},
    "running": {"pending", "completed", "failed", "cancelled", "skipped"},
    "completed": set(),
    "failed": {"pending"},
    "cancelled": {"pending"},
    "skipped": {"pending", "skipped"},
}


class Writes(NamedTuple):
    before: str  # the statuses in which it finds the execution
    after: str
    guard: str = "INSERT INTO tickwork.execution"  # the SQL that lets it touch no other
    guarded_in: str | None = None  # the statement of the same transaction that has the guard, and locks


UNENDED = "finished_at IS NULL"
BEGUN_AGAIN = "status = 'skipped' AND e.reason IN ('paused', 'rescheduled')"
STATEMENTS = {
    # Made by a rule, by a job that is due once, by run now, by a backfill, or together with what it depends on.
    "trigger.insert_executions": [Writes(NEW, "pending running skipped")],
    "trigger.insert_executions_carefully": [
        Writes(NEW, "pending skipped"),
        Writes("skipped", "pending skipped", BEGUN_AGAIN),
    ],
    "trigger.promote_deferred_jobs": [Writes(NEW, "pending")],
    "create_and_change_job.insert_first_executions": [Writes(NEW, "pending")],
    "add_move_and_stop_unstarted_executions.insert_execution": [Writes(NEW, "pending")],
    "add_move_and_stop_unstarted_executions.skip_due_time": [Writes(NEW, "skipped")],
    "backfill.insert_backfilled": [
        Writes(NEW, "pending"),
        Writes("failed skipped", "pending", "e.status IN ('failed', 'skipped')"),
    ],
    "make_round()": [
        Writes(NEW, "pending"),
        Writes("skipped", "pending", "e.status = 'skipped' AND e.reason LIKE 'parent %'"),
    ],
    # Handed over, and what came of the attempt.
    "dispatch.claim": [Writes("pending", "running", "e.status = 'pending'")],
    "outcome.complete": [Writes("running", "completed", "e.attempt = o.attempt AND e.status = 'running'")],
    "outcome.settle": [
        Writes(
            "running",
            "pending failed cancelled",
            "e.status = 'running'",
            guarded_in="outcome.lock_running",
        )
    ],
    # Ended from outside.
    "dispatch.fail_execution": [Writes("pending running", "failed", UNENDED)],
    "outcome.cancel_execution": [Writes("pending running", "cancelled", UNENDED)],
    "find_overlap_blockers.cancel_blockers": [Writes("pending running", "cancelled", UNENDED)],
    "fan_out.cancel_elements": [Writes("pending running", "cancelled", UNENDED)],
    "add_move_and_stop_unstarted_executions.stop_running": [
        Writes("running", "cancelled", "e.status = 'running'")
    ],
    "add_move_and_stop_unstarted_executions.stop_ahead": [
        Writes("pending running", "skipped cancelled", UNENDED)
    ],
    "purge_tenant.stop_running_of_tenant": [Writes("running", "cancelled", "e.status = 'running'")],
    "add_move_and_stop_unstarted_executions.cancel_waiting": [
        Writes("pending", "cancelled", "isfinite(e.ready_at) IS NOT NULL")
    ],
    "backfill.cancel_backfilled": [Writes("pending", "cancelled", "e.status = 'pending'")],
    "partitions_and_retention.give_up_rounds": [Writes("pending", "skipped", "e.status = 'pending'")],
    "trigger.give_up_unstarted": [Writes("pending", "skipped", "e.status = 'pending'")],
    "write_dependencies.skip_decided": [Writes("pending", "skipped", "e.status = 'pending'")],
    "count_ended()": [
        Writes("pending", "pending skipped", "e.ready_at IS NOT DISTINCT FROM 'infinity'"),
    ],
    # A job that runs for each element of a list, which has no attempt of its own.
    "fan_out.complete_fan_out": [Writes("pending", "completed", "status = 'pending'")],
    "fan_out.fail_fan_out": [Writes("pending", "failed", "status = 'pending'")],
    "unchecked_payload.fail_mismatch": [Writes("pending", "failed", "status = 'pending'")],
    "fan_out.skip_fan_out": [Writes("pending", "skipped", "status = 'pending'")],
    # Made to wait again.
    "add_move_and_stop_unstarted_executions.take_back": [
        Writes("running", "pending", "FROM on_its_way WHERE status = 'running'")
    ],
    "add_move_and_stop_unstarted_executions.revive_execution": [
        Writes("skipped cancelled", "pending", "status IN ('skipped', 'cancelled') AND reason IN")
    ],
    "dead_letter.revive_ended": [
        Writes("failed cancelled", "pending", "e.status IN ('failed', 'cancelled')")
    ],
}

_INSERTS = re.compile(r"INSERT INTO tickwork\.execution\b")
_UPDATES = re.compile(
    r"UPDATE tickwork\.execution\b(?: \w+)?\s+SET\s(?P<set>.*?)(?:\bFROM\b|\bWHERE\b|\Z)", re.DOTALL
)
_UPSERTS = re.compile(r"DO UPDATE\s+SET\s(?P<set>.*?)(?:\bWHERE\b|\Z)", re.DOTALL)
_STATUS = re.compile(r"(?<![\w.])status = ")
_DESCRIBED = re.compile(r"^    (?P<before>\S.*) → (?P<after>.*?)  +(?P<name>\S+)$", re.MULTILINE)
_FUNCTION = re.compile(r"CREATE FUNCTION tickwork\.(\w+)\(.*?AS (\$\$.*?\$\$|'.*?');", re.DOTALL)


def _all_sql() -> Iterator[tuple[str, str]]:
    """The queries and the functions of the schema, by name."""
    store = files("tickwork.store")
    for file in (store / "queries").iterdir():
        stem, _, kind = file.name.partition(".")
        for name, sql in queries(stem).items() if kind == "sql" else ():
            yield f"{stem}.{name}", sql
    schema = (store / "schema.sql").read_text("utf-8")
    for name, body in _FUNCTION.findall(schema):
        yield f"{name}()", body


def _gives_status(sql: str) -> bool:
    changes = (each["set"] for each in _UPDATES.finditer(sql))
    return bool(_INSERTS.search(sql)) or any(map(_STATUS.search, changes))


SQL = dict(_all_sql())
EACH = [pytest.param(name, each, id=name) for name, several in STATEMENTS.items() for each in several]


def test_no_other_statement_gives_an_execution_its_status() -> None:
    assert {name for name, sql in SQL.items() if _gives_status(sql)} == set(STATEMENTS)


def test_a_statement_that_changes_what_is_there_says_so() -> None:
    changing = {name for name in STATEMENTS if _UPDATES.search(SQL[name]) or _UPSERTS.search(SQL[name])}
    assert changing == {name for name, several in STATEMENTS.items() if any(w.before != NEW for w in several)}


@pytest.mark.parametrize(("name", "writes"), EACH)
def test_it_is_guarded(name: str, writes: Writes) -> None:
    sql = SQL[writes.guarded_in or name]
    assert writes.guard in sql
    assert writes.guarded_in is None or "FOR UPDATE" in sql


@pytest.mark.parametrize(("name", "writes"), EACH)
def test_it_sets_the_statuses_that_it_says(name: str, writes: Writes) -> None:
    is_given = any(each in SQL[name] for each in ("status = $", "status = v.status"))
    assert is_given or all(
        f"'{after}'" in SQL[name] for after in writes.after.split() if after != writes.before
    )


@pytest.mark.parametrize(("name", "writes"), EACH)
def test_its_transitions_are_legal(name: str, writes: Writes) -> None:
    for before in writes.before.split():
        assert set(writes.after.split()) <= LEGAL[before]


def test_every_legal_transition_is_made_by_a_statement() -> None:
    made = {
        (before, after)
        for several in STATEMENTS.values()
        for writes in several
        for before in writes.before.split()
        for after in writes.after.split()
    }
    assert made == {(before, after) for before, afters in LEGAL.items() for after in afters}
    assert set(LEGAL) - {NEW} == set(ExecutionStatus)


def test_the_module_describes_every_statement() -> None:
    described = {
        (row["name"], frozenset(_words(row["before"])), frozenset(_words(row["after"])))
        for row in _DESCRIBED.finditer(transition_after_attempt.__doc__ or "")
    }
    assert described == {
        (name, frozenset(writes.before.split()), frozenset(writes.after.split()))
        for name, several in STATEMENTS.items()
        for writes in several
    }


def _words(listed: str) -> list[str]:
    return listed.split(", ")
