"""Show how many executions ran, failed and waited over time, as small charts."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

import click

from tickwork.cli.format_elapsed import format_elapsed
from tickwork.cli.option_types import past
from tickwork.cli.output import absolute, output_option, print_json, say
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.errors import printable
from tickwork.model.statistics import STEPS, Percentiles, StatisticsPoint

_BARS = "▁▂▃▄▅▆▇█"
_WIDEST = 60  # columns of a chart
_DEFAULT_RANGE = timedelta(hours=1)
_MIDNIGHT = datetime(2000, 1, 1, tzinfo=UTC)
_ALWAYS = ("fired", "completed", "failed")
_IF_ANY = ("retried", "snoozed", "skipped", "missed", "lost", "cancelled")
_PERCENTILES = ("p50", "p95", "p99")

Values = Sequence[float | None]


@click.command()
@click.option(
    "--since",
    type=past,
    metavar="TIME|AGE",
    help="From when on: 2026-01-31T09:00, or 2h (ago).  [default: 1h]",
)
@click.option("--until", type=past, metavar="TIME|AGE", help="Up to when.  [default: now]")
@click.option(
    "--step", type=click.Choice([*STEPS]), default="1m", show_default=True, help="The length of a step."
)
@click.option("--by", type=click.Choice(["task", "queue"]), help="A chart for each.")
@click.option("--task", help="Only of this task.")
@click.option("--queue", help="Only of this queue.")
@click.option("--job", metavar="JOB", help="Only of this job, each execution when it was due.")
@click.option("--tag", help="Only of jobs with this tag, likewise.")
@output_option
@with_client
def command(
    client: Client, output: str, since: datetime | None, until: datetime | None, **options: Any
) -> None:
    """Show how many executions ran, failed and waited over time, as small charts.

    Where there are more steps than columns, several share one: counts are added up, and of durations the longest is
    shown.
    """
    until = until or datetime.now(UTC)
    since = since or until - _DEFAULT_RANGE
    series = client.get_stats(from_=since, until=until, **options)
    if output != "table":
        return print_json(series.items if output == "jsonl" else [series], output)
    step = STEPS[options["step"]]
    steps = _steps(since, until, step)
    say(f"{absolute(steps[0])} to {absolute(until)}, in steps of {options['step']}")
    if not series.items:
        return say("nothing happened")
    for name in dict.fromkeys(_group(point) for point in series.items):
        if name:
            click.echo(click.style(printable(name), bold=True))
        points = {point.at: point for point in series.items if _group(point) == name}
        for line in _chart([points.get(at) for at in steps]):
            click.echo(line)
    if series.complete_since:
        say(f"there is more; complete since {absolute(series.complete_since)}")
    return None


def _steps(begin: datetime, end: datetime, step: timedelta) -> list[datetime]:
    first = begin - (begin - _MIDNIGHT) % step
    return [first + number * step for number in range(ceil((end - first) / step))]


def _group(point: StatisticsPoint) -> str:
    return point.task or point.queue or ""


def _chart(points: Sequence[StatisticsPoint | None]) -> Iterator[str]:
    for name in (*_ALWAYS, *_IF_ANY):
        counts = _columns([getattr(point, name) if point else 0 for point in points], _sum)
        if name in _ALWAYS or any(counts):
            yield _line(
                name, counts, f"{_sum(counts):,.0f}", "red" if name in ("failed", "missed", "lost") else None
            )
    for name, read in _DURATIONS.items():
        for share in _PERCENTILES:
            longest = _columns(
                [_seconds(read(point), share) if point else None for point in points], _longest
            )
            if any(value is not None for value in longest):
                yield _line(f"{name} {share}", longest, _most(longest), None)


def _seconds(percentiles: Percentiles | None, share: str) -> float | None:
    return None if percentiles is None else float(getattr(percentiles, share))


def _start_delay(point: StatisticsPoint) -> Percentiles | None:
    return point.start_delay


def _run_time(point: StatisticsPoint) -> Percentiles | None:
    return point.run_time


_DURATIONS: dict[str, Callable[[StatisticsPoint], Percentiles | None]] = {
    "start delay": _start_delay,
    "run time": _run_time,
}


def _columns(values: Values, join: Callable[[Values], float | None]) -> Values:
    """As many as fit: neighbours are joined."""
    size = ceil(len(values) / _WIDEST)
    return [join(values[place : place + size]) for place in range(0, len(values), size)]


def _sum(values: Values) -> float:
    return sum(value or 0 for value in values)


def _longest(values: Values) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _line(name: str, values: Values, summary: str, colour: str | None) -> str:
    bars = sparkline(values)
    return f"{click.style(name.ljust(16), dim=True)}{click.style(bars, fg=colour)}  {summary}"


def sparkline(values: Values) -> str:
    """A bar for each value, as high as it is compared with the highest; none for nothing."""
    highest = max((value or 0 for value in values), default=0)
    return "".join(_bar(value / highest) if value else " " for value in values)


def _bar(share: float) -> str:
    return _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]


def _most(seconds: Values) -> str:
    return f"up to {format_elapsed(timedelta(seconds=_longest(seconds) or 0))}"
