from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tickwork.dispatch.claim_order import CREDIT, FairQueue


def _serve(fair_queue: FairQueue[str], weights: dict[str, float], count: int) -> Counter[str]:
    served: Counter[str] = Counter()
    for _ in range(count):
        first = min(weights, key=fair_queue.tag)
        fair_queue.give(first, 1, weights[first])
        served[first] += 1
    return served


def test_equals_take_turns() -> None:
    assert _serve(FairQueue(), {"a": 1.0, "b": 1.0, "c": 1.0}, 30) == {"a": 10, "b": 10, "c": 10}


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_each_gets_its_share_by_weight(weights: list[int]) -> None:
    named = {str(number): float(weight) for number, weight in enumerate(weights)}
    rounds = 20
    served = _serve(FairQueue(), named, rounds * sum(weights))
    for name, weight in named.items():
        assert abs(served[name] - rounds * weight) <= len(weights)


def test_a_contender_that_was_idle_goes_ahead_by_its_credit_and_then_takes_turns() -> None:
    fair_queue: FairQueue[str] = FairQueue()
    _serve(fair_queue, {"a": 1.0}, 1000)
    assert _serve(fair_queue, {"a": 1.0, "b": 1.0}, CREDIT) == {"b": CREDIT}
    later = _serve(fair_queue, {"a": 1.0, "b": 1.0}, 100)
    assert abs(later["a"] - later["b"]) <= 2


def test_deletes_tags_that_no_longer_matter() -> None:
    fair_queue: FairQueue[str] = FairQueue()
    for number in range(30_000):
        fair_queue.give(str(number), 1, 1.0)
        fair_queue.give("busy", 1, 1.0)
    assert len(fair_queue._tags) <= 10_001
