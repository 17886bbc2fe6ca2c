"""What a chaos test tells while it runs, and what it leaves behind: build/chaos/SEED.{json,txt}."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from support.attempt_ledger import Ledger, Run
from support.chaos_check import ChaosCheck
from support.fault_injector import Injected
from support.firing_delay import FiringDelays
from tickwork.model.public_ids import to_micros

_FOLDER = Path(__file__).parents[2] / "build" / "chaos"


class ChaosReport:
    def __init__(self, ledger: Ledger, seed: int, write: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._seed = seed
        self._write = write
        self.say(f"seed {seed}")

    def say(self, words: str) -> None:
        self._write(f"{datetime.now(UTC):%H:%M:%S}  {words}; {self._ledger.completed():,} completed")

    def publish(self, injected: Sequence[Injected], check: ChaosCheck, findings: Sequence[str]) -> None:
        figures = {
            "seed": self._seed,
            "faults": len(injected),
            "violations": len(findings),
            "findings": list(findings),
            **check.figures(),
            "kinds": _by_kind(injected, self._ledger.runs()),
        }
        _FOLDER.mkdir(parents=True, exist_ok=True)
        (_FOLDER / f"{self._seed}.json").write_bytes(msgspec.json.format(msgspec.json.encode(figures)))
        text = "\n".join(_lines(figures))
        (_FOLDER / f"{self._seed}.txt").write_text(text + "\n")
        self._write(text)
        if findings:
            self._keep_history(check)

    def _keep_history(self, check: ChaosCheck) -> None:
        """To look into what was found."""
        lines = msgspec.json.Encoder().encode_lines([each._asdict() for each in check.changes])
        (_FOLDER / f"{self._seed}.history.jsonl").write_bytes(lines)


def _by_kind(injected: Sequence[Injected], runs: Sequence[Run]) -> dict[str, Any]:
    """Seconds from the beginning of a fault, and from its end, until something that began after it has completed, and
    seconds in which nothing of what was due began."""
    ends, firing = _first_ends(runs), FiringDelays(runs)
    waits: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for fault in injected:
        pause = firing.longest(fault.begun_at, fault.healed_at)
        waits[fault.kind].append((_wait(fault.begun_at, *ends), _wait(fault.healed_at, *ends), pause))
    return {
        kind: {
            "count": len(found),
            "from_begin": _summary([begin for begin, _, _ in found]),
            "from_heal": _summary([heal for _, heal, _ in found]),
            "pause": _summary([pause for _, _, pause in found]),
        }
        for kind, found in sorted(waits.items())
    }


def _first_ends(runs: Sequence[Run]) -> tuple[list[int], list[int]]:
    """When attempts began, in order, and for each the first end of one that began then or later."""
    done = sorted((run.begun_at, run.ended_at) for run in runs if run.outcome == "completed" and run.ended_at)
    ends = [end for _, end in done]
    for place in range(len(ends) - 2, -1, -1):
        ends[place] = min(ends[place], ends[place + 1])
    return [begun for begun, _ in done], ends


def _wait(since: datetime, begun: list[int], ends: list[int]) -> float:
    at = to_micros(since)
    place = bisect_left(begun, at)
    return (ends[place] - at) / 1e6 if place < len(ends) else 0.0


def _summary(seconds: Sequence[float]) -> dict[str, float]:
    return {"p50": round(median(seconds), 2), "max": round(max(seconds), 2)}


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    yield f"{'fault':<34}{'count':>6}   until something new has completed: p50, max of seconds{'nothing due began':>22}"
    yield f"{'':<34}{'':>6}   {'from its begin':>20}{'from its end':>20}"
    for kind, row in figures["kinds"].items():
        begin, heal, pause = row["from_begin"], row["from_heal"], row["pause"]
        yield (
            f"{kind:<34}{row['count']:>6}   {begin['p50']:>10.2f}{begin['max']:>10.2f}"
            f"{heal['p50']:>10.2f}{heal['max']:>10.2f}{pause['p50']:>10.2f}{pause['max']:>10.2f}"
        )
    for name, value in figures.items():
        if name not in ("kinds", "findings"):
            yield f"{name}: {value}"
