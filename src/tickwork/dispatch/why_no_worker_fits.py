"""What live workers lack to run an execution: ever, or now because they are busy."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from tickwork.model.quantities import format_duration, format_size
from tickwork.model.requires_limits_fair_share import SIZES, labels_match
from tickwork.model.why_waiting import MOST_NAMED, Cause, LiveWorker, NamedWorker, WaitingFacts

_NEVER = "it could never run with the workers that are connected"


def unfit_workers(facts: WaitingFacts) -> Iterator[Cause]:
    """What the workers lack that come closest to what it needs; nothing if a worker could run it."""
    if facts.named_worker and not _named(facts.workers, facts.named_worker):
        yield _away(facts.named_worker, facts.now)
        return
    staying = [worker for worker in _candidates(facts) if not worker.draining]
    offering = [worker for worker in staying if worker.offers_task]
    serving = [worker for worker in offering if _serves(worker, facts.queue)]
    labelled = [worker for worker in serving if labels_match(facts.placement.labels, worker.labels)]
    if not offering:
        yield _no_task(facts)
    elif not serving:
        yield _no_worker(facts, offering)
    elif not labelled:
        yield _label(facts, serving)
    elif not any(_has(worker.resources, facts.placement.resources) for worker in labelled):
        yield _resource(facts, labelled)


def busy_workers(facts: WaitingFacts) -> Iterator[Cause]:
    """All workers that could run it are full, or the resources that it needs are in use."""
    able = [worker for worker in facts.workers if _could_run(worker, facts)]
    if not able:
        return
    slots, running = sum(worker.slots for worker in able), sum(worker.holding for worker in able)
    if all(worker.holding >= worker.slots for worker in able):
        message = f"{_all_of(able)} full: {running} executions in {slots} slots"
    elif not any(_has(_free(worker), facts.placement.resources) for worker in able):
        message = f"no worker has {_amounts(facts.placement.resources)} free just now"
    else:
        return
    full_message = "; ".join(filter(None, [message, facts.ahead_in_words]))
    yield Cause(kind="busy", message=full_message, count=facts.ahead, max=slots, workers=_ids(able))


def _candidates(facts: WaitingFacts) -> Sequence[LiveWorker]:
    return _named(facts.workers, facts.named_worker) if facts.named_worker else facts.workers


def _named(workers: Sequence[LiveWorker], named: NamedWorker) -> list[LiveWorker]:
    return [worker for worker in workers if worker.name == named.name]


def _away(named: NamedWorker, now: datetime) -> Cause:
    seen = "was never seen"
    if named.seen_at:
        ago = timedelta(seconds=max(round((now - named.seen_at).total_seconds()), 0))
        seen = f"was last seen {format_duration(ago)} ago" if ago else "was seen just now"
    message = f"it may run only on the worker {named.name}, which is away and {seen}"
    return Cause(kind="worker", message=message, name=named.name, at=None)


def _no_task(facts: WaitingFacts) -> Cause:
    if facts.placement.program is not None:
        return _not_allowed(facts, facts.placement.program)
    if not facts.task_is_known:
        message = f"no worker has offered the task {facts.task} yet, and nobody has declared it"
        return Cause(kind="no_task", message=message, name=facts.task)
    if any(worker.offers_task for worker in facts.workers):
        message = f"the only workers that offer the task {facts.task} are draining"
    elif facts.workers:
        message = f"no live worker offers the task {facts.task}: {_NEVER}"
    else:
        message = f"no worker is connected, so nobody offers the task {facts.task}"
    return Cause(kind="no_task", message=message, name=facts.task)


def _not_allowed(facts: WaitingFacts, program: str) -> Cause:
    running_commands = [worker for worker in facts.workers if worker.commands]
    if any(worker.offers_task for worker in facts.workers):
        message = f"the only workers that allow the program {program} are draining"
    elif running_commands:
        nearest = running_commands[0]
        allowed = f"{nearest.name} allows {', '.join(nearest.commands[:MOST_NAMED])}"
        message = f"no live worker allows the program {program}: {_NEVER}; {allowed}"
    else:
        message = f"no live worker runs commands; start one with --allow-command {program}"
    return Cause(kind="not_allowed", message=message, name=program, workers=_ids(running_commands))


def _no_worker(facts: WaitingFacts, offering: Sequence[LiveWorker]) -> Cause:
    nearest = f"{offering[0].name} serves only {', '.join(offering[0].queues)}"
    message = f"no live worker serves the queue {facts.queue}: {_NEVER}; {nearest}"
    return Cause(kind="no_worker", message=message, name=facts.queue, workers=_ids(offering))


def _label(facts: WaitingFacts, serving: Sequence[LiveWorker]) -> Cause:
    wanted = facts.placement.labels
    nearest = max(serving, key=lambda worker: _matching(wanted, worker.labels))
    lacking = {name: value for name, value in wanted.items() if nearest.labels.get(name) != value}
    has = {name: nearest.labels[name] for name in lacking if name in nearest.labels}
    instead = f"has {_pairs(has)}" if has else f"has no {' and no '.join(lacking)}"
    message = f"no live worker has {_pairs(wanted)}: {_NEVER}; the nearest, {nearest.name}, {instead}"
    return Cause(kind="label", message=message, name=_pairs(lacking), workers=[nearest.id])


def _resource(facts: WaitingFacts, labelled: Sequence[LiveWorker]) -> Cause:
    needs = facts.placement.resources
    for name, need in needs.items():
        largest = max(labelled, key=lambda worker: worker.resources.get(name, 0.0))
        if largest.resources.get(name, 0.0) < need:
            return _too_small(name, need, largest)
    return Cause(kind="resource", message=f"no live worker has {_amounts(needs)} together: {_NEVER}")


def _too_small(name: str, need: float, largest: LiveWorker) -> Cause:
    most = largest.resources.get(name, 0.0)
    has = f"the largest, {largest.name}, has {_amount(name, most)}" if most else "none has any"
    return Cause(
        kind="resource",
        message=f"no live worker has {_amount(name, need)}: {_NEVER}; {has}",
        name=name,
        count=need,
        max=most,
        workers=[largest.id] if most else [],
    )


def _could_run(worker: LiveWorker, facts: WaitingFacts) -> bool:
    return (
        worker.offers_task
        and not worker.draining
        and (facts.named_worker is None or worker.name == facts.named_worker.name)
        and _serves(worker, facts.queue)
        and labels_match(facts.placement.labels, worker.labels)
        and _has(worker.resources, facts.placement.resources)
    )


def _serves(worker: LiveWorker, queue: str) -> bool:
    return not worker.queues or queue in worker.queues


def _has(resources: Mapping[str, float], needs: Mapping[str, float]) -> bool:
    return all(resources.get(name, 0.0) >= need for name, need in needs.items())


def _free(worker: LiveWorker) -> dict[str, float]:
    return {name: total - worker.used.get(name, 0.0) for name, total in worker.resources.items()}


def _matching(wanted: Mapping[str, str], labels: Mapping[str, str]) -> int:
    return sum(labels.get(name) == value for name, value in wanted.items())


def _all_of(workers: Sequence[LiveWorker]) -> str:
    if len(workers) == 1:
        return f"the only worker that could run it, {workers[0].name}, is"
    return f"all {len(workers)} workers that could run it are"


def _ids(workers: Sequence[LiveWorker]) -> list[str]:
    return [worker.id for worker in workers[:MOST_NAMED]]


def _pairs(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items())


def _amounts(needs: Mapping[str, float]) -> str:
    return " and ".join(_amount(name, need) for name, need in needs.items())


def _amount(name: str, amount: float) -> str:
    return f"{format_size(amount) if name in SIZES else f'{amount:g}'} {name}"
