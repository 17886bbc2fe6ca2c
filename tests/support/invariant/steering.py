"""What people and policies ask for: limits, pauses, cancellations."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from support.invariant.time_limit import WITH_TARGET
from support.invariant.violation import Violation, about
from support.observed_history import JobState, Key, ObservedHistory, State, Transition

_TOLD_WITHIN = timedelta(seconds=8)  # when nothing is wrong: some beats
_STOPPED = ("cancelled", "skipped")


def overlap_is_kept(observed: ObservedHistory) -> Iterator[Violation]:
    """I17: executions of a job that must not overlap do not: run by hand they count, backfilled or redriven they do
    not."""
    live: dict[int, dict[Key, State]] = defaultdict(dict)
    made_in: dict[Key, int] = {}
    made_under: dict[Key, str] = {}
    redriven: set[Key] = set()
    committed = {(each.key, each.transaction): each.after for each in observed.transitions}
    for transition in observed.transitions:
        job = observed.job_at(transition.key.job, transition.number)
        made_in.setdefault(transition.key, transition.transaction)
        made_under.setdefault(transition.key, job.overlap)
        if _redrives(transition):
            redriven.add(transition.key)
        if transition.key in redriven:
            continue
        of_job = live[transition.key.job]
        others = {
            key: state
            for key, state in of_job.items()
            if key != transition.key and not _came_meanwhile(state, made_in[key], transition)
        }
        problem = _overlap(job, transition, committed[transition.key, transition.transaction], others)
        if problem and made_under[transition.key] != "allow":
            yield about(observed, transition.key, problem)
        if transition.after and not transition.after.ended:
            of_job[transition.key] = transition.after
        else:
            of_job.pop(transition.key, None)


def stopped_means_stopped(observed: ObservedHistory) -> Iterator[Violation]:
    """I18: after a cancellation or a pause nothing of it begins, and whoever runs it is told."""
    yield from _cancelled_stay_cancelled(observed)
    yield from _paused_jobs_rest(observed)
    if observed.calm_at:
        yield from _holders_are_told(observed, observed.calm_at)


def _redrives(transition: Transition) -> bool:
    before, after = transition.before, transition.after
    return bool(before and after and before.status in ("failed", "cancelled") and not after.ended)


def _came_meanwhile(other: State, made_in: int, transition: Transition) -> bool:
    """Run by hand, which may overlap, after the transaction that fires had begun: that need not know of it."""
    return other.trigger == "manual" and made_in > transition.transaction


def _overlap(
    job: JobState, transition: Transition, after: State | None, live: dict[Key, State]
) -> str | None:
    """`after`: as the transaction leaves it."""
    if job.overlap == "allow" or after is None or after.trigger != "schedule":
        return None
    if job.request.get("depends_on"):
        return None  # it follows its parents: what they run, it does
    others = [(key, state) for key, state in live.items() if state.trigger != "backfill"]
    if transition.before is None and not after.ended and after.blocked_by is None and others:
        return f"was fired under overlap {job.overlap} while {others[0][0]} was {others[0][1].status}"
    running = [key for key, state in others if state.status == "running" and state.trigger == "schedule"]
    if job.overlap == "queue" and transition.claims and running:
        return f"was handed out under overlap queue while {running[0]} was running"
    return None


def _cancelled_stay_cancelled(observed: ObservedHistory) -> Iterator[Violation]:
    for operation in observed.operations:
        if operation.kind != "cancel" or operation.answer != "ok" or operation.execution is None:
            continue
        for transition in observed.executions[operation.execution]:
            if transition.number > operation.answered and (transition.claims or transition.ends_attempt):
                yield about(observed, operation.execution, "went on after its cancellation was answered")
        state = observed.last(operation.execution)
        if state is None or state.status != "cancelled":
            yield about(observed, operation.execution, "was cancelled by request and is not cancelled")


def _paused_jobs_rest(observed: ObservedHistory) -> Iterator[Violation]:
    """Nothing that is due by its schedule is put into a worker's hands, not even for another attempt. What is run by
    hand or backfilled may go on and try again, and be run by hand while the job is paused; but what waited when the
    job was paused may not begin."""
    for key, transitions in observed.executions.items():
        for transition in transitions:
            if not transition.claims:
                continue
            paused = _paused_since(observed, key, transition.number)
            if paused and (_is_scheduled(transition) or _waited_at(transitions, paused)):
                yield about(observed, key, "was handed out while its job was paused")


def _paused_since(observed: ObservedHistory, key: Key, number: int) -> JobState | None:
    since: JobState | None = None
    for state in observed.jobs[key.job]:
        if state.number > number:
            break
        since = since or state if state.status == "paused" else None
    return since


def _is_scheduled(transition: Transition) -> bool:
    return transition.after is not None and transition.after.trigger == "schedule"


def _waited_at(transitions: list[Transition], paused: JobState) -> bool:
    earlier = [each for each in transitions if each.number < paused.number]
    return bool(earlier) and earlier[-1].after is not None and earlier[-1].after.status == "pending"


def _holders_are_told(observed: ObservedHistory, calm_at: datetime) -> Iterator[Violation]:
    for transition in observed.transitions:
        before, after = transition.before, transition.after
        if not (before and after and before.status == "running" and after.status in _STOPPED):
            continue
        if before.worker == WITH_TARGET:
            continue  # it is told when it reports
        seen = observed.seen_attempt(transition.key, before.attempt)
        if seen is None or seen.outcome == "cancelled" or transition.at > calm_at - _TOLD_WITHIN:
            continue
        ran_on = seen.outcome is not None and seen.ended_at >= calm_at
        if ran_on and (transition.key, before.attempt) not in observed.told_to_stop:
            yield about(
                observed, transition.key, f"was stopped, but w{before.worker} was never told and ran on"
            )
