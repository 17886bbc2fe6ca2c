"""When the next attempt comes, and after which errors there is none."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwork.model.job import RetryRequest
from tickwork.model.retry_policy import RetryPolicy

TEN_YEARS = 3_660 * 86_400.0
FAILURES = st.integers(1, 100)
AT_LEAST = st.floats(0, 86_400)
POLICIES = st.builds(
    RetryPolicy,
    backoff=st.sampled_from(["exponential", "linear", "fixed"]),
    initial=st.floats(0, TEN_YEARS),
    factor=st.floats(1, 100),
    max=st.floats(0, TEN_YEARS),
    jitter=st.floats(0, 1),
)


@pytest.mark.parametrize(
    ("backoff", "expected"),
    [("exponential", [1, 2, 4, 8, 10, 10]), ("linear", [1, 2, 3, 4, 5, 6]), ("fixed", [1] * 6)],
)
def test_the_pauses_grow_as_the_backoff_says_up_to_the_longest(backoff, expected):
    policy = RetryPolicy(backoff=backoff, max=10.0, jitter=0)
    assert [policy.delay(failures).total_seconds() for failures in range(1, 7)] == expected


@given(POLICIES, FAILURES, AT_LEAST)
def test_jitter_only_shortens_and_what_the_target_asks_for_is_kept(policy, failures, at_least):
    longest = min(_plain(policy, failures), policy.max)
    delay = policy.delay(failures, at_least=at_least)
    resolution = timedelta(microseconds=1)
    assert delay <= timedelta(seconds=max(longest, at_least)) + resolution
    assert delay >= timedelta(seconds=max(longest * (1 - policy.jitter), at_least)) - resolution


@given(POLICIES, FAILURES)
def test_without_jitter_a_pause_is_never_shorter_than_the_one_before(policy, failures):
    steady = RetryPolicy(policy.max_attempts, policy.backoff, policy.initial, policy.factor, policy.max, 0.0)
    assert steady.delay(failures + 1) >= steady.delay(failures)


def test_a_pause_beyond_all_numbers_is_the_longest():
    policy = RetryPolicy(initial=TEN_YEARS, factor=100.0, max=TEN_YEARS, jitter=0)
    assert policy.delay(10_000) == timedelta(seconds=TEN_YEARS)


@pytest.mark.parametrize(
    ("only_on", "never_on", "kinds", "refusal"),
    [
        ([], [], ["ValueError"], None),
        (["ConnectionError"], [], ["ConnectionResetError", "ConnectionError", "OSError"], None),
        (["ConnectionError"], [], ["ValueError", "Exception"], "ValueError is not in only_on"),
        ([], ["ValueError"], ["json.JSONDecodeError", "ValueError"], "ValueError is in never_on"),
        (
            [],
            ["JSONDecodeError"],
            ["json.decoder.JSONDecodeError", "ValueError"],
            "JSONDecodeError is in never_on",
        ),
        ([], ["other.JSONDecodeError"], ["json.decoder.JSONDecodeError"], None),
        ([], ["Error"], ["ValueError"], None),
        (["OSError"], ["TimeoutError"], ["TimeoutError", "OSError"], "TimeoutError is in never_on"),
        (["Http5xx", "Timeout"], [], ["Http503", "Http5xx"], None),
        (["Http5xx", "Timeout"], ["Http501"], ["Http501", "Http5xx"], "Http501 is in never_on"),
        (["Http5xx", "Timeout"], [], ["Timeout"], None),
        (["Http5xx", "Timeout"], [], ["Http404", "Http4xx"], "Http404 is not in only_on"),
    ],
)
def test_errors_are_chosen_by_their_name_or_that_of_a_class_they_derive_from(
    only_on, never_on, kinds, refusal
):
    policy = RetryRequest(only_on=only_on, never_on=never_on).policy()
    assert policy.refusal(kinds) == refusal


def _plain(policy: RetryPolicy, failures: int) -> float:
    match policy.backoff:
        case "fixed":
            return policy.initial
        case "linear":
            return policy.initial * failures
        case _:
            return policy.initial * policy.factor ** (failures - 1)
