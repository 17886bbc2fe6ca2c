"""The shape of JSON, told from its bytes, against what a decoder says."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwork.api import request_body as shape
from tickwork.api.request_body import TooManyValues, nests_deeper

TREES = st.recursive(
    st.text(alphabet='ab\\"[]{},é') | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='a"\\[{,'), inner, max_size=4)
    ),
    max_leaves=20,
)


def depth(value):
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def values(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(values, inner))


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    monkeypatch.setattr(shape, "_SLICE", 7)
    monkeypatch.setattr(shape, "_GLANCE", 20)


@given(tree=TREES)
def test_the_depth_is_that_of_the_value(tree):
    text = json.dumps(tree, ensure_ascii=False).encode()
    assert not nests_deeper(text, depth(tree), 1000)
    assert depth(tree) == 0 or nests_deeper(text, depth(tree) - 1, 1000)


@given(tree=TREES)
def test_no_value_is_overlooked_and_none_counts_more_than_twice(tree):
    text = json.dumps(tree).encode()
    assert not nests_deeper(text, 1000, 2 * values(tree))
    if values(tree) > 2:
        with pytest.raises(TooManyValues):
            nests_deeper(text, 1000, values(tree) - 2)


def test_what_stands_in_quotes_counts_for_nothing():
    assert not nests_deeper(b'["' + b'[{,\\"' * 1000 + b'"]', 1, 2)


def test_a_bytearray_is_read_as_well():
    assert nests_deeper(bytearray(b"[[[[[[[[[[[[]]]]]]]]]]]]"), 11, 100)
