"""Measure Tickwork on this machine."""

import asyncio
import signal
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from tickwork.bench.bench_cluster import use_postgres
from tickwork.bench.resource_meter import describe_machine
from tickwork.bench.scenario_types import (
    SCENARIOS,
    Plan,
    ProgressLine,
    Scenario,
    ScenarioResult,
    median_of,
    scenario,
)
from tickwork.bench.svg_plot import plot
from tickwork.cli.exit_codes import FAILED
from tickwork.cli.run_until_stopped import run_loop
from tickwork.model.errors import TickworkError


class _Scenarios(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(SCENARIOS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        if name not in SCENARIOS:
            raise click.NoSuchCommand(name, possibilities=SCENARIOS, ctx=ctx)
        return _command(scenario(name))


@click.command(cls=_Scenarios, subcommand_metavar="SCENARIO [OPTIONS]")
def command() -> None:
    """Measure Tickwork on this machine.

    Each scenario starts its own PostgreSQL, servers and workers, and prints one line at the end. Set TMPDIR to
    choose the disk.
    """


def _command(chosen: Scenario) -> click.Command:
    def run(*, quick: bool, runs: int, as_json: bool, out: Path, postgres: Path | None, **given: Any) -> None:
        plan = _plan(chosen.quick if quick else chosen.plan, given)
        use_postgres(postgres)
        figure = _measure(chosen, plan, runs)
        _save(figure, plan, postgres, out)
        click.echo(f"held equal: {figure.held_equal}", err=True)
        click.echo(f"kept: {out / figure.scenario}.json, .svg", err=True)
        print(figure.json() if as_json else figure.line())
        if not figure.sound:
            raise click.exceptions.Exit(FAILED)

    return click.Command(
        chosen.name, callback=run, params=[*_own_options(chosen.plan), *_common_options()], help=chosen.about
    )


def _common_options() -> list[click.Option]:
    return [
        click.Option(["--quick"], is_flag=True, help="Run a small version, to see that it works."),
        click.Option(["--runs"], type=click.IntRange(1), default=1, help="How often to run it; prints the median."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one line of JSON."),
        click.Option(
            ["--out"], type=click.Path(path_type=Path), default="build/bench", show_default=True,
            help="The folder for the plot and the detailed figures.",
        ),
        click.Option(
            ["--postgres"], type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER",
            help="Use the PostgreSQL programs in this folder, with their default settings.",
        ),
    ]  # fmt: skip


def _own_options(plan: Plan) -> list[click.Option]:
    return [_option(field, getattr(plan, field.name)) for field in msgspec.structs.fields(plan)]


def _option(field: msgspec.structs.FieldInfo, default: Any) -> click.Option:
    described: Any = msgspec.inspect.type_info(field.type)
    about = described.extra_json_schema["description"]
    name = "--" + field.name.replace("_", "-")
    if isinstance(default, bool):
        return click.Option([name], is_flag=True, default=None, help=about)
    shown = f"{default:,}" if isinstance(default, int) else f"{default:g}"
    return click.Option([name], type=type(default), help=f"{about}  [default: {shown}]")


def _plan(plan: Plan, given: dict[str, Any]) -> Plan:
    changes = {name: value for name, value in given.items() if value is not None}
    try:
        return msgspec.convert(msgspec.structs.asdict(plan) | changes, type(plan))
    except msgspec.ValidationError as error:
        raise click.UsageError(str(error)) from None


def _measure(chosen: Scenario, plan: Plan, runs: int) -> ScenarioResult:
    progress = ProgressLine()
    figures: list[ScenarioResult] = []

    async def measure() -> None:
        _cancel_on_sigterm()
        for run in range(1, runs + 1):
            if runs > 1:
                progress.say(f"run {run} of {runs}")
            figures.append(await chosen.run(progress, plan))

    try:
        run_loop(measure())
    except asyncio.CancelledError:
        raise TickworkError("stopped before it was done") from None
    except TimeoutError:
        raise TickworkError("it did not end in time; the machine may be too busy or too slow") from None
    return median_of(figures)


def _cancel_on_sigterm() -> None:
    """So that SIGTERM, like Ctrl-C, leaves no process behind."""
    task = asyncio.current_task()
    with suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: task and task.cancel())


def _save(figure: ScenarioResult, plan: Plan, postgres: Path | None, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    document = {
        **msgspec.structs.asdict(figure),
        "plan": msgspec.structs.asdict(plan),
        "postgres": str(postgres) if postgres else "Tickwork's own",
        "machine": describe_machine(),
        "at": datetime.now(UTC),
    }
    (out / f"{figure.scenario}.json").write_bytes(msgspec.json.format(msgspec.json.encode(document)))
    (out / f"{figure.scenario}.svg").write_text(plot(figure.scenario, figure.series))
