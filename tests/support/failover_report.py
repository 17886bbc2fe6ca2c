"""What a failover run tells: a table, the figures as JSON, and a plot of the pauses. All go to build/failover."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from statistics import median
from typing import Any

import msgspec

from support.docs_page import ROOT
from support.failover_probes import Pause
from tickwork.bench.svg_plot import plot

_FOLDER = ROOT / "build/failover"
_COLUMNS = ("database without writes", "then HAProxy servers", "then multi-host servers", "then attempts")


_UNKNOWN = -1.0  # in a plot, for what did not happen


def publish(mode: str, pauses: Sequence[Pause], figures: Mapping[str, Any]) -> str:
    """The table."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    told = {"mode": mode, **figures, "pauses": [pause._asdict() for pause in pauses]}
    (_FOLDER / f"{mode}.json").write_bytes(msgspec.json.format(msgspec.json.encode(told)))
    (_FOLDER / f"pauses-{mode}.svg").write_text(_plot(mode, pauses))
    table = "\n".join(_table(pauses))
    (_FOLDER / f"{mode}.md").write_text(f"{table}\n")
    return table


def _plot(mode: str, pauses: Sequence[Pause]) -> str:
    numbered = [*enumerate(map(_finite, pauses), 1)]
    kinds = [*pauses[0].servers] if pauses else []
    series = {
        "Seconds in which the database took no write, by fault": [
            (n, pause.database) for n, pause in numbered
        ],
        **{
            f"Seconds from then until servers by {kind} took a job": [
                (n, pause.servers[kind]) for n, pause in numbered
            ]
            for kind in kinds
        },
        "Seconds from then until an attempt began": [(n, pause.runs) for n, pause in numbered],
    }
    return plot(f"Pauses of {len(pauses)} faults, {mode} replication", series)


def _finite(pause: Pause) -> Pause:
    servers = {kind: seconds if isfinite(seconds) else _UNKNOWN for kind, seconds in pause.servers.items()}
    return pause._replace(servers=servers, runs=pause.runs if isfinite(pause.runs) else _UNKNOWN)


def _table(pauses: Sequence[Pause]) -> Iterator[str]:
    yield f"| fault | times | {' | '.join(f'{column}: p50, max' for column in _COLUMNS)} |"
    yield "|---|---|---|---|---|---|"
    for kind in dict.fromkeys(pause.kind for pause in pauses):
        of_kind = [pause for pause in pauses if pause.kind == kind]
        columns = (
            [pause.database for pause in of_kind],
            [pause.servers["haproxy"] for pause in of_kind],
            [pause.servers["hosts"] for pause in of_kind],
            [pause.runs for pause in of_kind],
        )
        cells = " | ".join(f"{median(column):.1f}, {max(column):.1f} s" for column in columns)
        yield f"| {kind} | {len(of_kind)} | {cells} |"
