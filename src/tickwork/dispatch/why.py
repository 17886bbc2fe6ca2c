"""Why an execution does not run: one function for each thing that may hold it, given all the facts."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from tickwork.model.duration import format_duration
from tickwork.model.execution import ExecutionStatus
from tickwork.model.size import format_size
from tickwork.model.terms import SIZES, is_satisfied
from tickwork.model.why import (
    AHEAD_LIMIT,
    Cause,
    CauseKind,
    Facts,
    LimitInForce,
    LiveWorker,
    OtherExecution,
    Why,
)
from tickwork.store.port import WhyStore

_NAMED = 5  # executions or workers of a cause
_TOLD = 2  # causes that the summary tells of
_END_BY_THEMSELVES: frozenset[CauseKind] = frozenset({"due", "retry", "rate"})
_NEVER = "it could never run with the workers that are connected"
_AT_ONCE = "nothing holds it: it is handed to a worker within a moment"


class Reasons:
    def __init__(self, store: WhyStore) -> None:
        self._store = store

    async def of(self, tenant_id: int, job: int, scheduled_for: datetime) -> Why:
        """Why this execution does not run, and when it will."""
        return explain(await self._store.facts(tenant_id, job, scheduled_for))


def explain(facts: Facts) -> Why:
    causes = [*_causes(facts)] or [*_in_turn(facts)]
    start, reason = _expected_start(facts, causes)
    return Why(
        status=facts.status,
        summary=_sentence(causes),
        causes=causes,
        expected_start=start,
        expected_start_reason=reason,
    )


def _causes(facts: Facts) -> Iterator[Cause]:
    if facts.status.ended:
        yield _ended(facts)
    elif facts.status is ExecutionStatus.RUNNING:
        yield _running(facts)
    elif facts.worker:
        yield _handed_ahead(facts)
    else:
        yield from _held(facts)
        yield from _queue_paused(facts)
        yield from _not_due(facts)
        yield from _unfit_workers(facts)
        if not facts.is_held and facts.due_at <= facts.now:
            yield from _used_up(facts)
            yield from _short_of_workers(facts)


def _sentence(causes: Sequence[Cause]) -> str:
    told = "; ".join(cause.message for cause in causes[:_TOLD]) or _AT_ONCE
    more = len(causes) - _TOLD
    text = f"{told}; and {more} more" if more > 0 else told
    return f"{text[0].upper()}{text[1:]}."


def _expected_start(facts: Facts, causes: Sequence[Cause]) -> tuple[datetime | None, str | None]:
    """When the last of what holds it is over, if all of that ends by itself."""
    if facts.status is not ExecutionStatus.PENDING:
        return None, "it has ended" if facts.status.ended else "it has started"
    for cause in causes:
        if cause.kind not in _END_BY_THEMSELVES or cause.at is None:
            return None, _ENDS[cause.kind]
    return max((cause.at for cause in causes if cause.at), default=facts.now), None


_ENDS: dict[CauseKind, str] = {
    "paused": "when its job is resumed",
    "dependency": "when the executions that it depends on have completed",
    "overlap": "when the execution before it has ended",
    "breaker": "when the destination works again",
    "queue_paused": "when the queue is resumed",
    "no_task": "when a worker that offers the task connects",
    "no_worker": "when a worker that serves the queue connects",
    "label": "when a worker with these labels connects",
    "resource": "when a worker with these resources connects",
    "limit": "when the limit has room for it",
    "rate": "when those ahead of it have started",
    "busy": "when a worker has room and those ahead of it have started",
}


# What it is, when it does not wait


def _ended(facts: Facts) -> Cause:
    when = f" at {_clock(facts.finished_at)}" if facts.finished_at else ""
    why = f": {facts.reason}" if facts.reason else ""
    verb = "" if facts.status in (ExecutionStatus.COMPLETED, ExecutionStatus.FAILED) else "was "
    return Cause(kind="ended", message=f"it {verb}{facts.status}{when}{why}", at=facts.finished_at)


def _running(facts: Facts) -> Cause:
    since = f" since {_clock(facts.started_at)}" if facts.started_at else ""
    return Cause(kind="running", message=f"it is in the hands of worker {facts.worker}{since}")


def _handed_ahead(facts: Facts) -> Cause:
    message = f"worker {facts.worker} has it and starts it {_when(facts.due_at, facts.now)}"
    return Cause(kind="due", message=message, at=facts.due_at)


# What it waits for before it may be handed out


def _held(facts: Facts) -> Iterator[Cause]:
    if facts.is_held and facts.job_paused:
        yield Cause(kind="paused", message=f"its job {facts.job} is paused", name=facts.job)
    if facts.parents:
        yield _dependent(facts.parents, facts.roots)
    if facts.blocker:
        yield _overlapping(facts.blocker.id, facts.blocker.status)
    if facts.is_held and facts.breaker:
        yield _broken(facts)


def _dependent(parents: Sequence[OtherExecution], roots: Sequence[OtherExecution]) -> Cause:
    if roots:
        root = f"execution {roots[0].id}, which {_ended_as(roots[0].status)}"
        others = f", and on {len(roots) - 1} more that did not complete" if len(roots) > 1 else ""
        message = f"it depends on {root}{others}: it goes on when that was retried and has completed"
    elif len(parents) == 1:
        message = f"it depends on execution {parents[0].id}, which has not completed ({parents[0].status})"
    else:
        message = f"it depends on {len(parents):,} executions that have not completed"
    named = [each.id for each in (roots or parents)[:_NAMED]]
    return Cause(kind="dependency", message=message, count=len(parents), executions=named)


def _ended_as(status: str) -> str:
    return status if status == ExecutionStatus.FAILED else f"was {status}"


def _overlapping(blocker: str, status: str) -> Cause:
    message = f"execution {blocker} of the same job has not ended ({status}), and they must not overlap"
    return Cause(kind="overlap", message=message, executions=[blocker])


def _broken(facts: Facts) -> Cause:
    broken = facts.breaker
    assert broken is not None  # noqa: S101 (asked before)
    trying = f"tried again {_when(broken.probe_at, facts.now)}" if broken.probe_at else "being tried just now"
    failed = f"{broken.destination} {broken.reason or 'fails'}"
    error = f" ({broken.last_error})" if broken.last_error else ""
    return Cause(
        kind="breaker",
        message=f"circuit breaker open: {failed}{error}; {trying}",
        name=broken.destination,
        at=broken.probe_at,
    )


def _queue_paused(facts: Facts) -> Iterator[Cause]:
    if facts.queue_paused:
        yield Cause(kind="queue_paused", message=f"queue {facts.queue} is paused", name=facts.queue)


def _not_due(facts: Facts) -> Iterator[Cause]:
    if facts.is_held or facts.due_at <= facts.now:
        return
    when = _when(facts.due_at, facts.now)
    if facts.attempt > 1:
        yield Cause(kind="retry", message=f"attempt {facts.attempt} is to start {when}", at=facts.due_at)
    else:
        yield Cause(kind="due", message=f"it is due {when}", at=facts.due_at)


# Whether any worker could ever run it


def _unfit_workers(facts: Facts) -> Iterator[Cause]:
    """What the workers lack that come nearest to what it needs; nothing when some lack nothing."""
    staying = [worker for worker in facts.workers if not worker.draining]
    offering = [worker for worker in staying if worker.offers_task]
    serving = [worker for worker in offering if _serves(worker, facts.queue)]
    labelled = [worker for worker in serving if is_satisfied(facts.terms.labels, worker.labels)]
    if not offering:
        yield _no_task(facts)
    elif not serving:
        yield _unserved(facts, offering)
    elif not labelled:
        yield _label(facts, serving)
    elif not any(_has(worker.resources, facts.terms.resources) for worker in labelled):
        yield from _resource(facts, labelled)


def _no_task(facts: Facts) -> Cause:
    if any(worker.offers_task for worker in facts.workers):
        message = f"the only workers that offer the task {facts.task} are draining"
    elif facts.workers:
        message = f"no live worker offers the task {facts.task}: {_NEVER}"
    else:
        message = f"no worker is connected, so nobody offers the task {facts.task}"
    return Cause(kind="no_task", message=message, name=facts.task)


def _unserved(facts: Facts, offering: Sequence[LiveWorker]) -> Cause:
    nearest = offering[0]
    message = (
        f"no live worker serves the queue {facts.queue}: {_NEVER}; {nearest.name} serves only "
        + ", ".join(nearest.queues)
    )
    return Cause(kind="no_worker", message=message, name=facts.queue, workers=_ids(offering))


def _label(facts: Facts, serving: Sequence[LiveWorker]) -> Cause:
    wanted = facts.terms.labels
    nearest = max(serving, key=lambda worker: _agreeing(wanted, worker.labels))
    lacking = {name: value for name, value in wanted.items() if nearest.labels.get(name) != value}
    has = {name: nearest.labels[name] for name in lacking if name in nearest.labels}
    instead = f"has {_pairs(has)}" if has else f"has no {' and no '.join(lacking)}"
    message = f"no live worker has {_pairs(wanted)}: {_NEVER}; the nearest, {nearest.name}, {instead}"
    return Cause(kind="label", message=message, name=_pairs(lacking), workers=[nearest.id])


def _resource(facts: Facts, labelled: Sequence[LiveWorker]) -> Iterator[Cause]:
    needs = facts.terms.resources
    for name, need in needs.items():
        largest = max(labelled, key=lambda worker: worker.resources.get(name, 0.0))
        most = largest.resources.get(name, 0.0)
        if most < need:
            has = f"the largest, {largest.name}, has {_amount(name, most)}" if most else "none has any"
            message = f"no live worker has {_amount(name, need)}: {_NEVER}; {has}"
            yield Cause(
                kind="resource", message=message, name=name, count=need, max=most, workers=[largest.id]
            )
            return
    together = " and ".join(_amount(name, need) for name, need in needs.items())
    yield Cause(kind="resource", message=f"no live worker has {together} together: {_NEVER}")


# What is used up just now


def _used_up(facts: Facts) -> Iterator[Cause]:
    for limit in facts.limits:
        if limit.max_running is not None and limit.running >= limit.max_running:
            yield _limit(facts, limit, limit.max_running)
        if limit.rate is not None and _next_start(limit, facts.now) > facts.now:
            yield _rate(facts, limit)


def _limit(facts: Facts, limit: LimitInForce, most: int) -> Cause:
    return Cause(
        kind="limit",
        message=f"{limit.running} run under {_whose(limit)}, and at most {most} may{_and_ahead(facts)}",
        name=limit.name,
        count=limit.running,
        max=most,
        executions=[*limit.holders],
    )


def _rate(facts: Facts, limit: LimitInForce) -> Cause:
    assert limit.rate is not None  # noqa: S101 (asked before)
    at = _next_start(limit, facts.now) + facts.ahead * limit.rate.interval
    rate = f"{limit.rate.amount} in {format_duration(limit.rate.per)}"
    message = f"the rate of {_whose(limit)}, {rate}, is used up: {_ahead(facts)}its turn comes {_when(at, facts.now)}"
    known = facts.ahead <= AHEAD_LIMIT
    return Cause(kind="rate", message=message, name=limit.name, count=facts.ahead, at=at if known else None)


def _next_start(limit: LimitInForce, now: datetime) -> datetime:
    """The bucket holds the whole amount: one more fits as soon as what is used reaches less than a period ahead."""
    if limit.rate is None:
        return now
    return max(limit.used_until + limit.rate.interval - limit.rate.per, now)


def _short_of_workers(facts: Facts) -> Iterator[Cause]:
    able = [worker for worker in facts.workers if _is_able(worker, facts)]
    if not able:
        return
    slots, held = sum(worker.slots for worker in able), sum(worker.holding for worker in able)
    if all(worker.holding >= worker.slots for worker in able):
        message = f"{_all_of(able)} full: {held} executions in {slots} slots{_and_ahead(facts)}"
        yield Cause(kind="busy", message=message, count=facts.ahead, max=slots, workers=_ids(able))
    elif not any(_has(_free(worker), facts.terms.resources) for worker in able):
        needs = " and ".join(_amount(name, need) for name, need in facts.terms.resources.items())
        message = f"no worker has {needs} free just now{_and_ahead(facts)}"
        yield Cause(kind="busy", message=message, count=facts.ahead, workers=_ids(able))


def _in_turn(facts: Facts) -> Iterator[Cause]:
    if facts.ahead:
        yield Cause(kind="busy", message=f"{_ahead(facts)}it waits for its turn", count=facts.ahead)


def _is_able(worker: LiveWorker, facts: Facts) -> bool:
    return (
        worker.offers_task
        and not worker.draining
        and _serves(worker, facts.queue)
        and is_satisfied(facts.terms.labels, worker.labels)
        and _has(worker.resources, facts.terms.resources)
    )


def _serves(worker: LiveWorker, queue: str) -> bool:
    return not worker.queues or queue in worker.queues


def _has(resources: Mapping[str, float], needs: Mapping[str, float]) -> bool:
    return all(resources.get(name, 0.0) >= need for name, need in needs.items())


def _free(worker: LiveWorker) -> dict[str, float]:
    return {name: total - worker.used.get(name, 0.0) for name, total in worker.resources.items()}


def _agreeing(wanted: Mapping[str, str], labels: Mapping[str, str]) -> int:
    return sum(labels.get(name) == value for name, value in wanted.items())


# Words


def _whose(limit: LimitInForce) -> str:
    return f"{'queue' if limit.kind == 'queue' else 'the key'} {limit.name}"


def _ahead(facts: Facts) -> str:
    if not facts.ahead:
        return ""
    count = f"{facts.ahead:,}" if facts.ahead <= AHEAD_LIMIT else f"more than {AHEAD_LIMIT:,}"
    return f"{count} {'is' if facts.ahead == 1 else 'are'} ahead of it in its line, and "


def _and_ahead(facts: Facts) -> str:
    return f"; {_ahead(facts).removesuffix(', and ')}" if facts.ahead else ""


def _all_of(workers: Sequence[LiveWorker]) -> str:
    if len(workers) == 1:
        return f"the only worker that could run it, {workers[0].name}, is"
    return f"all {len(workers)} workers that could run it are"


def _ids(workers: Sequence[LiveWorker]) -> list[str]:
    return [worker.id for worker in workers[:_NAMED]]


def _pairs(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items())


def _amount(name: str, amount: float) -> str:
    return f"{format_size(amount) if name in SIZES else f'{amount:g}'} {name}"


def _when(at: datetime, now: datetime) -> str:
    away = at - now
    if away <= timedelta(0):
        return "now"
    rounded = timedelta(seconds=round(away.total_seconds())) if away >= timedelta(seconds=1) else away
    return f"in {format_duration(rounded)}, at {_clock(at)}"


def _clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
