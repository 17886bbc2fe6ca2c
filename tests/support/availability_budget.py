"""What each fault costs in a year, from the pauses that were measured: `python -m support.availability_budget FILE...`.

The files are those that `make chaos` leaves in build/chaos, and build/soak/figures.json of `make soak`. The table is
written into docs/operate/service-levels.md."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from support.docs_page import ROOT

PAGE = ROOT / "docs/operate/service-levels.md"
_BEGIN, _END = "<!-- availability budget -->\n", "<!-- end of availability budget -->"
_BUDGET = 52.6 * 60  # seconds a year without firing that 99.99 % allows


class Assumed(NamedTuple):
    """How often something happens to one installation in a year, and which measured faults are like it."""

    what: str
    times: int
    faults: tuple[str, ...]


ASSUMED = (
    Assumed("a server dies", 12, ("server killed", "server")),
    Assumed("a server is stopped for an update", 52, ("server told to stop",)),
    Assumed("a server hangs", 4, ("server frozen",)),
    Assumed("a worker dies or hangs", 24, ("worker killed", "worker", "worker frozen", "rest worker killed")),
    Assumed("PostgreSQL crashes and recovers", 6, ("postmaster killed", "postmaster", "backend")),
    Assumed("PostgreSQL is restarted for an update", 12, ("postgres restarted fast", "postgres restarted at once")),
    Assumed("PostgreSQL hangs", 4, ("postgres frozen", "backend frozen")),
    Assumed("PostgreSQL's disk is full", 1, ("disk full",)),
    Assumed("PostgreSQL is read-only or has no connection left", 4, ("database read only", "connections used up")),
    Assumed("PgBouncer restarts", 12, ("pgbouncer restarted",)),
    Assumed(
        "a network is cut, silent or lossy", 24,
        (
            "database cut off", "database out of reach", "database lossy", "database far away", "worker cut off",
            "worker out of reach", "worker lossy", "server cut off", "server out of reach", "host silent",
            "host hears nothing", "host reaches nobody",
        ),
    ),
    Assumed("a clock is set", 4, ("clock of server set", "clock of worker set")),
)  # fmt: skip


class Cost(NamedTuple):
    what: str
    measured: int  # faults
    typical: float  # seconds of one
    longest: float
    times: int  # a year, assumed

    @property
    def seconds(self) -> float:
        return self.typical * self.times

    @property
    def most(self) -> float:
        return self.longest * self.times


def costs(measured: Iterable[Mapping[str, Any]]) -> list[Cost]:
    """Of what was measured. What is typical is the median of the worst kind of fault."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for figures in measured:
        for kind, row in {**figures.get("kinds", {}), **_kills(figures)}.items():
            kinds.setdefault(kind, []).append(row)
    return [
        Cost(
            each.what,
            sum(row["count"] for row in rows),
            max(row["pause"]["p50"] for row in rows),
            max(row["pause"]["max"] for row in rows),
            each.times,
        )
        for each in ASSUMED
        if (rows := [row for fault in each.faults for row in kinds.get(fault, ())])
    ]


def table(found: Sequence[Cost]) -> Iterator[str]:
    yield "| what happens | measured | typical, longest pause | assumed a year | seconds a year: typical, longest |"
    yield "|---|---|---|---|---|"
    for cost in found:
        yield (
            f"| {cost.what} | {cost.measured} | {cost.typical:.1f} s, {cost.longest:.1f} s | {cost.times} "
            f"| {cost.seconds:.0f}, {cost.most:.0f} |"
        )
    typical, longest = sum(cost.seconds for cost in found), sum(cost.most for cost in found)
    yield f"| **all** | {sum(cost.measured for cost in found)} | | | **{typical:.0f}, {longest:.0f}** |"
    yield ""
    yield (
        f"99.99 % allows {_BUDGET / 60:.1f} minutes a year. This is {typical / 60:.1f} minutes, or {_share(typical)} "
        f"of the budget; {longest / 60:.1f} minutes, or {_share(longest)}, if each took as long as the longest."
    )


def _kills(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Of a soak."""
    kills = figures.get("kills", {})
    return kills if isinstance(kills, dict) else {}


def _share(seconds: float) -> str:
    return f"{seconds / _BUDGET:.0%}"


def main(files: Sequence[str]) -> None:
    found = costs([msgspec.json.decode(Path(file).read_bytes()) for file in files])
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    lines = "\n".join(table(found))
    PAGE.write_text(f"{before}{_BEGIN}{lines}\n{_END}{after}", "utf-8")
    sys.stdout.write(f"{lines}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
