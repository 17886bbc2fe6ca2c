"""A stretch of time that is measured: what ran in it and what it took."""

import asyncio
from typing import NamedTuple

from tickwork.bench.bench_cluster import Stage
from tickwork.bench.progress import Show
from tickwork.bench.result import Curve
from tickwork.bench.run_ledger import Lateness

_SECOND = 1.0
_COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
_WAL = "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint"


class Window(NamedTuple):
    seconds: float
    executions: int
    processor: dict[str, float]  # seconds of each part
    wal_bytes: int
    transactions: int
    lateness: Lateness
    rates: Curve

    @property
    def rate(self) -> float:
        return self.executions / self.seconds

    def cost(self) -> dict[str, float]:
        """Of each execution."""
        executions = self.executions or 1
        micros = {f"{part}_us": round(used / executions * 1e6, 2) for part, used in self.processor.items()}
        return {
            **micros,
            "all_us": round(sum(micros.values()), 2),
            "wal_bytes": round(self.wal_bytes / executions, 1),
            "transactions": round(self.transactions / executions, 5),
        }


async def transactions(on: Stage) -> int:
    """Committed so far."""
    committed: int = await on.database.fetchval(_COMMITS)
    return committed


async def watch(on: Stage, show: Show, seconds: float, what: str = "measuring") -> Window:
    clock = asyncio.get_running_loop().time
    wal, committed = await on.database.fetchval(_WAL), await transactions(on)
    late, used = on.ledgers.lateness(), on.meter.seconds()
    begun, ran = clock(), on.ledgers.total()
    rates, before = [], ran
    while clock() - begun < seconds:
        await asyncio.sleep(min(_SECOND, max(begun + seconds - clock(), 0)))
        now = on.ledgers.total()
        rates.append((round(clock() - begun, 2), float(now - before)))
        show.update(f"{what}: {now - before:,} executions in the last second")
        before = now
    lasted = clock() - begun
    return Window(
        lasted,
        before - ran,
        {part: now - used.get(part, 0.0) for part, now in on.meter.seconds().items()},
        await on.database.fetchval(_WAL) - wal,
        await transactions(on) - committed,
        on.ledgers.lateness().since(late),
        rates,
    )
