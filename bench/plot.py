"""A line plot as SVG: one panel for each series, one below the other, because their units differ."""

from collections.abc import Sequence
from html import escape

_WIDTH, _PANEL, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 180, 80, 20, 30, 30
_INK, _LINE, _GRID = "#555", "#2563eb", "#ddd"
_STEPS = 4
_LARGE = 100  # numbers from here on need no fractions

Points = Sequence[Sequence[float]]


def plot(title: str, series: dict[str, Points]) -> str:
    panels = {name: points for name, points in series.items() if points}
    height = _PANEL * len(panels)
    drawn = "\n".join(
        f'<g transform="translate(0 {_PANEL * place})">{_panel(name, points)}</g>'
        for place, (name, points) in enumerate(panels.items())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>{escape(title)}</title>\n'
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>\n{drawn}\n</svg>\n'
    )


def _panel(name: str, points: Points) -> str:
    begin, end = points[0][0], points[-1][0]
    most = max(value for _, value in points) or 1.0
    across = (_WIDTH - _LEFT - _RIGHT) / ((end - begin) or 1.0)
    up = (_PANEL - _TOP - _BOTTOM) / most
    path = " ".join(
        f"{_LEFT + (at - begin) * across:.1f},{_PANEL - _BOTTOM - value * up:.1f}" for at, value in points
    )
    return (
        f'<text x="{_LEFT}" y="18" fill="{_INK}">{escape(name)}</text>{_scale(most, up)}{_ends(begin, end)}'
        f'<polyline fill="none" stroke="{_LINE}" stroke-width="1.5" points="{path}"/>'
    )


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
