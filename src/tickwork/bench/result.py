"""What a scenario found out."""

from collections.abc import Callable
from statistics import median_low
from typing import Any

import msgspec

Curve = list[tuple[float, float]]
Series = dict[str, Curve]
_PER_MILLE = (*range(5, 1000, 5), 999)


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    scenario: str
    value: float
    unit: str
    goal: float
    met: bool
    lost: int = 0  # due or created, and never run or never recorded
    doubled: int = 0  # run more often than due
    details: dict[str, Any] = {}
    held_equal: str
    series: Series  # for the plot: a panel for each

    @property
    def sound(self) -> bool:
        return not self.lost and not self.doubled

    def line(self) -> str:
        """For people."""
        verdict = "met" if self.met else "missed"
        return (
            f"{self.scenario}: {_number(self.value)} {self.unit} (goal {_number(self.goal)}): {verdict}; "
            f"lost {self.lost:,}, doubled {self.doubled:,}"
        )

    def json(self) -> str:
        """For programs: one line, without what only a plot needs."""
        fields = msgspec.structs.asdict(self)
        del fields["series"]
        return msgspec.json.encode(fields).decode()


def curve(milliseconds: Callable[[float], float]) -> Curve:
    """How many of a hundred were done within how many milliseconds."""
    return [(0.0, 0.0), *((milliseconds(share / 1000), share / 10) for share in _PER_MILLE)]


def median_of(runs: list[Figure]) -> Figure:
    """The run in the middle, with the values of all, and with all that was lost or doubled in any."""
    middle = median_low(run.value for run in runs)
    chosen = next(run for run in runs if run.value == middle)
    if len(runs) == 1:
        return chosen
    lost, doubled = sum(run.lost for run in runs), sum(run.doubled for run in runs)
    return msgspec.structs.replace(
        chosen,
        lost=lost,
        doubled=doubled,
        met=chosen.met and not lost and not doubled,
        details={**chosen.details, "runs": [run.value for run in runs]},
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.2f}"  # noqa: PLR2004 (three digits)
