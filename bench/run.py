"""Runs the scenarios, then Tickwork and its peers side by side in turn, writes build/bench/*.json and the report.

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
from contest import CONTESTS, DURABILITY, PYTHON, Contest, Failed, measure

from store import NoRedis
from tickwork.bench.resource_meter import describe_machine
from tickwork.bench.scenario_options import SCENARIOS

OUT = report.FIGURES
OURS = "tickwork"
_OUR_SCENARIO = "throughput-oneoff"
_MEDIAN = ["--runs", "3"]  # of what varies most
_OPTIONS = {"burst": ["--big"], "throughput-oneoff": _MEDIAN, "cost": _MEDIAN}
_QUICK = {"quick": True, "runs": 1, "seconds": 0.5}
_WITHIN = 3600.0


def main() -> None:
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    out = OUT / "quick" if asked.quick else OUT
    out.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in SCENARIOS if _wanted(name, asked)]
    failed = [name for name in wanted if not _try_scenario(name, asked, out)]
    if contests := [contest for contest in CONTESTS if _wanted(contest.name, asked, "peers")]:
        failed += [] if _compete(contests, asked, out) else ["peers"]
    if not asked.quick:
        report.write(OUT, report.PAGE, failed)
    sys.exit(bool(failed))


def _arguments() -> argparse.Namespace:
    names = [*SCENARIOS, "peers", *dict.fromkeys(contest.name for contest in CONTESTS)]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="small forms, to see that everything works; no report"
    )
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--runs", type=int, default=3, help="turns of the peers")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="about how long each peer drains in a turn"
    )
    asked = parser.parse_args()
    return argparse.Namespace(**vars(asked) | _QUICK) if asked.quick else asked


def _wanted(name: str, asked: argparse.Namespace, group: str = "") -> bool:
    return not asked.only or name in asked.only or group in asked.only


def _try_scenario(name: str, asked: argparse.Namespace, out: Path) -> bool:
    """Whether it could run: those after it do so in any case."""
    _say(name)
    (out / f"{name}.json").unlink(missing_ok=True)  # or an old figure would stand for a failure
    try:
        figure = _scenario(name, out, *(["--quick"] if asked.quick else _OPTIONS.get(name, [])))
    except Failed as error:
        _say(f"  {error}")
        return False
    _say(f"  {figure['value']:,} {figure['unit']} (goal {figure['goal']:,}); met: {figure['met']}")
    return True


def _scenario(name: str, out: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tickwork.cli", "bench", name, "--json", "--out", str(out), *options]
    line = _output(command)
    if not line:
        raise Failed(f"{name} could not run")
    figure: dict[str, Any] = json.loads(line)
    return figure


def _output(command: list[str]) -> str:
    """What it prints. When this process is stopped, so is that one, and given the time to clean up."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            return running.communicate(timeout=_WITHIN)[0]
        except subprocess.TimeoutExpired:
            running.terminate()
            raise Failed(f"it took longer than {_WITHIN:.0f} s") from None
        except BaseException:
            running.terminate()
            raise


def _compete(contests: Sequence[Contest], asked: argparse.Namespace, out: Path) -> bool:
    """In turn, so that whatever else the machine does meets all of them. Each result is kept at once."""
    if not PYTHON.exists():
        _say("the peers are left out, because they are not installed: make peers")
        return True
    turns = [(turn, contest) for turn in range(1, asked.runs + 1) for contest in contests]
    results: list[dict[str, Any]] = []
    begun = monotonic()
    for done, (turn, contest) in enumerate(turns):
        left = f"; {(monotonic() - begun) / done * (len(turns) - done) / 60:.0f} min left" if done else ""
        _say(f"[{done + 1} of {len(turns)}{left}] {contest.name}, {DURABILITY[contest.fsync]}, turn {turn}")
        results.append({"contest": contest.name, "turn": turn} | _contest(contest, asked.seconds, out))
        _keep(results, asked, out)
    return not any("failed" in result for result in results)


def _contest(contest: Contest, seconds: float, out: Path) -> dict[str, Any]:
    jobs = max(int(contest.pace * seconds), 1)
    try:
        result = _ours(jobs, out / "ours") if contest.name == OURS else measure(contest, jobs)
    except NoRedis as error:
        _say(f"  skipped: {error}")
        return {"skipped": str(error)}
    except Failed as error:
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


def _keep(results: list[dict[str, Any]], asked: argparse.Namespace, out: Path) -> None:
    """In place of those of an earlier run: only what ran in turn can be compared."""
    document = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "runs": asked.runs,
        "seconds": asked.seconds,
        "results": results,
    }
    (out / "peers.json").write_text(json.dumps(document, indent=2))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
