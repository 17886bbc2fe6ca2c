"""Runs the scenarios, then Tickwork and its peers in turn. Writes build/bench/*.json and the report.

.venv/bin/python bench/run.py [--quick] [--only NAME …] [--runs 3] [--seconds 10]
"""

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

import report
from measure_peer import DURABILITY, PEER_SETUPS, PYTHON, MeasurementFailed, PeerSetup, measure
from peer_store import NoRedis

from tickwork.bench.resource_meter import describe_machine
from tickwork.bench.scenario_types import SCENARIOS

OUT = report.FIGURES
OURS = "tickwork"
_OUR_SCENARIO = "throughput-oneoff"
_MEDIAN = ["--runs", "3"]  # of what varies most
_OPTIONS = {"burst": ["--big"], "throughput-oneoff": _MEDIAN, "cost": _MEDIAN}
_QUICK = {"quick": True, "runs": 1, "seconds": 0.5}
_TIMEOUT = 3600.0


def main() -> None:
    options = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    out = OUT / "quick" if options.quick else OUT
    out.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in SCENARIOS if _wanted(name, options)]
    failed = [name for name in wanted if not _try_scenario(name, options, out)]
    if setups := [setup for setup in PEER_SETUPS if _wanted(setup.name, options, "peers")]:
        failed += [] if _measure_peers(setups, options, out) else ["peers"]
    if not options.quick:
        report.write(OUT, report.PAGE, failed)
    sys.exit(bool(failed))


def _arguments() -> argparse.Namespace:
    names = [*SCENARIOS, "peers", *dict.fromkeys(setup.name for setup in PEER_SETUPS)]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="small versions, to check that everything works; no report"
    )
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"any of {', '.join(names)}")
    parser.add_argument("--runs", type=int, default=3, help="turns of the peers")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="about how long each peer drains in a turn"
    )
    options = parser.parse_args()
    return argparse.Namespace(**vars(options) | _QUICK) if options.quick else options


def _wanted(name: str, options: argparse.Namespace, group: str = "") -> bool:
    return not options.only or name in options.only or group in options.only


def _try_scenario(name: str, options: argparse.Namespace, out: Path) -> bool:
    """Returns whether the scenario could run. The next ones run in any case."""
    _say(name)
    (out / f"{name}.json").unlink(missing_ok=True)  # an old result must not hide a failure
    try:
        figure = _scenario(name, out, *(["--quick"] if options.quick else _OPTIONS.get(name, [])))
    except MeasurementFailed as error:
        _say(f"  {error}")
        return False
    _say(f"  {figure['value']:,} {figure['unit']} (goal {figure['goal']:,}); met: {figure['met']}")
    return True


def _scenario(name: str, out: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tickwork.cli", "bench", name, "--json", "--out", str(out), *options]
    line = _output(command)
    if not line:
        raise MeasurementFailed(f"{name} could not run")
    figure: dict[str, Any] = json.loads(line)
    return figure


def _output(command: list[str]) -> str:
    """The output of the command. Stopping this process terminates the command, which then cleans up."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            return running.communicate(timeout=_TIMEOUT)[0]
        except subprocess.TimeoutExpired:
            running.terminate()
            raise MeasurementFailed(f"it took longer than {_TIMEOUT:.0f} s") from None
        except BaseException:
            running.terminate()
            raise


def _measure_peers(setups: Sequence[PeerSetup], options: argparse.Namespace, out: Path) -> bool:
    """Peers run in turn, so that other load on the machine affects all of them. Each result is saved at once."""
    if not PYTHON.exists():
        _say("the peers are not installed and are left out; install them with `make peers`")
        return True
    turns = [(turn, setup) for turn in range(1, options.runs + 1) for setup in setups]
    results: list[dict[str, Any]] = []
    begun = monotonic()
    for done, (turn, setup) in enumerate(turns):
        left = f"; {(monotonic() - begun) / done * (len(turns) - done) / 60:.0f} min left" if done else ""
        _say(f"[{done + 1} of {len(turns)}{left}] {setup.name}, {DURABILITY[setup.fsync]}, turn {turn}")
        results.append({"contest": setup.name, "turn": turn} | _measure_setup(setup, options.seconds, out))
        _save(results, options, out)
    return not any("failed" in result for result in results)


def _measure_setup(setup: PeerSetup, seconds: float, out: Path) -> dict[str, Any]:
    jobs = max(int(setup.pace * seconds), 1)
    try:
        result = _ours(jobs, out / "ours") if setup.name == OURS else measure(setup, jobs)
    except NoRedis as error:
        _say(f"  skipped: {error}")
        return {"skipped": str(error)}
    except MeasurementFailed as error:
        _say(f"  failed: {error}")
        return {"failed": str(error)}
    _say("  {drained_per_second:,}/s of {jobs:,} jobs; lost {lost}, doubled {doubled}".format_map(result))
    return result


def _ours(jobs: int, out: Path) -> dict[str, Any]:
    figure = _scenario(_OUR_SCENARIO, out, "--jobs", str(jobs))
    return {
        "name": "Tickwork",
        "version": version("tickwork"),
        "history": "C",
        "kept": "the execution with its times and result",
        "killed": "run again after 15 s without a heartbeat",
        "fast_path": "one server, one worker process, created in batches of 10,000 through the API",
        "jobs": jobs,
        "store": "PostgreSQL",
        "durability": DURABILITY[""],
        "enqueued_per_second": figure["details"]["created_per_second"],
        "drained_per_second": figure["value"],
        "lost": figure["lost"],
        "doubled": figure["doubled"],
    }


def _save(results: list[dict[str, Any]], options: argparse.Namespace, out: Path) -> None:
    """Replaces the results of earlier runs: only peers that ran in turn can be compared."""
    document = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "runs": options.runs,
        "seconds": options.seconds,
        "results": results,
    }
    (out / "peers.json").write_text(json.dumps(document, indent=2))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
