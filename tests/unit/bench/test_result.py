"""What a scenario tells: one line for people, one for programs, the median of several runs."""

import json
from typing import Any

import pytest

from tickwork.bench.scenario_types import ScenarioResult, curve, median_of


def figure(value: float = 51_200, **fields) -> ScenarioResult:
    given: dict[str, Any] = {
        "scenario": "s", "value": value, "unit": "executions/s", "goal": 50_000, "met": True,
        "held_equal": "", "series": {},
    }  # fmt: skip
    return ScenarioResult(**given | fields)


def test_the_line_says_value_goal_and_verdict():
    line = figure().line()
    assert line == "s: 51,200 executions/s (goal 50,000): met; lost 0, doubled 0"


def test_a_missed_goal_is_said():
    assert "missed; lost 2, doubled 1" in figure(met=False, lost=2, doubled=1).line()


@pytest.mark.parametrize(("value", "shown"), [(0.914, "0.91 "), (3, "3 "), (29.75, "29.75 ")])
def test_small_values_keep_their_digits(value, shown):
    assert figure(value).line().startswith(f"s: {shown}")


def test_the_json_is_one_line_without_what_only_a_plot_needs():
    text = figure(series={"rate": [(0.0, 1.0)]}, details={"a": 1}).json()
    assert "\n" not in text
    assert set(json.loads(text)) == {
        "scenario", "value", "unit", "goal", "met", "lost", "doubled", "details", "held_equal",
    }  # fmt: skip


def test_the_median_run_is_told_with_the_values_of_all():
    told = median_of([figure(30), figure(10), figure(20)])
    assert (told.value, told.details["runs"]) == (20, [30, 10, 20])


def test_what_was_lost_in_any_run_is_lost_in_all_of_them():
    told = median_of([figure(30, lost=1), figure(10), figure(20)])
    assert (told.lost, told.met, told.sound) == (1, False, False)


def test_a_curve_tells_how_many_of_a_hundred_were_done_within_a_time():
    points = curve(lambda share: share * 1000)
    assert points[:2] == [(0.0, 0.0), (5.0, 0.5)]
    assert points[-1] == (999.0, 99.9)
    assert points == sorted(points)
