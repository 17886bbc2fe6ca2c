"""Explains why an execution does not run: one function for each possible cause, given all the facts."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from tickwork.dispatch.why_no_worker_fits import busy_workers, unfit_workers
from tickwork.model.execution import ExecutionStatus
from tickwork.model.quantities import format_duration
from tickwork.model.why_waiting import (
    AHEAD_LIMIT,
    MOST_NAMED,
    Cause,
    CauseKind,
    FailingDestination,
    LimitInForce,
    OtherExecution,
    TargetWait,
    WaitingFacts,
    Why,
)
from tickwork.store.port.dispatch import WhyWaitingStore

_IN_SUMMARY = 2  # causes
_AT_ONCE = "nothing blocks it: it is handed to a worker within a moment"
_FANNED_OUT_AT_ONCE = "nothing blocks it: it becomes a job for each element within a moment"
_END_AT_KNOWN_TIME: frozenset[CauseKind] = frozenset({"due", "retry", "rate"})
_ENDS: dict[CauseKind, str] = {
    "paused": "when its job is resumed",
    "dependency": "when the executions that it depends on have completed",
    "overlap": "when the execution before it has ended",
    "breaker": "when the destination works again",
    "queue_paused": "when the queue is resumed",
    "task_disabled": "when the task is enabled",
    "payload": "when its payload fits its task",
    "worker": "when that worker connects",
    "cluster_paused": "when the cluster is resumed",
    "no_task": "when a worker that offers the task connects",
    "not_allowed": "when a worker that allows the program connects",
    "no_worker": "when a worker that serves the queue connects",
    "label": "when a worker with these labels connects",
    "resource": "when a worker with these resources connects",
    "limit": "when the limit has a free slot",
    "rate": "when those ahead of it have started",
    "busy": "when a worker has a free slot and those ahead of it have started",
}


class WaitingReasons:
    def __init__(self, store: WhyWaitingStore, is_cluster_paused: Callable[[], bool]) -> None:
        self._store = store
        self._is_cluster_paused = is_cluster_paused

    async def of(self, tenant_id: int, job: int, scheduled_for: datetime) -> Why:
        """Why this execution does not run, and when it will."""
        facts = await self._store.facts(tenant_id, job, scheduled_for)
        return explain(facts._replace(cluster_paused=self._is_cluster_paused()))


def explain(facts: WaitingFacts) -> Why:
    causes = [*_causes(facts)] or [*_others_ahead(facts)]
    start, reason = _expected_start(facts, causes)
    return Why(
        status=facts.status,
        summary=_summary(facts, causes) + _give_up(facts) + _deadline(facts),
        causes=causes,
        expected_start=start,
        expected_start_reason=reason,
        give_up_at=facts.give_up_at,
        deadline=facts.deadline,
    )


def _causes(facts: WaitingFacts) -> Iterator[Cause]:
    if facts.status.ended:
        yield _ended(facts)
    elif facts.status is ExecutionStatus.RUNNING:
        yield _running(facts)
    elif facts.worker:
        yield _handed_ahead(facts)
    elif facts.placement.fans_out:  # no worker gets it
        yield from _suspended(facts)
        yield from _not_fanned_out(facts)
    else:
        yield from _suspended(facts)
        yield from _cluster_paused(facts)
        yield from _queue_paused(facts)
        yield from _task_disabled(facts)
        yield from _payload(facts)
        yield from _not_due(facts)
        yield from unfit_workers(facts)
        if not facts.is_suspended and facts.due_at <= facts.now:
            yield from _reached_limits(facts)
            yield from busy_workers(facts)


def _others_ahead(facts: WaitingFacts) -> Iterator[Cause]:
    if facts.ahead and not facts.placement.fans_out:
        yield Cause(kind="busy", message=f"{facts.ahead_in_words}, and they start first", count=facts.ahead)


def _summary(facts: WaitingFacts, causes: Sequence[Cause]) -> str:
    at_once = _FANNED_OUT_AT_ONCE if facts.placement.fans_out else _AT_ONCE
    named = "; ".join(cause.message for cause in causes[:_IN_SUMMARY]) or at_once
    more = len(causes) - _IN_SUMMARY
    text = f"{named}; and {more} more" if more > 0 else named
    return f"{text[0].upper()}{text[1:]}."


def _give_up(facts: WaitingFacts) -> str:
    if facts.give_up_at is None:
        return ""
    return f" It is skipped if it has not started by {_clock(facts.give_up_at)}."


def _deadline(facts: WaitingFacts) -> str:
    if facts.deadline is None or facts.status.ended:
        return ""
    if facts.deadline <= facts.now:
        return f" Its deadline was {_clock(facts.deadline)}: it is missed."
    return f" Its deadline is {_clock(facts.deadline)}."


def _expected_start(facts: WaitingFacts, causes: Sequence[Cause]) -> tuple[datetime | None, str | None]:
    """When the last cause ends, if all of them end at a known time; otherwise None and what has to happen."""
    if facts.status is not ExecutionStatus.PENDING:
        return None, "it has ended" if facts.status.ended else "it has started"
    for cause in causes:
        if cause.kind not in _END_AT_KNOWN_TIME or cause.at is None:
            return None, _ENDS[cause.kind]
    return max((cause.at for cause in causes if cause.at), default=facts.now), None


# It does not wait


def _ended(facts: WaitingFacts) -> Cause:
    when = f" at {_clock(facts.finished_at)}" if facts.finished_at else ""
    why = f": {facts.reason}" if facts.reason else ""
    return Cause(kind="ended", message=f"it {_ended_as(facts.status)}{when}{why}", at=facts.finished_at)


def _running(facts: WaitingFacts) -> Cause:
    if facts.target:
        return _with_target(facts.target, facts.now)
    started = f"started it at {_clock(facts.started_at)}" if facts.started_at else "has it"
    return Cause(kind="running", message=f"worker {facts.worker} {started}")


def _with_target(wait: TargetWait, now: datetime) -> Cause:
    often = f", and reports at least every {format_duration(wait.heartbeat)}" if wait.heartbeat else ""
    message = (
        f"its HTTP target accepted it and reports later how it ends{often}; "
        f"it is taken from the target {_when(wait.deadline, now)} if no report comes"
    )
    return Cause(kind="running", message=message, at=wait.deadline)


def _handed_ahead(facts: WaitingFacts) -> Cause:
    message = f"worker {facts.worker} has it and starts it {_when(facts.due_at, facts.now)}"
    return Cause(kind="due", message=message, at=facts.due_at)


# It may not be handed over yet


def _suspended(facts: WaitingFacts) -> Iterator[Cause]:
    if facts.is_suspended and facts.job_paused:
        yield Cause(kind="paused", message=f"its job {facts.job} is paused", name=facts.job)
    if facts.parents:
        yield _dependency(facts.parents, facts.roots)
    if facts.blocker:
        yield _overlap(facts.blocker)
    if facts.is_suspended and facts.breaker:
        yield _open_breaker(facts.breaker, facts.now)


def _dependency(parents: Sequence[OtherExecution], roots: Sequence[OtherExecution]) -> Cause:
    if roots:
        root = f"execution {roots[0].id}, which {_ended_as(roots[0].status)}"
        others = f", and on {len(roots) - 1} more that did not complete" if len(roots) > 1 else ""
        message = f"it depends on {root}{others}: it starts after that was retried and has completed"
    elif len(parents) == 1:
        message = f"it depends on execution {parents[0].id}, which has not completed ({parents[0].status})"
    else:
        message = f"it depends on {len(parents):,} executions that have not completed"
    named = [each.id for each in (roots or parents)[:MOST_NAMED]]
    return Cause(kind="dependency", message=message, count=len(parents), executions=named)


def _overlap(blocker: OtherExecution) -> Cause:
    message = (
        f"execution {blocker.id} of the same job has not ended ({blocker.status}), and they must not overlap"
    )
    return Cause(kind="overlap", message=message, executions=[blocker.id])


def _open_breaker(failing: FailingDestination, now: datetime) -> Cause:
    trying = f"tried again {_when(failing.probe_at, now)}" if failing.probe_at else "being tried just now"
    failed = f"{failing.destination} {failing.reason or 'fails'}"
    error = f" ({failing.last_error})" if failing.last_error else ""
    message = f"circuit breaker open: {failed}{error}; {trying}"
    return Cause(kind="breaker", message=message, name=failing.destination, at=failing.probe_at)


def _cluster_paused(facts: WaitingFacts) -> Iterator[Cause]:
    if facts.cluster_paused:
        yield Cause(kind="cluster_paused", message="the whole cluster is paused")


def _queue_paused(facts: WaitingFacts) -> Iterator[Cause]:
    if facts.queue_paused:
        yield Cause(kind="queue_paused", message=f"queue {facts.queue} is paused", name=facts.queue)


def _task_disabled(facts: WaitingFacts) -> Iterator[Cause]:
    if facts.disabled:
        at, by, reason = facts.disabled
        why = f": {reason}" if reason else ""
        message = f"the task {facts.task} was disabled by {by or 'somebody'} at {_clock(at)}{why}"
        yield Cause(kind="task_disabled", message=message, name=facts.task)


def _payload(facts: WaitingFacts) -> Iterator[Cause]:
    if facts.mismatch:
        message = (
            f"its payload does not fit the task {facts.task}: {facts.mismatch}; "
            "it fails when it is due, unless the job is edited before"
        )
        yield Cause(kind="payload", message=message, name=facts.task)
    elif facts.placement.awaits_task and facts.task_is_known:
        message = f"its payload is about to be checked: the task {facts.task} has just become known"
        yield Cause(kind="payload", message=message, name=facts.task)


def _not_due(facts: WaitingFacts) -> Iterator[Cause]:
    if facts.due_at <= facts.now:
        return
    when = _when(facts.due_at, facts.now)
    if facts.attempt > 1:
        yield Cause(kind="retry", message=f"attempt {facts.attempt} is to start {when}", at=facts.due_at)
    else:
        yield Cause(kind="due", message=f"it is due {when}", at=facts.due_at)


# It waits for a limit


def _not_fanned_out(facts: WaitingFacts) -> Iterator[Cause]:
    """Its queue has no capacity for its elements, as it was told when it tried, or it is not due."""
    if facts.reason:
        yield Cause(kind="limit", message=facts.reason, name=facts.queue)
    else:
        yield from _not_due(facts)


def _reached_limits(facts: WaitingFacts) -> Iterator[Cause]:
    for limit in facts.limits:
        if limit.max_running is not None and limit.running >= limit.max_running:
            yield _max_running(facts, limit, limit.max_running)
        if limit.max_workers is not None and len(limit.workers) >= limit.max_workers:
            yield from _max_workers(facts, limit, limit.max_workers)
        next_start = _next_start(limit, facts.now)
        if next_start > facts.now:
            yield _rate(facts, limit, next_start)


def _max_running(facts: WaitingFacts, limit: LimitInForce, most: int) -> Cause:
    runs = "runs" if limit.running == 1 else "run"
    under = f"{limit.running} {runs} under {_limiter(limit)}, and at most {most} may"
    return Cause(
        kind="limit",
        message="; ".join(filter(None, [under, facts.ahead_in_words])),
        name=limit.name,
        count=limit.running,
        max=most,
        executions=[*limit.holders],
    )


def _max_workers(facts: WaitingFacts, limit: LimitInForce, most: int) -> Iterator[Cause]:
    """Nothing if one of the workers that have executions of the queue could take it."""
    if any(worker.id in limit.workers and worker.holding < worker.slots for worker in facts.workers):
        return
    count = len(limit.workers)
    have = "worker has" if count == 1 else "workers have"
    message = f"{count} {have} executions of {_limiter(limit)}, and at most {most} may"
    yield Cause(
        kind="limit",
        message="; ".join(filter(None, [message, facts.ahead_in_words])),
        name=limit.name,
        count=count,
        max=most,
        workers=[*limit.workers[:MOST_NAMED]],
    )


def _rate(facts: WaitingFacts, limit: LimitInForce, next_start: datetime) -> Cause:
    assert limit.rate is not None  # noqa: S101 (without a rate there is no next start to wait for)
    start = next_start + facts.ahead * limit.rate.interval
    used_up = (
        f"the rate of {_limiter(limit)}, {limit.rate.amount} in {format_duration(limit.rate.per)}, is used up"
    )
    expected = f"it can start {_when(start, facts.now)}"
    message = (
        f"{used_up}: {facts.ahead_in_words}, and {expected}" if facts.ahead else f"{used_up}: {expected}"
    )
    at = start if facts.ahead <= AHEAD_LIMIT else None
    return Cause(kind="rate", message=message, name=limit.name, count=facts.ahead, at=at)


def _next_start(limit: LimitInForce, now: datetime) -> datetime:
    """The token bucket holds the whole amount: it has a token once `used_until` is less than a period ahead."""
    if limit.rate is None:
        return now
    return max(limit.used_until + limit.rate.interval - limit.rate.per, now)


# Phrases


def _limiter(limit: LimitInForce) -> str:
    return f"{'queue' if limit.kind == 'queue' else 'the key'} {limit.name}"


def _ended_as(status: str) -> str:
    is_verb = status in (ExecutionStatus.COMPLETED, ExecutionStatus.FAILED)
    return status if is_verb else f"was {status}"


def _when(at: datetime, now: datetime) -> str:
    away = at - now
    if away <= timedelta(0):
        return "now"
    rounded = timedelta(seconds=round(away.total_seconds())) if away >= timedelta(seconds=1) else away
    return f"in {format_duration(rounded)}, at {_clock(at)}"


def _clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
