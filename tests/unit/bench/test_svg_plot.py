"""Plots: a panel for each series, scaled by round numbers."""

import re

import pytest

from tickwork.bench.svg_plot import plot


@pytest.mark.parametrize(
    ("most", "marks"),
    [
        (99.9, ["0", "25", "50", "75", "100"]),
        (52_000, ["0", "15,000", "30,000", "45,000", "60,000"]),
        (1.0, ["0", "0.25", "0.5", "0.75", "1"]),
        (0.0, ["0", "0.25", "0.5", "0.75", "1"]),
    ],
)
def test_the_scale_has_round_numbers(most, marks):
    drawn = plot("some", {"rate": [(0.0, 0.0), (10.0, most)]})
    assert re.findall(r'text-anchor="end" fill="#555">([^<]+)<', drawn) == [*marks, "10"]


def test_there_is_a_panel_for_each_series_that_has_points():
    drawn = plot("some", {"a < b": [(0.0, 1.0), (1.0, 2.0)], "c": [(0.0, 1.0)], "empty": []})
    assert drawn.count("<polyline") == 2
    assert "a &lt; b" in drawn
    assert "empty" not in drawn
