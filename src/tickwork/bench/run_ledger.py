"""A record of what ran, kept by the tasks themselves outside of Tickwork, to find what was lost or doubled.

Every process maps its own file into memory, so that an entry costs next to nothing and survives a kill. Peers use
ledgers, too, in an environment without Tickwork: import only the standard library here.
"""

import mmap
import os
from array import array
from pathlib import Path
from typing import NamedTuple

LEDGER_FOLDER = "TICKWORK_BENCH_LEDGER"
_FINE = 9  # bits: 512 buckets for each power of two, so a bucket is at most 0.2 % wide
_LATEST_MEASURED = (1 << 40) - 1  # µs: 12 days
_EARLY, _BEGUN, _ENDED = range(3)
_HEADER = 8 * 3
_MOST = 4_000_000  # job numbers that can be counted


def _bucket(micros: int) -> int:
    """Each value below 1,024 µs has its own bucket."""
    wide = max(micros.bit_length() - _FINE - 1, 0)
    return (wide << _FINE) + (micros >> wide)


def _end_of(bucket: int) -> int:
    wide = max((bucket >> _FINE) - 1, 0)
    return (bucket - (wide << _FINE) + 1) << wide


_BUCKETS = _bucket(_LATEST_MEASURED) + 1


class Lateness(NamedTuple):
    """How long after their due times executions began."""

    buckets: "array[int]"
    early: int

    def since(self, before: "Lateness") -> "Lateness":
        buckets = array("I", (now - then for now, then in zip(self.buckets, before.buckets, strict=True)))
        return Lateness(buckets, self.early - before.early)

    def milliseconds(self, share: float) -> float:
        """The time within which this share of the executions had begun."""
        wanted, seen = share * sum(self.buckets), 0
        for bucket, found in enumerate(self.buckets):
            seen += found
            if seen >= wanted and seen:
                return round(_end_of(bucket) / 1000, 2)
        return 0.0

    def summary(self) -> dict[str, float]:
        shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "max_ms": 1.0}
        return {name: self.milliseconds(share) for name, share in shares.items()} | {
            "measured": sum(self.buckets),
            "early": self.early,
        }


class Ledger:
    def __init__(self, path: Path) -> None:
        size = _HEADER + 4 * _BUCKETS + 2 * _MOST
        with path.open("a+b") as file:
            file.truncate(size)  # sparse: untouched pages take no disk space
            self._map = mmap.mmap(file.fileno(), size)
        view = memoryview(self._map)
        self.header = view[:_HEADER].cast("Q")
        self.buckets = view[_HEADER : _HEADER + 4 * _BUCKETS].cast("I")
        self.counts = view[_HEADER + 4 * _BUCKETS :].cast("H")

    @classmethod
    def create(cls, folder: Path) -> "Ledger":
        return cls(folder / f"{os.getpid()}.ledger")

    def count(self, number: int) -> None:
        self.counts[number] += 1
        self.header[_BEGUN] += 1

    def record_lateness(self, micros: int) -> None:
        if micros < 0:
            self.header[_EARLY] += 1
        self.buckets[_bucket(min(max(micros, 0), _LATEST_MEASURED))] += 1

    def record_end(self) -> None:
        self.header[_ENDED] += 1


class Ledgers:
    """The ledgers of all processes, read while they are written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[Path, Ledger] = {}

    def total(self) -> int:
        """How many executions have begun so far."""
        return sum(ledger.header[_BEGUN] for ledger in self._all())

    def ended(self) -> int:
        """How many have ended, of the tasks that record their end."""
        return sum(ledger.header[_ENDED] for ledger in self._all())

    def counts(self, numbers: int) -> "array[int]":
        """How often each job ran."""
        counts = array("I", bytes(4 * numbers))
        for ledger in self._all():
            for number, found in enumerate(ledger.counts[:numbers]):
                if found:
                    counts[number] += found
        return counts

    def lateness(self) -> Lateness:
        buckets, early = array("I", bytes(4 * _BUCKETS)), 0
        for ledger in self._all():
            early += ledger.header[_EARLY]
            for bucket, found in enumerate(ledger.buckets):
                if found:
                    buckets[bucket] += found
        return Lateness(buckets, early)

    def _all(self) -> list[Ledger]:
        for path in self._folder.glob("*.ledger"):
            if path not in self._open:
                self._open[path] = Ledger(path)
        return list(self._open.values())
