from tickwork.execute.unacknowledged_outcomes import _BATCH, _LARGEST_BATCH, UnacknowledgedOutcomes
from tickwork.model.execution import AttemptOutcome
from tickwork.model.worker_protocol import Failure, Outcome


def outcome(job: int, result: bytes | None = None, failure: Failure | None = None) -> Outcome:
    return Outcome(1, 5, job, 1, AttemptOutcome.COMPLETED, 5, 5, result, failure)


def batches(outcomes: UnacknowledgedOutcomes) -> list[list[Outcome]]:
    found = []
    while batch := outcomes.next_batch():
        found.append(batch.items)
    return found


def test_small_outcomes_are_sent_in_large_batches():
    outcomes = UnacknowledgedOutcomes(lambda: None)
    for job in range(_BATCH + 1):
        outcomes.add(outcome(job, b"1"))
    assert [len(batch) for batch in batches(outcomes)] == [_BATCH, 1]


def test_large_results_and_errors_are_spread_over_batches():
    outcomes = UnacknowledgedOutcomes(lambda: None)
    failure = Failure("E", "m" * 4_000, "t" * 16_000)
    large = [
        outcome(job, b"x" * 256 * 1024) if job % 2 else outcome(job, None, failure) for job in range(100)
    ]
    for each in large:
        outcomes.add(each)
    found = batches(outcomes)
    assert [each for batch in found for each in batch] == large
    assert all(sum(len(each.result or b"") for each in batch) <= _LARGEST_BATCH for batch in found)
    assert len(found) <= 20


def test_an_outcome_larger_than_a_batch_goes_alone():
    outcomes = UnacknowledgedOutcomes(lambda: None)
    for job in range(3):
        outcomes.add(outcome(job, b"x" * (_LARGEST_BATCH + 1)))
    assert [len(batch) for batch in batches(outcomes)] == [1, 1, 1]


def test_batches_that_are_sent_again_are_bounded_too():
    outcomes = UnacknowledgedOutcomes(lambda: None)
    for job in range(16):
        outcomes.add(outcome(job, b"x" * 256 * 1024))
    first = batches(outcomes)
    outcomes.resend(only={(1, 5, job, 1) for job in range(16)})
    assert batches(outcomes) == first
