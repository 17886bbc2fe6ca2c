"""Bar charts as SVG, with the spread of each value."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from tickwork.bench.svg_plot import INK, LINE, TOP, WIDTH, number_text, svg_document

_NAMES, _VALUES, _ROW = 240, 70, 26  # widths beside the bars, and the height of each


class Bar(NamedTuple):
    name: str
    value: float
    least: float
    most: float


def bars(title: str, rows: Sequence[Bar]) -> str:
    """All bars begin at zero. A thin line shows the least and the greatest measured value."""
    across = (WIDTH - _NAMES - _VALUES) / (max((row.most for row in rows), default=0) or 1.0)
    drawn = "\n".join(_bar(row, _ROW * place + TOP, across) for place, row in enumerate(rows))
    heading = f'<text x="{_NAMES}" y="18" fill="{INK}">{escape(title)}</text>\n'
    return svg_document(title, TOP + _ROW * len(rows), heading + drawn)


def _bar(row: Bar, top: int, across: float) -> str:
    middle = top + _ROW / 2
    return (
        f'<text x="{_NAMES - 8}" y="{middle + 1:.1f}" text-anchor="end" fill="{INK}">{escape(row.name)}</text>'
        f'<rect x="{_NAMES}" y="{top}" width="{row.value * across:.1f}" height="{_ROW - 8}" fill="{LINE}"/>'
        f'<path d="M{_NAMES + row.least * across:.1f} {middle - 4:.1f}H{_NAMES + row.most * across:.1f}" '
        f'stroke="{INK}"/>'
        f'<text x="{_NAMES + row.most * across + 6:.1f}" y="{middle + 1:.1f}" fill="{INK}">'
        f"{number_text(row.value)}</text>"
    )
