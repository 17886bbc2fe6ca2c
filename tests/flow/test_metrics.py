"""What a node counts and measures about executions, rules, workers and keys, step by step."""

from datetime import timedelta

import asyncpg
import msgspec
import pytest

from support.metric_samples import Gained, sample
from support.node_steps import later, run_due
from tickwork.model.access import Scope
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import from_micros, parse_job_id
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
MINUTE = timedelta(minutes=1)


async def test_every_attempt_is_in_the_histograms_of_start_delay_and_run_time(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    gained = Gained()
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")] * 5)
    await later(clock, worker, MINUTE)
    await run_due(still_node)
    for run in await worker.runs():
        await worker.complete(run)
    assert gained("tickwork_start_delay_seconds_count") == 5
    assert gained("tickwork_start_delay_seconds_bucket", le="1.0") == 5
    assert gained("tickwork_run_time_seconds_count") == 5
    assert gained("tickwork_executions_ended_total", status="completed") == 5


async def test_start_delay_counts_from_when_the_execution_was_allowed_to_start(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    """A retry waits for its delay, which is not late."""
    gained = Gained()
    retry = {"max_attempts": 2, "initial": "10m", "jitter": 0}
    await still_node.jobs.create(TENANT, [msgspec.convert({"task": "work", "retry": retry}, JobRequest)])
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.fail(run, Failure("ValueError", "no"))
    assert gained("tickwork_retries_total", cause="failed") == 1
    await later(clock, worker, timedelta(minutes=10))
    await run_due(still_node)
    (again,) = await worker.runs()
    await worker.fail(again, Failure("ValueError", "no"))
    assert gained("tickwork_start_delay_seconds_count") == 2
    assert gained("tickwork_start_delay_seconds_bucket", le="1.0") == 2
    assert gained("tickwork_executions_ended_total", status="failed") == 1
    await still_node.metrics.measure()
    assert sample("tickwork_dead_letters_kept") == 1


async def test_what_is_skipped_or_cancelled_counts_as_ended(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    gained = Gained()
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    for _ in range(3):
        await later(clock, worker, MINUTE)
        await run_due(still_node)
    (run,) = await worker.runs()
    await still_node.history.cancel(TENANT, run.job, from_micros(run.at))
    await still_node.step("number events")
    assert gained("tickwork_executions_ended_total", status="skipped") == 2
    assert gained("tickwork_executions_ended_total", status="cancelled") == 1


async def test_what_is_cancelled_with_its_job_or_by_its_code_counts_as_cancelled_once(
    still_node: Node, worker: ScriptedWorker
) -> None:
    gained = Gained()
    first, _ = await still_node.jobs.create(TENANT, [JobRequest(task="work")] * 2)
    await run_due(still_node)
    by_job = {run.job: run for run in await worker.runs()}
    cancelled = by_job.pop(parse_job_id(first.id))
    await still_node.jobs.cancel(TENANT, cancelled.job)
    await worker.report(cancelled, AttemptOutcome.CANCELLED)
    for run in by_job.values():
        await worker.report(run, AttemptOutcome.CANCELLED)
    while await still_node.step("number events"):
        pass
    await still_node.step("number events")
    assert gained("tickwork_executions_ended_total", status="cancelled") == 2


async def test_firing_lag_is_how_late_the_oldest_due_rule_is(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(
        TENANT, [JobRequest(task="work", schedule="every 1m"), JobRequest(task="work", schedule="every 1h")]
    )
    await still_node.metrics.measure()
    assert sample("tickwork_fire_lag_seconds") == 0
    await later(clock, worker, timedelta(seconds=61.5))
    still_node.metrics._measure_from = 0  # as ten seconds later
    await still_node.metrics.measure()
    assert sample("tickwork_fire_lag_seconds") == 1.5


async def test_event_lag_is_how_long_the_oldest_event_has_not_been_in_the_stream(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1h")])
    while await still_node.step("number events"):
        pass
    await still_node.metrics.measure()
    assert sample("tickwork_event_lag_seconds") == 0
    await still_node.jobs.pause(TENANT, 1)
    await later(clock, worker, MINUTE)
    still_node.metrics._measure_from = 0
    await still_node.metrics.measure()
    assert sample("tickwork_event_lag_seconds") == 60


async def test_a_lost_worker_is_counted_and_what_it_had_is_a_retry(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0)
    await still_node.metrics.measure()
    assert sample("tickwork_workers_alive") == 1
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await run_due(still_node)
    assert (sample("tickwork_slots"), sample("tickwork_slots_used")) == (1000, 1)
    gained = Gained()
    await clock.advance(MINUTE)
    await still_node.step("rescue")
    assert gained("tickwork_workers_lost_total") == 1
    assert gained("tickwork_retries_total", cause="lost") == 1
    still_node.metrics._measure_from = 0
    await still_node.metrics.measure()
    assert sample("tickwork_workers_alive") == 0


async def test_heartbeats_are_counted_by_what_became_of_the_lease(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0)
    gained = Gained()
    await worker.beat()
    assert gained("tickwork_lease_renewals_total", result="renewed") == 1
    await clock.advance(MINUTE)
    await still_node.step("rescue")
    await worker.beat()
    assert gained("tickwork_lease_renewals_total", result="expired") == 1


async def test_the_next_expiry_of_a_key_in_use_is_measured(
    still_node: Node, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await still_node.metrics.measure()
    assert sample("tickwork_key_expiry_seconds") == float("inf")
    operator = await still_node.keys.operator()
    now = await connection.fetchval("SELECT tickwork.clock()")
    for name, days in (("unused", 1), ("used", 2)):
        await still_node.keys.create(operator, name, [Scope.READ], expires_at=now + timedelta(days))
    await connection.execute(
        "UPDATE tickwork.api_key SET last_used_at = tickwork.clock() WHERE name = 'used'"
    )
    still_node.metrics._measure_from = 0
    await still_node.metrics.measure()
    assert sample("tickwork_key_expiry_seconds") == 2 * 86_400


async def test_pools_partitions_and_the_state_of_the_database_are_measured(still_node: Node) -> None:
    limits = {
        pool: sample("tickwork_database_connections_limit", pool=pool)
        for pool in ("work", "vital", "recovery")
    }
    assert limits == {"work": 8, "vital": 3, "recovery": 2}
    assert sample("tickwork_database_connections", pool="work") >= 1
    assert sample("tickwork_database_connections_used", pool="work") == 0
    assert sample("tickwork_database_usable") == 1
    assert 6 < sample("tickwork_partitions_ahead_seconds") / 86_400 <= 8
