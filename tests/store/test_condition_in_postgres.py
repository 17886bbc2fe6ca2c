"""Conditions as PostgreSQL evaluates them, against the same conditions in Python."""

from typing import Any

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tickwork.model.condition import Condition, condition_as_json_path
from tickwork.node import Node

KEYS = some.sampled_from(["a", "b", "0", 'q"\\', "ключ"])
SCALARS = some.none() | some.booleans() | some.integers(-3, 3) | some.sampled_from([0.5, "", "a", "b", "é"])
VALUES = some.recursive(
    SCALARS,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
PATHS = some.lists(KEYS | some.integers(0, 2), max_size=3)
ORDERED = some.integers(-3, 3) | some.sampled_from(["", "a", "b"])
COMPARISONS = some.one_of(
    some.fixed_dictionaries({"path": PATHS, "equals": SCALARS}),
    some.fixed_dictionaries({"path": PATHS, "in": some.lists(SCALARS, min_size=1, max_size=3)}),
    some.fixed_dictionaries({"path": PATHS, "less": ORDERED}),
    some.fixed_dictionaries({"path": PATHS, "greater": ORDERED}),
    some.fixed_dictionaries({"path": PATHS, "exists": some.booleans()}),
)
CONDITIONS = some.recursive(
    COMPARISONS,
    lambda inner: some.one_of(
        some.fixed_dictionaries({"all": some.lists(inner, min_size=1, max_size=3)}),
        some.fixed_dictionaries({"any": some.lists(inner, min_size=1, max_size=3)}),
        some.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=6,
)
MISSING = object()


def at(value: Any, path: list[str | int]) -> Any:
    for step in path:
        is_there = (
            step in value
            if isinstance(value, dict)
            else isinstance(value, list) and step in range(len(value))
        )
        if not is_there:
            return MISSING
        value = value[step]
    return value


def kind(value: Any) -> type:
    return float if type(value) is int else type(value)


def same(value: Any, other: Any) -> bool:
    return kind(value) is kind(other) and bool(value == other)


def holds(condition: dict[str, Any], result: Any) -> bool:
    match condition:
        case {"all": parts}:
            return all(holds(part, result) for part in parts)
        case {"any": parts}:
            return any(holds(part, result) for part in parts)
        case {"not": part}:
            return not holds(part, result)
    return compares(condition, at(result, condition["path"]))


def compares(condition: dict[str, Any], value: Any) -> bool:
    match condition:
        case {"exists": wanted}:
            return (value is not MISSING) is wanted
        case {"equals": other}:
            return same(value, other)
        case {"in": others}:
            return any(same(value, other) for other in others)
        case {"less": other}:
            return kind(value) is kind(other) and bool(value < other)
    return kind(value) is kind(condition["greater"]) and bool(value > condition["greater"])


@pytest.fixture
async def judging(still_node: Node, connection: asyncpg.Connection) -> asyncpg.Connection:
    return connection


async def test_postgres_and_python_agree_about_every_condition(judging: asyncpg.Connection) -> None:
    checked: list[tuple[dict[str, Any], Any]] = []

    @settings(max_examples=400, database=None, suppress_health_check=list(HealthCheck), deadline=None)
    @given(CONDITIONS, VALUES)
    def collect(condition: dict[str, Any], result: Any) -> None:
        checked.append((condition, result))

    collect()
    rows = await judging.fetch(
        "SELECT tickwork.judge('success', condition::jsonpath, 'completed', NULL,"
        " tickwork.readable_result(result))::text"
        " FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS c (condition, result, n) ORDER BY n",
        [condition_as_json_path(msgspec.convert(condition, Condition), "") for condition, _ in checked],
        [msgspec.json.encode(result) for _, result in checked],
    )
    judged = [(*pair, row[0] == "met") for pair, row in zip(checked, rows, strict=True)]
    assert [each for each in judged if holds(each[0], each[1]) is not each[2]] == []
    assert {met for *_, met in judged} == {True, False}


@pytest.mark.parametrize(
    ("path", "found"),
    [("items.0.price", True), ("items.1", False), (["items", 0, "price"], True), ("", True)],
)
async def test_a_path_is_keys_and_positions(judging: asyncpg.Connection, path: Any, found: bool) -> None:
    condition = condition_as_json_path(Condition(path=path, exists=True), "when")
    result = b'{"items": [{"price": 3}]}'
    verdict = await judging.fetchval(
        "SELECT tickwork.judge('success', $1::text::jsonpath, 'completed', NULL, tickwork.readable_result($2))::text",
        condition,
        result,
    )
    assert verdict == ("met" if found else "not taken")
