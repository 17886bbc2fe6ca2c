"""Plots as SVG: lines, one panel below the other because their units differ, and bars."""

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10
from typing import NamedTuple

_WIDTH, _PANEL, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 180, 80, 20, 30, 30
_INK, _LINE, _GRID = "#555", "#2563eb", "#ddd"
_NAMES, _VALUES, _ROW = 240, 70, 26  # beside the bars, and for each
_STEPS = 4
_TOPS = (1, 2, 4, 6, 8, 10)
_LARGE = 100  # numbers from here on need no fractions

Points = Sequence[Sequence[float]]


class Bar(NamedTuple):
    name: str
    value: float
    least: float
    most: float


def plot(title: str, series: Mapping[str, Points]) -> str:
    panels = {name: points for name, points in series.items() if points}
    drawn = "\n".join(
        f'<g transform="translate(0 {_PANEL * place})">{_panel(name, points)}</g>'
        for place, (name, points) in enumerate(panels.items())
    )
    return _drawing(title, _PANEL * len(panels), drawn)


def bars(title: str, rows: Sequence[Bar]) -> str:
    """From the same zero, with a thin line from the least to the most of each."""
    across = (_WIDTH - _NAMES - _VALUES) / (max((row.most for row in rows), default=0) or 1.0)
    drawn = "\n".join(_bar(row, _ROW * place + _TOP, across) for place, row in enumerate(rows))
    heading = f'<text x="{_NAMES}" y="18" fill="{_INK}">{escape(title)}</text>\n'
    return _drawing(title, _TOP + _ROW * len(rows), heading + drawn)


def _bar(row: Bar, top: int, across: float) -> str:
    middle = top + _ROW / 2
    return (
        f'<text x="{_NAMES - 8}" y="{middle + 1:.1f}" text-anchor="end" fill="{_INK}">{escape(row.name)}</text>'
        f'<rect x="{_NAMES}" y="{top}" width="{row.value * across:.1f}" height="{_ROW - 8}" fill="{_LINE}"/>'
        f'<path d="M{_NAMES + row.least * across:.1f} {middle - 4:.1f}H{_NAMES + row.most * across:.1f}" '
        f'stroke="{_INK}"/>'
        f'<text x="{_NAMES + row.most * across + 6:.1f}" y="{middle + 1:.1f}" fill="{_INK}">{_number(row.value)}</text>'
    )


def _drawing(title: str, height: int, drawn: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>{escape(title)}</title>\n'
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>\n{drawn}\n</svg>\n'
    )


def _panel(name: str, points: Points) -> str:
    begin, end = points[0][0], points[-1][0]
    most = _round_above(max(value for _, value in points))
    across = (_WIDTH - _LEFT - _RIGHT) / ((end - begin) or 1.0)
    up = (_PANEL - _TOP - _BOTTOM) / most
    path = " ".join(
        f"{_LEFT + (at - begin) * across:.1f},{_PANEL - _BOTTOM - value * up:.1f}" for at, value in points
    )
    return (
        f'<text x="{_LEFT}" y="18" fill="{_INK}">{escape(name)}</text>{_scale(most, up)}{_ends(begin, end)}'
        f'<polyline fill="none" stroke="{_LINE}" stroke-width="1.5" points="{path}"/>'
    )


def _round_above(value: float) -> float:
    """A number that four steps divide well."""
    power = 10.0 ** floor(log10(value)) if value > 0 else 1.0
    return next(top * power for top in _TOPS if top * power >= value)


def _scale(most: float, up: float) -> str:
    parts = []
    for step in range(_STEPS + 1):
        value = most * step / _STEPS
        y = _PANEL - _BOTTOM - value * up
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="{_GRID}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="{_INK}">{_number(value)}</text>'
        )
    return "".join(parts)


def _ends(begin: float, end: float) -> str:
    y = _PANEL - 12
    return (
        f'<text x="{_LEFT}" y="{y}" fill="{_INK}">{_number(begin)}</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="{y}" text-anchor="end" fill="{_INK}">{_number(end)}</text>'
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= _LARGE else f"{value:.3g}"
