"""Turns build/bench/*.json into the tables and plots of docs/explanation/performance.md.

.venv/bin/python bench/report.py [--figures build/bench] [--page docs/explanation/performance.md]
"""

import argparse
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec
from bar_chart import Bar, bars
from measure_peer import PEER_SETUPS

from tickwork.bench.scenario_types import SCENARIOS, scenario
from tickwork.bench.svg_plot import plot

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "explanation" / "performance.md"
_LARGE = 1000  # numbers from here on need no fractions


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figures", type=Path, default=FIGURES)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    write(options.figures, options.page)


class _Earlier(NamedTuple):
    """What the page shows of an earlier run on the same machine."""

    rows: Mapping[str, str] = {}
    details: Mapping[str, str] = {}
    dates: Sequence[str] = ()


def write(folder: Path, file: Path, failed: Collection[str] = ()) -> None:
    """The page keeps the results of scenarios that did not run this time, if they are from the same machine. Scenarios
    that failed or were never measured are marked as such."""
    page, plots = file.read_text(), file.parent / file.stem
    if figures := _measured(folder):
        earlier = _earlier(page, list(figures.values()), failed)
        page = _between(page, "machine", _machine(list(figures.values()), earlier.dates))
        page = _between(page, "figures", _figures(figures, earlier.rows))
        details = {**earlier.details, **{name: _details(each, plots) for name, each in figures.items()}}
        page = _between(page, "details", "\n".join(details[name] for name in SCENARIOS if name in details))
    if (peers := folder / "peers.json").exists():
        page = _between(page, "peers", _peers(json.loads(peers.read_text()), plots))
    file.write_text(page)


def _measured(folder: Path) -> dict[str, dict[str, Any]]:
    """Results by scenario, without those of quick runs."""
    files = {name: folder / f"{name}.json" for name in SCENARIOS}
    figures = {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}
    is_quick = folder.name == "quick"
    return {
        name: figure
        for name, figure in figures.items()
        if is_quick or figure["plan"] != msgspec.to_builtins(scenario(name).quick)
    }


def _earlier(page: str, figures: Sequence[dict[str, Any]], failed: Collection[str]) -> _Earlier:
    machine = dict(_cells(line)[:2] for line in _within(page, "machine").splitlines() if line.startswith("|"))
    if any(machine.get(name) != value for name, value in _machine_rows(figures[0])):
        return _Earlier()  # results of two machines are not comparable
    rows = {_cells(line)[0]: line for line in _within(page, "figures").splitlines() if line.startswith("|")}
    details = re.split(r"^(?=### )", _within(page, "details").strip(), flags=re.MULTILINE)
    return _Earlier(
        {name: row for name, row in rows.items() if name not in failed},
        {
            name: text.strip() + "\n"
            for text in details
            if (name := text[4:].partition("\n")[0]) not in failed
        },
        machine.get("measured", "").split(" to "),
    )


def _machine(figures: Sequence[dict[str, Any]], earlier: Sequence[str]) -> str:
    measured = sorted([*filter(None, earlier), *(figure["at"][:10] for figure in figures)])
    rows = [
        *_machine_rows(figures[0]),
        ("measured", " to ".join(dict.fromkeys((measured[0], measured[-1])))),
        ("held equal", figures[0]["held_equal"]),
    ]
    return _table(("", ""), rows)


def _machine_rows(figure: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), str(value)) for name, value in figure["machine"].items()]


def _figures(figures: Mapping[str, dict[str, Any]], earlier: Mapping[str, str]) -> str:
    head = ("scenario", "measured", "goal", "met", "lost", "doubled")
    return _table(head, (_figure_row(name, figures.get(name), earlier.get(name)) for name in SCENARIOS))


def _figure_row(name: str, figure: dict[str, Any] | None, earlier: str | None) -> Sequence[str]:
    if figure is None:
        return _cells(earlier) if earlier else (name, "not measured", "", "", "", "")
    return (
        name,
        f"{_number(figure['value'])} {figure['unit']}",
        _number(figure["goal"]),
        "yes" if figure["met"] else "**no**",
        str(figure["lost"]),
        str(figure["doubled"]),
    )


def _details(figure: dict[str, Any], plots: Path) -> str:
    name, details = figure["scenario"], figure["details"]
    parts = {key: dict(_leaves(value)) for key, value in details.items() if isinstance(value, dict)}
    alike = len(parts) > 1 and len({tuple(part) for part in parts.values()}) == 1
    rest = {key: value for key, value in details.items() if key not in parts} if alike else details
    text = f"### {name}\n\n```sh\n{_command(name, figure['plan'])}\n```\n\n"
    if alike:
        text += _side_by_side(parts) + "\n"
    text += _table(("", ""), ((path, _number(value)) for path, value in _leaves(rest)))
    return text + _shown(name, plot(name, figure["series"]), plots)


