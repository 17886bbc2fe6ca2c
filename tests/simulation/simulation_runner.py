"""One database for many histories: prepared once, swept between them."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import asyncpg
import pytest
from structlog.testing import capture_logs

from simulation.simulate import Simulated, simulate
from simulation.simulated_database import Lines, SimulatedDatabase
from simulation.simulated_world import BEGIN, SimulatedWorld
from support.change_log import install_change_log
from tickwork import node_database
from tickwork.dispatch import worker_gateway as gateway
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database
from tickwork.store.query_files import queries
from tickwork.testing.clock import SettableClock
from tickwork.trigger import fire

_KEPT = ("settable_clock", "tenant", "api_key", "migration")
_TABLES = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'tickwork' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1"""
_TABLES_OF_ONE_ROW = """
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'tickwork'::regnamespace AND c.relkind = 'r' AND a.attname = 'one' ORDER BY 1"""
_SEQUENCES = (
    "SELECT schemaname || '.' || sequencename AS name FROM pg_sequences WHERE schemaname = 'tickwork'"
)
_SEEDS_BETWEEN_VACUUMS = 20
_TIES = (
    ("trigger", "take_due_rules", "ORDER BY next_at", "id"),
    ("dispatch", "pick_ready", "ORDER BY ready_at", "scheduled_for, job_id"),
)


class SimulationRunner:
    def __init__(self, lines: Lines, control: asyncpg.Connection, sweep: str) -> None:
        self._lines = lines
        self._control = control
        self._sweep = sweep
        self._played = 0

    async def play(self, seed: int) -> Simulated:
        await self._control.execute(self._sweep)
        self._played += 1
        if self._played % _SEEDS_BETWEEN_VACUUMS == 0:
            await self._control.execute("VACUUM")
        await self._control.execute("UPDATE tickwork.settable_clock SET at = $1", BEGIN)
        return await simulate(seed, self._lines, self._control)

    async def alter(self, statement: str) -> None:
        await self._control.execute(statement)


@asynccontextmanager
async def open_runner(url: str) -> AsyncIterator[SimulationRunner]:
    await SettableClock(url).set(BEGIN)
    await _make_partitions(url)
    control = await asyncpg.connect(url, server_settings={"synchronous_commit": "off"})
    await install_change_log(control)
    await _sign_in(control)
    await control.execute("SET session_replication_role = replica")  # sweeping is no part of any history
    lines = Lines(url)
    with pytest.MonkeyPatch.context() as patch, capture_logs():
        _put_in_place(patch)
        yield SimulationRunner(lines, control, await _sweeping(control))
    await lines.close()
    await control.close()


def _put_in_place(patch: pytest.MonkeyPatch) -> None:
    """Our clocks and our database, in place of the machine's."""
    patch.setattr(node_database, "upgrade", _nothing_to_upgrade)
    patch.setattr(
        node_database,
        "Database",
        lambda *_, **__: SimulatedDatabase(SimulatedWorld.current.access_of_opening()),
    )
    patch.setattr(gateway, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": _sleep}))
    patch.setattr(fire, "_CHUNK", 2)  # so that rounds are fired in several chunks
    patch.setattr(fire, "_MIN_PER_RULE", 1)
    _break_ties(patch)
    clocks = {time.monotonic: _monotonic, time.time: _wall}
    for name, module in list(sys.modules.items()):
        if name.startswith("tickwork."):
            for attribute, value in list(vars(module).items()):
                if attribute in ("monotonic", "time") and callable(value) and value in clocks:
                    patch.setattr(module, attribute, clocks[value])


def _break_ties(patch: pytest.MonkeyPatch) -> None:
    """Rows that are equal in what a query sorts by come in the order in which they lie in the table. That depends on
    what was deleted and vacuumed there before, and a seed has one history."""
    for file, query, order, key in _TIES:
        text = queries(file)[query]
        assert order in text, f"{query} no longer says {order!r}"
        patch.setitem(queries(file), query, text.replace(order, f"{order}, {key}"))


async def _sleep(seconds: float) -> None:
    await SimulatedWorld.current.sleep(seconds)


def _monotonic() -> float:
    return SimulatedWorld.current.seconds()


def _wall() -> float:
    return SimulatedWorld.current.wall()


async def _nothing_to_upgrade(*_: object) -> None:
    """The database is a copy of one that is up to date."""


async def _make_partitions(url: str) -> None:
    database = Database(url, size=1)
    await database.open()
    await Partitions(database, history_days=30).keep_up()
    await database.close()


async def _sign_in(control: asyncpg.Connection) -> None:
    await control.execute(
        """INSERT INTO tickwork.tenant (name, signing_secret) VALUES ('default', 'x') ON CONFLICT DO NOTHING;
           INSERT INTO tickwork.api_key (tenant_id, name, prefix, digest, scopes)
           VALUES (1, 'simulation', 'x', decode(repeat('00', 32), 'hex'), '{admin}')"""
    )


async def _sweeping(control: asyncpg.Connection) -> str:
    tables = [row["relname"] for row in await control.fetch(_TABLES)]
    sequences = [row["name"] for row in await control.fetch(_SEQUENCES)]
    kept = {name for name in sequences if any(f".{table}_" in name for table in _KEPT)}
    return ";".join(
        [f"DELETE FROM tickwork.{table}" for table in tables if table not in _KEPT]  # noqa: S608 (our own names)
        + [f"SELECT setval('{name}', 1, false)" for name in sequences if name not in kept]
        + [await _restoring(control, row["relname"]) for row in await control.fetch(_TABLES_OF_ONE_ROW)]
    )


async def _restoring(control: asyncpg.Connection, table: str) -> str:
    """Without its row, the loop that it belongs to does nothing."""
    row: str | None = await control.fetchval(f"SELECT quote_literal(row_to_json(t)) FROM tickwork.{table} t")  # noqa: S608
    if row is None:
        return ""
    return f"INSERT INTO tickwork.{table} SELECT * FROM json_populate_record(NULL::tickwork.{table}, {row})"  # noqa: S608
