"""Conditions on results: what is refused when they are given, with the field and the fix."""

from typing import Any

import msgspec
import pytest

from tickwork.model.condition import Condition, condition_as_json_path
from tickwork.model.errors import Invalid


def refused(condition: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as raised:
        condition_as_json_path(msgspec.convert(condition, Condition), "when")
    return [(error.path, error.message) for error in raised.value.errors]


def nested(depth: int) -> dict[str, Any]:
    return {"equals": 1} if depth == 1 else {"not": nested(depth - 1)}


@pytest.mark.parametrize(
    ("condition", "path", "message"),
    [
        ({}, "when", "has nothing to compare with"),
        ({"path": "a"}, "when", "has nothing to compare with"),
        ({"equals": 1, "less": 2}, "when", "has equals and less"),
        ({"path": "a", "all": [{"equals": 1}]}, "when.path", "has no meaning beside all"),
        ({"all": [{"equals": 1}, {"not": {}}]}, "when.all[1].not", "has nothing to compare with"),
        (
            {"path": "a\0", "exists": True},
            "when",
            "contains the character U+0000, which no result can contain",
        ),
        (nested(9), "when" + ".not" * 8, "is nested more than 8 deep"),
    ],
)
def test_a_condition_that_means_nothing_is_refused_with_its_field(condition, path, message):
    assert refused(condition) == [(path, message)]


def test_every_mistake_is_named_at_once():
    assert [path for path, _ in refused({"any": [{}, {"path": "a"}]})] == ["when.any[0]", "when.any[1]"]


def test_too_many_conditions_are_refused():
    assert refused({"all": [{"any": [{"equals": 1}] * 50}] * 2})[-1] == (
        "when",
        "has 103 conditions; at most 100 are allowed",
    )


def test_a_depth_of_eight_is_allowed():
    assert condition_as_json_path(msgspec.convert(nested(8), Condition), "when").startswith("strict ")


@pytest.mark.parametrize(
    "condition",
    [
        {"equals": [1]},
        {"equals": {}},
        {"less": True},
        {"in": []},
        {"sql": "x"},
        {"path": [-1], "exists": True},
    ],
)
def test_what_is_no_condition_is_refused_by_its_type(condition):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(condition, Condition)