def _command(name: str, plan: dict[str, Any]) -> str:
    """The command that repeats the measurement, with its options that differ from the defaults."""
    usual = msgspec.to_builtins(scenario(name).plan)
    words = ["tickwork", "bench", name]
    for field, value in plan.items():
        if value != usual.get(field):
            words += [f"--{field.replace('_', '-')}", *([] if value is True else [f"{value:g}"])]
    return " ".join(words)


def _side_by_side(parts: dict[str, dict[str, Any]]) -> str:
    """A column for each repeated measurement, such as one per rate."""
    fields = next(iter(parts.values()))
    head = ("", *(_words(name) for name in parts))
    return _table(head, ((field, *(_number(part[field]) for part in parts.values())) for field in fields))


def _shown(name: str, drawing: str, plots: Path) -> str:
    plots.mkdir(exist_ok=True)
    (plots / f"{name}.svg").write_text(drawing)
    return f"\n![{name} as a plot]({plots.name}/{name}.svg)\n"


def _leaves(details: dict[str, Any], above: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in details.items():
        path = f"{above}{_words(name)}"
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}: ")
        else:
            yield path, value


def _words(name: str) -> str:
    return re.sub(r"\d{4,}", lambda digits: f"{int(digits[0]):,}", name.replace("_", " "))


def _peers(document: dict[str, Any], plots: Path) -> str:
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in document["results"]:
        if "name" in result:
            kinds.setdefault((result["name"], result["durability"]), []).append(result)
    ranked = sorted(kinds.values(), key=lambda turns: -median(_rates(turns)))
    drawing = bars("Jobs drained a second", [_bar(turns) for turns in ranked])
    return (
        "\n".join(
            [
                _when(document),
                _outcomes(ranked),
                _ways(ranked),
                *_missing(document["results"]),
                _shown("peers", drawing, plots).lstrip("\n") if ranked else "",
            ]
        ).rstrip("\n")
        + "\n"
    )


def _when(document: dict[str, Any]) -> str:
    machine = document["machine"]
    return (
        f"Measured on {document['at'][:10]} by `make peers` on {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory']}, {machine['system']}, data on {machine['data_on']}: medians of {document['runs']} turns "
        f"of about {document['seconds']:g} seconds.\n"
    )


def _outcomes(ranked: Sequence[Sequence[dict[str, Any]]]) -> str:
    head = ("", "drained/s", "spread", "enqueued/s", "history", "durability", "lost", "doubled")
    return _table(head, map(_outcome, ranked))


def _outcome(turns: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    first, rates = turns[0], _rates(turns)
    return (
        first["name"],
        _number(median(rates)),
        f"{_number(min(rates))} to {_number(max(rates))}",
        _number(median(turn["enqueued_per_second"] for turn in turns)),
        first["history"],
        first["durability"],
        str(sum(turn["lost"] for turn in turns)),
        str(sum(turn["doubled"] for turn in turns)),
    )


def _ways(ranked: Sequence[Sequence[dict[str, Any]]]) -> str:
    firsts = {turns[0]["name"]: turns[0] for turns in ranked}
    head = ("", "store", "as measured", "kept of a finished job", "jobs of a killed worker")
    return _table(head, map(_way, firsts.values()))


def _way(first: dict[str, Any]) -> tuple[str, ...]:
    name = f"{first['name']} {first['version']}"
    return (name, first["store"], first["fast_path"], f"{first['history']}: {first['kept']}", first["killed"])


def _missing(results: Sequence[dict[str, Any]]) -> Iterable[str]:
    """A line for each peer without a result for every turn."""
    for name in dict.fromkeys(setup.name for setup in PEER_SETUPS):
        turns = [result for result in results if result["contest"] == name]
        reasons = [why for turn in turns if (why := turn.get("skipped") or turn.get("failed"))]
        if not turns:
            yield f"Not measured this time: {name}.\n"
        elif reasons:
            yield f"Not measured in {len(reasons)} of {len(turns)} turns: {name}, {reasons[0].splitlines()[0]}.\n"


def _bar(turns: Sequence[dict[str, Any]]) -> Bar:
    rates = _rates(turns)
    return Bar(f"{turns[0]['name']}, {turns[0]['durability']}", median(rates), min(rates), max(rates))


def _rates(turns: Sequence[dict[str, Any]]) -> list[float]:
    return [turn["drained_per_second"] for turn in turns]


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if value == int(value) or abs(value) >= _LARGE else f"{value:,.4g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _within(page: str, marker: str) -> str:
    """The text between two comments of this name."""
    return page.partition(f"<!-- {marker} -->\n")[2].partition(f"<!-- end of {marker} -->")[0]


def _between(page: str, marker: str, text: str) -> str:
    """Replaces the text between two comments of this name."""
    pattern = rf"(<!-- {marker} -->\n).*?(<!-- end of {marker} -->)"
    return re.sub(pattern, lambda found: f"{found[1]}\n{text}\n{found[2]}", page, flags=re.DOTALL)


if __name__ == "__main__":
    main()
