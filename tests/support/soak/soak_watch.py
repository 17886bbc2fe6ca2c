"""Looks at a soak while it runs: how late attempts begin, memory and tables, one row of a CSV file for each minute.
What it keeps grows with the seconds, not with the executions."""

import csv
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

import asyncpg

from support.soak.soak_installation import Kill, SoakInstallation, memory, private_memory
from support.soak.soak_tasks import BEGUN, ENDED

_SIZES = """
    SELECT coalesce(sum(size) FILTER (WHERE is_history), 0) / 1e6 AS history,
        coalesce(sum(size) FILTER (WHERE NOT is_history), 0) / 1e6 AS tables
    FROM (SELECT pg_total_relation_size(oid) AS size,
              relispartition OR relname IN ('event', 'round', 'statistic', 'log', 'error_group') AS is_history
          FROM pg_class WHERE relnamespace = 'tickwork'::regnamespace AND relkind = 'r') relations"""
_AFTER_A_KILL = 15  # seconds in which due times are counted to it


class Minute(NamedTuple):
    """Milliseconds and megabytes. The memory of PostgreSQL is without what its processes share."""

    minute: int
    begun: int
    completed: int
    late_p50: float
    late_p99: float
    late_max: float
    kills: int
    server: float
    worker: float
    postgres: float
    harness: float
    tables: float
    history: float


class Pause(NamedTuple):
    """After a kill, in seconds: until anything of a due time began, and until all of it had."""

    kind: str
    nothing: float
    all: float


class SoakWatch:
    def __init__(self, installation: SoakInstallation, file: Path) -> None:
        self.minutes: list[Minute] = []
        self._installation = installation
        self._file = file
        self._ledgers = LedgerTail(installation.ledger_folder)
        self._late: list[float] = []
        self._begun = self._completed = 0
        self._first: dict[int, float] = {}  # of each due second: how late its first execution began
        self._last: dict[int, float] = {}
        self._memory: dict[str, list[float]] = {}
        with file.open("w") as out:
            csv.writer(out).writerow(Minute._fields)

    def sample(self) -> None:
        """Several times a minute."""
        for name, process in self._installation.spared.items():
            self._memory.setdefault(name, []).append(memory(process))
        with suppress(OSError, ValueError, IndexError):  # it was killed just now
            postgres = private_memory(self._installation.postgres.postmaster)
            self._memory.setdefault("postgres", []).append(postgres)
        for event, due, attempt, at in self._ledgers.lines():
            self._completed += event == ENDED
            if event == BEGUN:
                self._begun += 1
                self._see_start(due, attempt, (at - due) / 1e6)

    async def end_minute(self) -> Minute:
        self.sample()
        sizes = await self._sizes()
        late = sorted(self._late) or [0.0]
        seen = {name: round(median(values), 1) for name, values in self._memory.items()}
        p50, p99, most = (round(1000 * late[int(share * (len(late) - 1))], 1) for share in (0.5, 0.99, 1.0))
        minute = Minute(
            len(self.minutes) + 1, self._begun, self._completed, p50, p99, most, len(self._installation.kills),
            seen["server"], seen["worker"], seen.get("postgres", 0.0), seen["harness"],
            sizes["tables"], sizes["history"],
        )  # fmt: skip
        self._late, self._memory = [], {}
        self.minutes.append(minute)
        with self._file.open("a") as out:
            csv.writer(out).writerow(minute)
        return minute

    def pauses(self) -> list[Pause]:
        """Beyond what is normal."""
        normal, usual = median(self._first.values()), median(self._last.values())
        return [
            Pause(
                kill.kind,
                round(max(_around(kill, self._first), default=normal) - normal, 2),
                round(max(_around(kill, self._last), default=usual) - usual, 2),
            )
            for kill in self._installation.kills
        ]

    def _see_start(self, due: int, attempt: int, late: float) -> None:
        second = due // 1_000_000
        if attempt == 1:
            self._late.append(late)
            self._first[second] = min(late, self._first.get(second, late))
            self._last[second] = max(late, self._last.get(second, late))

    async def _sizes(self) -> dict[str, float]:
        try:
            async with self._installation.admin() as admin:
                row = await admin.fetchrow(_SIZES)
        except (OSError, asyncpg.PostgresError):  # it was killed just now
            last = self.minutes[-1] if self.minutes else None
            return {"tables": last.tables if last else 0.0, "history": last.history if last else 0.0}
        return {name: round(float(row[name]), 1) for name in ("tables", "history")}


def _around(kill: Kill, by_second: dict[int, float]) -> Iterator[float]:
    begin = int(kill.at) - 1
    return (by_second[second] for second in range(begin, begin + _AFTER_A_KILL) if second in by_second)


class LedgerTail:
    """What the workers have written since the last look."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}  # bytes

    def lines(self) -> Iterator[tuple[str, int, int, int]]:
        """Event, due time, attempt, time."""
        for file in self._folder.glob("*.csv"):
            with file.open("rb") as ledger:
                ledger.seek(self._read.get(file, 0))
                whole = ledger.read().rpartition(b"\n")[0]
            if whole:
                self._read[file] = self._read.get(file, 0) + len(whole) + 1
                for line in whole.decode().split("\n"):
                    event, _, due, attempt, _, at = line.split(",")
                    yield event, int(due), int(attempt), int(at)
