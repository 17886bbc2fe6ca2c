"""Rows of pings and of their runs as users see them."""

from collections.abc import Sequence

import asyncpg
import msgspec

from tickwork.model.job_health import summarize
from tickwork.model.ping import (
    PingOutcome,
    PingRequest,
    PingRunSummary,
    PingRunView,
    PingStatistics,
    PingStatus,
    PingView,
)
from tickwork.schedule.compile_timing import timing_from_text


def ping_view(row: asyncpg.Record, recent_runs: list[PingRunSummary]) -> PingView:
    request = msgspec.json.decode(row["definition"], type=PingRequest)
    timing = timing_from_text(row["timing"])
    expected_at = row["expected_at"]
    return PingView(
        name=row["name"],
        status=PingStatus(row["status"]),
        schedule=timing.canonical,
        schedule_words=timing.words,
        grace=row["grace"].total_seconds(),
        description=request.description,
        notify=request.notify,
        expected_at=expected_at,
        missing_at=expected_at + row["grace"] if expected_at else None,
        started_at=row["started_at"],
        log=None,
        last_heard_at=row["last_heard_at"],
        last_success_at=row["last_success_at"],
        failing_since=row["failing_since"],
        failures_in_a_row=row["failures_in_a_row"],
        recent_runs=recent_runs,
        statistics=None,
        url=None,
        token_begins=row["token_begins"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def run_summary(row: asyncpg.Record) -> PingRunSummary:
    return PingRunSummary(
        number=row["number"],
        outcome=PingOutcome(row["outcome"]),
        ended_at=row["ended_at"],
        run_time=row["run_time"],
    )


def ping_run_view(row: asyncpg.Record) -> PingRunView:
    return PingRunView(**{**row, "outcome": PingOutcome(row["outcome"])})


def statistics_of(runs: Sequence[asyncpg.Record]) -> PingStatistics:
    """Of the latest runs. A run that was missing took no time."""
    came = [run for run in runs if run["outcome"] != PingOutcome.MISSING]
    run_times = summarize([run["run_time"] for run in came if run["run_time"] is not None])
    delays = summarize([run["delay"] for run in came if run["delay"] is not None])
    succeeded = sum(run["outcome"] == PingOutcome.SUCCESS for run in runs)
    return PingStatistics(
        runs=len(runs),
        success_share=succeeded / len(runs) if runs else None,
        typical_run_time=run_times.typical,
        p95_run_time=run_times.p95,
        typical_delay=delays.typical,
        p95_delay=delays.p95,
    )
