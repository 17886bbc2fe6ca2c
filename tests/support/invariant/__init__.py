"""The promises, each as a function from what was seen to the sentences that say where it was broken."""

from collections.abc import Callable, Iterator

from support.invariant import attempt, due, graph, life, limit, news, steering, time_limit
from support.invariant.violation import Violation
from support.observed_history import ObservedHistory

Invariant = Callable[[ObservedHistory], Iterator[Violation]]

INVARIANTS: dict[str, Invariant] = {
    "I1": due.no_miss,
    "I2": due.no_double_fire,
    "I3": due.no_phantom,
    "I4": due.never_early,
    "I5": due.cursor_advances,
    "I6": due.passed_over_by_policy,
    "I7": life.accepted_is_durable,
    "I8": life.run_now_once,
    "I9": life.every_run_ends,
    "I10": life.legal_states,
    "I11": attempt.one_holder_at_a_time,
    "I12": attempt.newest_attempt_decides,
    "I13": attempt.effects_within_attempts,
    "I14": attempt.workers_fence_themselves,
    "I15": attempt.budget_is_kept,
    "I16": attempt.retries_wait,
    "I17": steering.overlap_is_kept,
    "I18": steering.stopped_means_stopped,
    "I19": limit.limits_hold,
    "I20": news.bad_ends_are_told,
    "I21": graph.branches_are_kept,
    "I22": time_limit.time_limits_hold,
    "I23": attempt.reports_are_recorded,
}


def violations(observed: ObservedHistory) -> list[Violation]:
    return [
        found._replace(invariant=name)
        for name, invariant in INVARIANTS.items()
        for found in invariant(observed)
    ]
