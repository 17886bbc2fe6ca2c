"""Turns build/bench/*.json into the tables and plots of docs/explanation/performance.md."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from plot import plot

from tickwork.bench.plan import SCENARIOS

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "explanation" / "performance.md"
PLOTS = PAGE.parent / "performance"
_LARGE = 1000  # numbers from here on need no fractions
_CLASSES = {"A": "none", "B": "final state", "C": "full record"}


def main() -> None:
    page = PAGE.read_text()
    figures = [
        json.loads(path.read_text()) for name in SCENARIOS if (path := FIGURES / f"{name}.json").exists()
    ]
    if figures:
        page = _between(page, "machine", _machine(figures))
        page = _between(page, "figures", _figures(figures))
        page = _between(page, "details", "\n".join(map(_details, figures)))
    if (peers := FIGURES / "peers.json").exists():
        page = _between(page, "peers", _peers(json.loads(peers.read_text())))
    PAGE.write_text(page)


def _machine(figures: Sequence[dict[str, Any]]) -> str:
    machine = figures[0]["machine"]
    measured = sorted(figure["at"][:10] for figure in figures)
    rows = [*machine.items(), ("measured", " to ".join(dict.fromkeys((measured[0], measured[-1]))))]
    return _table(("", ""), ((name.replace("_", " "), str(value)) for name, value in rows))


def _figures(figures: Iterable[dict[str, Any]]) -> str:
    head = ("scenario", "measured", "goal", "met", "lost", "doubled")
    return _table(head, map(_figure_row, figures))


def _figure_row(figure: dict[str, Any]) -> tuple[str, ...]:
    met = "yes" if figure["met"] else "**no**"
    measured = f"{_number(figure['value'])} {figure['unit']}"
    return (
        figure["scenario"],
        measured,
        _number(figure["goal"]),
        met,
        str(figure["lost"]),
        str(figure["doubled"]),
    )


def _details(figure: dict[str, Any]) -> str:
    name, details = figure["scenario"], figure["details"]
    parts = {key: dict(_leaves(value)) for key, value in details.items() if isinstance(value, dict)}
    alike = len(parts) > 1 and len({tuple(part) for part in parts.values()}) == 1
    rest = {key: value for key, value in details.items() if key not in parts} if alike else details
    text = f"### {name}\n\n"
    if alike:
        text += _side_by_side(parts) + "\n"
    text += _table(("", ""), ((path, _number(value)) for path, value in _leaves(rest)))
    return text + _plotted(name, figure["series"])


def _side_by_side(parts: dict[str, dict[str, Any]]) -> str:
    """What was found several times, such as at several rates: a column for each time."""
    fields = next(iter(parts.values()))
    head = ("", *(_words(name) for name in parts))
    return _table(head, ((field, *(_number(part[field]) for part in parts.values())) for field in fields))


def _plotted(name: str, series: dict[str, Any]) -> str:
    if not any(series.values()):
        return ""
    PLOTS.mkdir(exist_ok=True)
    (PLOTS / f"{name}.svg").write_text(plot(name, series))
    return f"\n![{name} as a plot](performance/{name}.svg)\n"


def _leaves(details: dict[str, Any], above: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in details.items():
        path = f"{above}{_words(name)}"
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}: ")
        else:
            yield path, value


def _words(name: str) -> str:
    return re.sub(r"\d{4,}", lambda digits: f"{int(digits[0]):,}", name.replace("_", " "))


def _peers(results: Sequence[dict[str, Any]]) -> str:
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in results:
        kinds.setdefault((result["name"], result["durability"]), []).append(result)
    rows = sorted((_peer_row(turns) for turns in kinds.values()), key=lambda row: -row[0])
    head = (
        "",
        "drained/s",
        "spread",
        "enqueued/s",
        "history",
        "durability",
        "killed worker",
        "lost",
        "doubled",
        "as measured",
    )
    return _table(head, (row[1:] for row in rows))


def _peer_row(turns: Sequence[dict[str, Any]]) -> tuple[Any, ...]:
    drained = [turn["drained_per_second"] for turn in turns]
    first = turns[0]
    return (
        median(drained),
        f"{first['name']} {first['version']}",
        _number(median(drained)),
        f"{_number(min(drained))} to {_number(max(drained))}",
        _number(median(turn["enqueued_per_second"] for turn in turns)),
        f"{first['history']} ({_CLASSES[first['history']]})",
        first["durability"],
        first["delivery"],
        str(sum(turn["lost"] for turn in turns)),
        str(sum(turn["doubled"] for turn in turns)),
        f"{first['fast_path']}; {first['jobs']:,} jobs",
    )


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if value == int(value) or abs(value) >= _LARGE else f"{value:,.4g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _between(page: str, marker: str, text: str) -> str:
    """What stands between two comments of this name is replaced."""
    pattern = rf"(<!-- {marker} -->\n).*?(<!-- end of {marker} -->)"
    return re.sub(pattern, lambda found: f"{found[1]}\n{text}\n{found[2]}", page, flags=re.DOTALL)


if __name__ == "__main__":
    main()
