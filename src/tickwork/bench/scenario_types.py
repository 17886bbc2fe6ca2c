"""What a scenario takes and returns: its options, which the command offers, a progress display, and its result."""

import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from statistics import median_low
from time import monotonic
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

Seconds: TypeAlias = Annotated[float, Meta(gt=0)]
Many: TypeAlias = Annotated[int, Meta(ge=1)]

SCENARIOS = (
    "throughput-recurring",
    "throughput-oneoff",
    "lateness",
    "burst",
    "scale",
    "concurrent",
    "http",
    "api",
    "cost",
    "fairness",
    "search",
)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The options of every scenario. Each scenario adds its own."""

    seconds: Annotated[Seconds, Meta(description="How long to measure.")] = 60.0
    warm_up: Annotated[Seconds, Meta(description="How long to run before, in seconds.")] = 15.0


_UPDATE_INTERVAL = 0.5  # seconds between updates


class ProgressLine:
    """Shows progress on stderr: one line that is overwritten on a terminal, otherwise a line every few seconds."""

    def __init__(self) -> None:
        self._begun = monotonic()
        self._shown = 0.0
        self._live = sys.stderr.isatty()

    def say(self, text: str) -> None:
        self._end_line()
        sys.stderr.write(self._timed(text) + "\n")
        sys.stderr.flush()

    def update(self, text: str) -> None:
        now = monotonic()
        if now - self._shown < (_UPDATE_INTERVAL if self._live else 10 * _UPDATE_INTERVAL):
            return
        self._shown = now
        sys.stderr.write(f"\r\x1b[K{self._timed(text)}" if self._live else self._timed(text) + "\n")
        sys.stderr.flush()

    def counter(self, what: str, of: int) -> Callable[[int], None]:
        done = 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            self.update(f"{what}: {done:,} of {of:,}")

        return count

    def _timed(self, text: str) -> str:
        return f"{monotonic() - self._begun:6.1f} s  {text}"

    def _end_line(self) -> None:
        if self._live and self._shown:
            sys.stderr.write("\r\x1b[K")


Curve = list[tuple[float, float]]
Series = dict[str, Curve]
_PER_MILLE = (*range(5, 1000, 5), 999)


class ScenarioResult(msgspec.Struct, frozen=True, kw_only=True):
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
        """The result in one sentence."""
        verdict = "met" if self.met else "missed"
        return (
            f"{self.scenario}: {_number(self.value)} {self.unit} (goal {_number(self.goal)}): {verdict}; "
            f"lost {self.lost:,}, doubled {self.doubled:,}"
        )

    def json(self) -> str:
        """One line of JSON, without the series of the plot."""
        fields = msgspec.structs.asdict(self)
        del fields["series"]
        return msgspec.json.encode(fields).decode()


def curve(milliseconds: Callable[[float], float]) -> Curve:
    """The percentage that was done, by milliseconds."""
    return [(0.0, 0.0), *((milliseconds(share / 1000), share / 10) for share in _PER_MILLE)]


def median_of(runs: list[ScenarioResult]) -> ScenarioResult:
    """The run with the median value, with the values of all runs and everything that any run lost or doubled."""
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


class Scenario(NamedTuple):
    name: str
    about: str
    plan: Plan
    quick: Plan
    run: Callable[[ProgressLine, Plan], Awaitable[ScenarioResult]]


def scenario(name: str) -> Scenario:
    module = import_module(f"tickwork.bench.scenario.{name.replace('-', '_')}")
    return Scenario(name, module.__doc__ or "", module.Plan(), module.QUICK, module.run)
