"""Runs the scenarios, then Tickwork and its peers side by side in turn, and writes build/bench/*.json.

.venv/bin/python bench/run.py [--quick] [--only NAME …] [--runs 3] [--jobs 20000]
"""

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from contest import PYTHON, measure

from store import NoRedis
from tickwork.bench.plan import SCENARIOS

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build" / "bench"
POSTGRES_PEERS = {
    "pgqueuer": 5,
    "procrastinate": 1,
    "apscheduler": 1,
}  # how many times the jobs: by their speed
REDIS_PEERS = {"dramatiq": 2, "huey": 2, "celery": 1, "rq": 1}
CONTESTS = ("tickwork", *POSTGRES_PEERS, *REDIS_PEERS)
FSYNC = ("always", "everysec")
OURS = "throughput-oneoff"
OUR_JOBS = 25  # times the jobs


def main() -> None:
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    OUT.mkdir(parents=True, exist_ok=True)
    for name in SCENARIOS:
        if not asked.only or name in asked.only:
            _scenario(name, asked.quick)
    contests = [name for name in CONTESTS if not asked.only or name in asked.only]
    if contests and not PYTHON.exists():
        _say("the peers are left out, because they are not installed: make peers")
    elif contests:
        turns = [_contest(name, asked, turn) for turn in range(asked.runs) for name in contests]
        _keep([result for found in turns for result in found])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small forms, to see that everything works")
    parser.add_argument(
        "--only", nargs="*", help="scenarios, peers, or tickwork for its turn among the peers"
    )
    parser.add_argument("--runs", type=int, default=3, help="turns of the peers")
    parser.add_argument(
        "--jobs", type=int, default=20_000, help="jobs of the slowest peers; faster ones get more"
    )
    return parser.parse_args()


def _scenario(name: str, quick: bool, *options: str) -> dict[str, Any]:
    _say(name)
    command = [sys.executable, "-m", "tickwork.cli", "bench", name, "--json", "--out", str(OUT), *options]
    line = _output([*command, *(["--quick"] if quick else [])])
    if not line:
        sys.exit(f"{name} could not run")
    figure: dict[str, Any] = json.loads(line)
    _say(f"  {figure['value']:,} {figure['unit']} (goal {figure['goal']:,}); met: {figure['met']}")
    return figure


def _output(command: list[str]) -> str:
    """What it prints. When this process is stopped, so is that one, and given the time to clean up."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            return running.communicate()[0]
        except BaseException:
            running.terminate()
            raise


def _contest(name: str, asked: argparse.Namespace, turn: int) -> list[dict[str, Any]]:
    _say(f"{name}, turn {turn + 1} of {asked.runs}")
    if name == "tickwork":
        return [_ours(asked.jobs * OUR_JOBS) | {"turn": turn}]
    jobs = asked.jobs * (POSTGRES_PEERS | REDIS_PEERS)[name]
    found = []
    for fsync in FSYNC if name in REDIS_PEERS else ("",):
        try:
            result = measure(name, jobs, fsync)
        except NoRedis as error:
            _say(f"  skipped: {error}")
            break
        _say(f"  {result['drained_per_second']:,} a second ({result['durability']})")
        found.append(result | {"turn": turn})
    return found


def _ours(jobs: int) -> dict[str, Any]:
    figure = _scenario(OURS, False, "--jobs", str(jobs))
    return {
        "name": "Tickwork",
        "version": "this one",
        "store": "postgres",
        "history": "C",
        "delivery": "redelivered after the lease",
        "fast_path": "POST /v1/jobs/batch",
        "jobs": jobs,
        "durability": "fsync on every commit",
        "enqueued_per_second": figure["details"]["created_per_second"],
        "drained_per_second": figure["value"],
        "lost": figure["lost"],
        "doubled": figure["doubled"],
    }


def _keep(results: list[dict[str, Any]]) -> None:
    """In place of earlier ones of the same peers."""
    file = OUT / "peers.json"
    before = json.loads(file.read_text()) if file.exists() else []
    new = {result["name"] for result in results}
    kept = [result for result in before if result["name"] not in new]
    file.write_text(json.dumps(kept + results, indent=2))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
