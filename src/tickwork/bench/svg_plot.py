"""Line plots as SVG, one panel below the other because their units differ."""

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10

WIDTH, _PANEL, _LEFT, _RIGHT, TOP, _BOTTOM = 720, 180, 80, 20, 30, 30
INK, LINE, _GRID = "#555", "#2563eb", "#ddd"
_STEPS = 4
_SCALE_TOPS = (1, 2, 4, 6, 8, 10)
_WHOLE_NUMBERS_FROM = 100  # numbers from here on need no fractions

Points = Sequence[Sequence[float]]


def plot(title: str, series: Mapping[str, Points]) -> str:
    panels = {name: points for name, points in series.items() if points}
    drawn = "\n".join(
        f'<g transform="translate(0 {_PANEL * place})">{_panel(name, points)}</g>'
        for place, (name, points) in enumerate(panels.items())
    )
    return svg_document(title, _PANEL * len(panels), drawn)


def svg_document(title: str, height: int, drawn: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>{escape(title)}</title>\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n{drawn}\n</svg>\n'
    )


def _panel(name: str, points: Points) -> str:
    begin, end = points[0][0], points[-1][0]
    most = _scale_top(max(value for _, value in points))
    across = (WIDTH - _LEFT - _RIGHT) / ((end - begin) or 1.0)
    up = (_PANEL - TOP - _BOTTOM) / most
    path = " ".join(
        f"{_LEFT + (at - begin) * across:.1f},{_PANEL - _BOTTOM - value * up:.1f}" for at, value in points
    )
    return (
        f'<text x="{_LEFT}" y="18" fill="{INK}">{escape(name)}</text>{_scale(most, up)}{_ends(begin, end)}'
        f'<polyline fill="none" stroke="{LINE}" stroke-width="1.5" points="{path}"/>'
    )


def _scale_top(value: float) -> float:
    """A number that four steps divide well."""
    power = 10.0 ** floor(log10(value)) if value > 0 else 1.0
    return next(top * power for top in _SCALE_TOPS if top * power >= value)


def _scale(most: float, up: float) -> str:
    parts = []
    for step in range(_STEPS + 1):
        value = most * step / _STEPS
        y = _PANEL - _BOTTOM - value * up
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="{_GRID}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="{INK}">{number_text(value)}</text>'
        )
    return "".join(parts)


def _ends(begin: float, end: float) -> str:
    y = _PANEL - 12
    return (
        f'<text x="{_LEFT}" y="{y}" fill="{INK}">{number_text(begin)}</text>'
        f'<text x="{WIDTH - _RIGHT}" y="{y}" text-anchor="end" fill="{INK}">{number_text(end)}</text>'
    )


def number_text(value: float) -> str:
    return f"{value:,.0f}" if value >= _WHOLE_NUMBERS_FROM else f"{value:.3g}"
