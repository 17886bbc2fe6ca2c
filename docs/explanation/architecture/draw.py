"""Draws the pictures of architecture.md: the packages from pyproject.toml, the way of a job from the page's tables."""

import re
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = HERE.parent / "architecture.md"

CAPTIONS = {
    "cli": "commands",
    "testing": "public test kit",
    "demo": "the shop of up --demo",
    "bench": "measurements",
    "api": "HTTP, one resource per file",
    "node": "composition root: builds one server",
    "node_*": "database, channels, events, pings, metrics",
    "builtin_worker": "HTTP jobs, deliveries",
    "overview": "how things stand",
    "timeline": "past and future",
    "sdk": "user's app",
    "access": "API keys",
    "define": "1 stored job",
    "trigger": "2 fire",
    "dispatch": "3 lease",
    "execute": "4 run",
    "record": "5 outcome",
    "ping": "what runs elsewhere",
    "tracing": "OpenTelemetry spans of executions",
    "store": "the only SQL",
    "client": "REST and worker clients",
    "outbox": "user's own database",
    "schedule": "the language of when, pure",
    "execution_metrics": "shared by the stages",
    "config": "settings",
    "log_setup": "log format",
    "log_rate_limit": "few lines of a kind",
    "fixed_window_limit": "few requests of one",
    "inprocess_connection": "a worker in this process",
    "loop": "loops of a node",
    "model": "words: frozen values, no I/O",
}
STAGES = {"define", "trigger", "dispatch", "execute", "record"}

WIDTH, ROW, GAP = 1040, 58, 8
_LONG, _LONGEST = 22, 30  # characters of a file name
_LETTER = 9  # the width of a letter of a name
_STYLE = """
  <style>
    text { font-family: system-ui, sans-serif; fill: #1c2733; }
    .name { font-size: 14px; font-weight: 600; }
    .file { font-size: 12px; font-weight: 600; }
    .long { font-size: 10.5px; font-weight: 600; }
    .longest { font-size: 9px; font-weight: 600; }
    .small { font-size: 11px; fill: #51606f; }
    .box { fill: #f4f6f8; stroke: #a9b6c2; }
    .stage { fill: #dcebfa; stroke: #4f8fc9; }
    .line { stroke: #4f8fc9; stroke-width: 2; fill: none; }
  </style>"""


def layers() -> list[list[str]]:
    """The rows of packages, from the surface down to the words."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    rows = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [_with_node_as_one(re.findall(r"tickwork\.(\w+)", row)) for row in rows]


def _with_node_as_one(names: list[str]) -> list[str]:
    """The files that a node is composed of have one box."""
    return list(dict.fromkeys("node_*" if name.startswith("node_") else name for name in names))


def way() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each stage with the files and functions that a job goes through."""
    table = PAGE.read_text().split("<!-- way of a job -->")[1].split("<!-- end")[0]
    for part in table.split("### ")[1:]:
        yield (
            part.split("\n", 1)[0],
            re.findall(r"^\| `src/tickwork/([^`]+)` \| `(\w+)` \|", part, re.MULTILINE),
        )


def packages_picture() -> str:
    rows = layers()
    shapes = [shape for number, row in enumerate(rows) for shape in _row(number, row)]
    return _svg(len(rows) * (ROW + GAP) + GAP, shapes)


def _row(number: int, names: list[str]) -> Iterator[str]:
    width = (WIDTH - GAP) / len(names)
    for place, name in enumerate(names):
        x, y = GAP + place * width, GAP + number * (ROW + GAP)
        yield _box(x, y, width - GAP, ROW, "stage" if name in STAGES else "box")
        middle = x + (width - GAP) / 2
        yield _text(middle, y + 26, name, "name" if len(name) * _LETTER < width else "long")
        yield _text(middle, y + 44, CAPTIONS.get(name, ""), "small")


def way_picture() -> str:
    stages = list(way())
    width = (WIDTH - GAP) / len(stages)
    height = 60 + max(len(steps) for _, steps in stages) * (ROW - 4)
    shapes = [
        shape for place, stage in enumerate(stages) for shape in _column(GAP + place * width, width, *stage)
    ]
    arrows = [_arrow(GAP + place * width - GAP, 28) for place in range(1, len(stages))]
    return _svg(height, shapes + arrows)


def _column(x: float, width: float, stage: str, steps: list[tuple[str, str]]) -> Iterator[str]:
    middle = x + (width - GAP) / 2
    yield _box(x, GAP, width - GAP - 8, 40, "stage")
    yield _text(middle - 4, 33, stage, "name")
    for number, (file, function) in enumerate(steps):
        y = 60 + number * (ROW - 4)
        folder, _, name = file.rpartition("/")
        yield _box(x, y, width - GAP - 8, ROW - 10, "box")
        yield _text(middle - 4, y + 15, f"{folder}/" if folder else "", "small")
        size = "longest" if len(name) > _LONGEST else "long" if len(name) > _LONG else "file"
        yield _text(middle - 4, y + 29, name, size)
        yield _text(middle - 4, y + 43, function, "small")


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return (
        f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}" text-anchor="middle">{escape(text)}</text>'
        if text
        else ""
    )


def _arrow(x: float, y: float) -> str:
    return f'<path class="line" d="M{x - 7:.0f} {y - 6:.0f} l7 6 l-7 6"/>'


def _svg(height: float, shapes: list[str]) -> str:
    body = "\n  ".join(filter(None, shapes))
    background = f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img">'
    return f"{head}{_STYLE}\n  {background}\n  {body}\n</svg>\n"


PICTURES = {"packages.svg": packages_picture, "way-of-a-job.svg": way_picture}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw())
