"""What a soak leaves behind in build/soak: figures.json, minutes.csv, soak.svg and the lines for the documentation."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import msgspec

from support.soak.soak_load import SoakLoad
from support.soak.soak_watch import Minute, Pause
from tickwork.bench.resource_meter import describe_machine
from tickwork.bench.svg_plot import plot

MOST_GROWTH = 0.05
_LEAST_MINUTES = 30  # a shorter run says nothing about memory
_WARM_UP = 0.25  # of the run
_KINDS = ("server", "worker", "postgres", "harness")


class Trend(NamedTuple):
    megabytes: float  # at the end
    slope: float  # megabytes an hour
    growth: float  # from the first quarter after the warm-up to the last one


def trend(values: Sequence[float]) -> Trend:
    """Of one value a minute, without the warm-up."""
    warm = values[int(len(values) * _WARM_UP) :]
    quarter = max(len(warm) // 4, 1)
    before, after = median(warm[:quarter]), median(warm[-quarter:])
    return Trend(
        round(after, 1), round(_slope(warm) * 60, 2), round(after / before - 1, 4) if before else 0.0
    )


def growing(trends: Mapping[str, Trend], minutes: int) -> list[str]:
    if minutes < _LEAST_MINUTES:
        return []
    return [
        f"the memory of {kind} grew by {each.growth:.1%}"
        for kind, each in trends.items()
        if each.growth > MOST_GROWTH
    ]


def publish(
    folder: Path,
    load: SoakLoad,
    minutes: Sequence[Minute],
    pauses: Sequence[Pause],
    checked: Mapping[str, Any],
) -> list[str]:
    """Returns what broke a promise, in words."""
    trends = {kind: trend([getattr(minute, kind) for minute in minutes]) for kind in _KINDS}
    trends["tables"] = trend([minute.tables for minute in minutes])
    findings = [
        *(f"{name}: {number}" for name, number in checked["violations"].items() if number),
        *checked["surprises"],
        *growing({kind: trends[kind] for kind in _KINDS}, len(minutes)),
    ]
    figures = {
        "rate": load.rate,
        "minutes": load.minutes,
        "executions": load.executions,
        "kills": _by_kind(pauses),
        **checked,
        "history_bytes_per_execution": round(1e6 * minutes[-1].history / load.executions) if minutes else 0,
        "memory_and_tables": {name: each._asdict() for name, each in trends.items()},
        "memory_is_judged": len(minutes) >= _LEAST_MINUTES,
        "findings": findings,
        "machine": describe_machine(),
    }
    (folder / "figures.json").write_bytes(msgspec.json.format(msgspec.json.encode(figures)))
    (folder / "soak.svg").write_text(_picture(load, minutes))
    (folder / "soak.md").write_text("\n".join(_lines(figures)) + "\n")
    return findings


def _slope(values: Sequence[float]) -> float:
    """By least squares, for each step."""
    middle, mean = (len(values) - 1) / 2, fmean(values)
    spread = sum((place - middle) ** 2 for place in range(len(values)))
    return (
        sum((place - middle) * (value - mean) for place, value in enumerate(values)) / spread
        if spread
        else 0.0
    )


def _by_kind(pauses: Sequence[Pause]) -> dict[str, Any]:
    return {
        kind: {
            "count": len(found := [pause for pause in pauses if pause.kind == kind]),
            "pause": _summary([pause.nothing for pause in found]),
            "latest": _summary([pause.all for pause in found]),
        }
        for kind in sorted({pause.kind for pause in pauses})
    }


def _summary(seconds: Sequence[float]) -> dict[str, float]:
    return {"p50": round(median(seconds), 2), "max": round(max(seconds), 2)}


def _picture(load: SoakLoad, minutes: Sequence[Minute]) -> str:
    before = [0, *(minute.completed for minute in minutes)]
    series = {
        "Executions completed a second, by minute": [
            (each.minute, (each.completed - start) / 60) for each, start in zip(minutes, before, strict=False)
        ],
        "Milliseconds from due time to start, p99": [(each.minute, each.late_p99) for each in minutes],
        **{
            f"Memory of {kind}, MB": [(each.minute, getattr(each, kind)) for each in minutes]
            for kind in _KINDS
        },
        "Tables without history, MB": [(each.minute, each.tables) for each in minutes],
    }
    return plot(
        f"{load.minutes:g} minutes at {load.rate} executions a second, a kill every 15 seconds", series
    )


def _lines(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "| what | p50 without any start | max | kills |"
    yield "|---|---|---|---|"
    for kind, row in figures["kills"].items():
        yield f"| {kind} killed | {row['pause']['p50']:.1f} s | {row['pause']['max']:.1f} s | {row['count']} |"
    yield ""
    yield "| memory and tables | at the end | slope | growth after the warm-up |"
    yield "|---|---|---|---|"
    for name, row in figures["memory_and_tables"].items():
        yield f"| {name} | {row['megabytes']:.0f} MB | {row['slope']:+.1f} MB/h | {row['growth']:+.1%} |"
