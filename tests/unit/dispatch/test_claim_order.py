from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tickwork.dispatch.claim_order import CREDIT, FairQueue


def _serve(turns: FairQueue[str], weights: dict[str, float], count: int) -> Counter[str]:
    served: Counter[str] = Counter()
    for _ in range(count):
        first = min(weights, key=turns.tag)
        turns.give(first, 1, weights[first])
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


def test_who_comes_back_goes_ahead_with_a_few_and_then_takes_turns() -> None:
    turns: FairQueue[str] = FairQueue()
    _serve(turns, {"a": 1.0}, 1000)
    assert _serve(turns, {"a": 1.0, "b": 1.0}, CREDIT) == {"b": CREDIT}
    later = _serve(turns, {"a": 1.0, "b": 1.0}, 100)
    assert abs(later["a"] - later["b"]) <= 2


def test_forgets_those_that_nothing_is_known_of_any_more() -> None:
    turns: FairQueue[str] = FairQueue()
    for number in range(30_000):
        turns.give(str(number), 1, 1.0)
        turns.give("busy", 1, 1.0)
    assert len(turns._tags) <= 10_001
