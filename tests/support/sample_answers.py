"""Answers as a server would give them."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from tickwork.model.access import KeyView, Scope
from tickwork.model.backfill import BackfillStatus, BackfillView
from tickwork.model.catch_up_policy import CatchUpView
from tickwork.model.channel import ChannelDeliveries, ChannelView, QuietHours, SmtpServerView
from tickwork.model.circuit_breaker import BreakerState, BreakerView
from tickwork.model.cluster import ClusterView, DatabaseView, NodeView
from tickwork.model.execution import ExecutionStatus, ExecutionView, Trigger
from tickwork.model.job import JobStatus, JobView
from tickwork.model.notification_message import Severity
from tickwork.model.past_attempt_input import ExecutionInput
from tickwork.model.ping import (
    PingNotify,
    PingOutcome,
    PingRunSummary,
    PingRunView,
    PingStatistics,
    PingStatus,
    PingView,
)
from tickwork.model.queue import QueueView
from tickwork.model.retry_policy import RetryPolicy
from tickwork.model.worker import WorkerView

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)

JOB = JobView(
    id="j5",
    name="weekly report",
    key=None,
    status=JobStatus.ACTIVE,
    task="report",
    http=None,
    payload={"to": "a@b.c"},
    schedule={"cron": "0 9 * * 1", "timezone": "UTC"},
    schedule_words="every Monday at 09:00 (UTC)",
    next_run_at=NOON,
    priority="normal",
    queue="default",
    retry=RetryPolicy(),
    timeout=300.0,
    on_worker_lost="retry",
    overlap="skip",
    catch_up=CatchUpView(),
    tags=[],
    version=3,
    created_at=NOON,
    updated_at=NOON,
)
INPUT = ExecutionInput(
    execution_id="e5-1",
    attempt=1,
    source="job",
    version=3,
    current_version=3,
    task="report",
    payload={"to": "a@b.c"},
    http=None,
)
EXECUTION = ExecutionView(
    id="e5-1",
    job_id="j5",
    task="report",
    status=ExecutionStatus.PENDING,
    waiting_for=None,
    trigger=Trigger.MANUAL,
    scheduled_for=NOON,
    due_at=NOON,
    started_at=None,
    finished_at=None,
    attempt=1,
    max_attempts=4,
    worker=None,
    progress=None,
    result=None,
    error=None,
    reason=None,
)
COMPLETED = msgspec.structs.replace(
    EXECUTION, status=ExecutionStatus.COMPLETED, started_at=NOON, finished_at=NOON, result={"sent": 1}
)
BACKFILL = BackfillView(
    id="b1",
    job_id="j5",
    from_=NOON,
    to=NOON,
    order="oldest",
    policy="missing",
    max_active=2,
    total=4,
    made=3,
    active=2,
    completed=1,
    failed=0,
    status=BackfillStatus.RUNNING,
    created_at=NOON,
    ended_at=None,
)
WORKER = WorkerView(
    id="w1",
    name="box-1",
    status="online",
    protocol="websocket",
    host="box",
    version="0.1.0",
    tasks=["report"],
    queues=["default"],
    weights={},
    slots=10,
    holding=2,
    labels={"region": "eu"},
    resources={"cpu": 4.0},
    resources_used={"cpu": 1.0},
    started_at=NOON,
    heartbeat_at=NOON,
    lease_until=NOON,
    ended_at=None,
)
KEY = KeyView(
    id="k1",
    tenant="default",
    name="deploy",
    prefix="tw_ab",
    scopes=[Scope.WRITE],
    created_at=NOON,
    expires_at=None,
    last_used_at=None,
    revoked_at=None,
)
MAIL_QUEUE = QueueView(
    name="mail",
    paused=False,
    max_running=10,
    rate="100/1m",
    max_backlog=1000,
    depth=42,
    depth_is_exact=True,
    depth_by_priority={"critical": 0, "high": 2, "normal": 40, "low": 0},
    running=10,
    oldest_age=75.2,
)
IDLE_QUEUE = QueueView(
    name="idle",
    paused=True,
    max_running=None,
    rate=None,
    max_backlog=None,
    depth=0,
    depth_is_exact=True,
    depth_by_priority={"critical": 0, "high": 0, "normal": 0, "low": 0},
    running=0,
    oldest_age=None,
)
OPEN_BREAKER = BreakerView(
    destination="https://api.example.com",
    state=BreakerState.OPEN,
    since=NOON,
    reason="failed 5 times in a row",
    failures_in_a_row=5,
    calls=7,
    failures=6,
    last_error="Http503: api.example.com answered 503 Service Unavailable",
    next_probe_at=NOON,
    waiting=12,
)

PING = PingView(
    name="backup",
    status=PingStatus.OK,
    schedule={"cron": "0 2 * * *", "timezone": "UTC"},
    schedule_words="every day at 02:00 (UTC)",
    grace=1800.0,
    description=None,
    notify=[PingNotify(["missing"], ["ops"])],
    expected_at=NOON,
    missing_at=NOON,
    started_at=None,
    log=None,
    last_heard_at=NOON,
    last_success_at=NOON,
    failing_since=None,
    failures_in_a_row=0,
    recent_runs=[
        PingRunSummary(number=number, outcome=outcome, ended_at=NOON, run_time=None)
        for number, outcome in ((3, PingOutcome.SUCCESS), (2, PingOutcome.MISSING), (1, PingOutcome.FAILED))
    ],
    statistics=PingStatistics(
        runs=3,
        success_share=1 / 3,
        typical_run_time=61.0,
        p95_run_time=90.0,
        typical_delay=1.0,
        p95_delay=2.0,
    ),
    url=None,
    token_begins="twp_abcd",
    created_at=NOON,
    updated_at=NOON,
)
PING_RUN = PingRunView(
    number=2,
    outcome=PingOutcome.FAILED,
    due_at=NOON,
    started_at=NOON,
    ended_at=NOON,
    run_time=61.0,
    delay=3.0,
    missed=0,
    exit_code=28,
    log="copying\ndisk full\n",
)


SLACK_CHANNEL = ChannelView(
    name="ops",
    kind="slack",
    url="https://hooks.slack.com/***",
    severity=Severity.INFO,
    quiet=None,
    digest="immediately",
    window=300.0,
    rate=30,
    paused=False,
    template=None,
    deliveries=ChannelDeliveries(),
    created_at=NOON,
    changed_at=NOON,
)
MAIL_CHANNEL = ChannelView(
    name="mail",
    kind="email",
    to=["ops@example.com", "ann@example.com"],
    from_="tickwork@example.com",
    smtp=SmtpServerView(
        host="mail.example.com", port=587, security="starttls", username="me", password="***"
    ),
    severity=Severity.ERROR,
    quiet=QuietHours(from_="22:00", to="07:00", timezone="Europe/Paris", except_=Severity.ERROR),
    digest="hourly",
    window=300.0,
    rate=30,
    paused=False,
    template=None,
    deliveries=ChannelDeliveries(),
    created_at=NOON,
    changed_at=NOON,
)


def page(*items: object, next_cursor: str | None = None) -> dict[str, Any]:
    return {"items": items, "next_cursor": next_cursor}


NODE = NodeView(
    id="n1",
    status="ready",
    host="box-1",
    pid=100,
    version="0.1.0",
    schema_version=1,
    address="box-1:8080",
    started_at=NOON,
    seen_at=NOON,
    clock_skew=0.0,
    database_latency=0.001,
    fired_at=NOON,
    problems=[],
    answers=True,
)
CLUSTER = ClusterView(
    nodes=[NODE],
    database=DatabaseView(
        version="18.0",
        embedded=False,
        size_bytes=10_000_000,
        connections_used=13,
        connections_allowed=100,
        latency=0.001,
        is_replica=False,
        replicas=1,
    ),
    partitions_until=NOON,
    zone_data="2026.1",
    schema_version=7,
    disk=None,
)


def changed(view: Any, **fields: object) -> Any:
    return msgspec.structs.replace(view, **fields)
