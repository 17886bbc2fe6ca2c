"""Processes, PostgreSQL and networks are broken in every way that needs nothing but this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, suppress
from random import Random

import asyncpg
import httpx2
import psutil

from support.chaos_cluster import ChaosCluster
from support.cluster import KEY
from support.fault_registry import fault, program_named
from support.proxy import COMMIT, Way, Wire
from tickwork.model.worker import LEASE

_LEASE = LEASE.total_seconds()
_FREEZES = (0.5 * _LEASE, 1.3 * _LEASE, 2 * _LEASE)
_MOMENTS = (0.2, 1.0, 3.0)
_OUTAGES = (1.0, 4.0, 8.0)
_SKEWS = (-3600, -60, -1, 1, 60, 3600)
_END_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tickwork'"
_A_BUSY_ONE = """
    SELECT pid FROM pg_stat_activity WHERE application_name = 'tickwork' ORDER BY state, random() LIMIT 1"""
_FLOOD = 60  # requests at a time


# Processes


@fault("server", _MOMENTS)
async def server_killed(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with chaos.killed(program_named(chaos, victim)):
        yield


@fault("worker", _MOMENTS)
async def worker_killed(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with chaos.killed(program_named(chaos, victim)):
        yield


@fault("target", _MOMENTS)
async def target_killed(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with chaos.killed(chaos.target):
        yield


@fault("rest worker", _MOMENTS)
async def rest_worker_killed(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with chaos.killed(chaos.rest_worker):
        yield


@fault("rest worker", _FREEZES)
async def rest_worker_frozen(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with chaos.frozen(chaos.rest_worker):
        yield


@fault("server", _FREEZES)
async def server_frozen(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with chaos.frozen(program_named(chaos, victim)):
        yield


@fault("worker", _FREEZES)
async def worker_frozen(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with chaos.frozen(program_named(chaos, victim)):
        yield


@fault("target", _OUTAGES)
async def target_frozen(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with chaos.frozen(chaos.target):
        yield


@fault("server", (0.0,))
async def server_told_to_stop(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    async with chaos.told_to_stop(program_named(chaos, victim)):
        yield


@fault("worker", (0.0,))
async def worker_told_to_stop(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    async with chaos.told_to_stop(program_named(chaos, victim)):
        yield


def _no_previous_release(chaos: ChaosCluster) -> str | None:
    return None if chaos.previous else "a previous release beside this one"


@fault("server", (0.0,), _no_previous_release)
async def server_changes_its_release(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    async with chaos.told_to_stop(program_named(chaos, victim)):
        chaos.change_release(program_named(chaos, victim))
        yield


@fault("worker", (0.0,), _no_previous_release)
async def worker_changes_its_release(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    async with chaos.told_to_stop(program_named(chaos, victim)):
        chaos.change_release(program_named(chaos, victim))
        yield


def _no_clock(chaos: ChaosCluster) -> str | None:
    return None if chaos.clocks_can_be_set else "the package faketime"


@fault("server", _OUTAGES, _no_clock)
async def clock_of_server_set(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    chaos.set_clock(program_named(chaos, victim), random.choice(_SKEWS))
    yield
    chaos.set_clock(program_named(chaos, victim), 0)


@fault("worker", _OUTAGES, _no_clock)
async def clock_of_worker_set(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    chaos.set_clock(program_named(chaos, victim), random.choice(_SKEWS))
    yield
    chaos.set_clock(program_named(chaos, victim), 0)


# PostgreSQL


@fault("postgres", (0.0, 1.0, 4.0))
async def postgres_restarted_fast(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    await chaos.postgres.halt("fast")
    yield
    await chaos.postgres.resume()


@fault("postgres", (0.0, 1.0, 4.0))
async def postgres_restarted_at_once(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    await chaos.postgres.halt("immediate")
    yield
    await chaos.postgres.resume()


@fault("postgres", (0.0, 1.0))
async def postmaster_killed(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    chaos.postgres.kill()
    yield
    await chaos.postgres.resume()


@fault("postgres", (0.0,))
async def sessions_ended(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    async with chaos.admin() as admin:
        await admin.execute(_END_ALL)
    yield


@fault("postgres", (1.0, 3.0, 0.5 * _LEASE))
async def backend_frozen(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    async with chaos.admin() as admin:
        pid = await admin.fetchval(_A_BUSY_ONE)
    if pid is None:  # nobody is connected just now
        yield
        return
    backend = psutil.Process(pid)
    backend.suspend()
    yield
    with suppress(psutil.NoSuchProcess):
        backend.resume()


@fault("postgres", _OUTAGES)
async def database_read_only(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    await _configure(chaos, "ALTER SYSTEM SET default_transaction_read_only = on")
    yield
    await _configure(chaos, "ALTER SYSTEM RESET default_transaction_read_only")


@fault("postgres", (1.0, 4.0))
async def connections_used_up(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    """By strangers: who has none left to give cannot open another."""
    async with AsyncExitStack() as strangers:
        with suppress(asyncpg.TooManyConnectionsError):
            while True:
                await strangers.enter_async_context(chaos.admin())
        yield


@fault("server", _OUTAGES)
async def server_flooded(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    """More requests than it has connections, without a pause."""
    url = chaos.cluster.urls[chaos.servers.index(program_named(chaos, victim))]
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, trust_env=False) as http:
        flood = [asyncio.create_task(_ask_for_ever(http, f"{url}/v1/executions")) for _ in range(_FLOOD)]
        yield
        for stream in flood:
            stream.cancel()
        await asyncio.gather(*flood, return_exceptions=True)


# The network between servers and PostgreSQL


@fault("server", (2.0,))
async def commit_answers_lost(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    """The commit has happened, and nobody knows."""
    wire = _database_wire(chaos, victim)
    for _ in range(random.randint(1, 4)):
        wire.lost_answer = COMMIT
        await asyncio.sleep(random.uniform(0.01, 0.3))
    yield
    wire.lost_answer = None


@fault("server", _OUTAGES)
async def database_cut_off(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with _database_wire(chaos, victim).cut():
        yield


@fault("server", _OUTAGES)
async def database_out_of_reach(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with _database_wire(chaos, victim).blocked(*_some_ways(random)):
        yield


@fault("server", (3.0,))
async def database_connections_forgotten(
    chaos: ChaosCluster, victim: str, random: Random
) -> AsyncIterator[None]:
    with _database_wire(chaos, victim).forgotten():
        yield


@fault("server", _OUTAGES)
async def database_far_away(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with _database_wire(chaos, victim).slow(random.uniform(0.02, 0.3)):
        yield


@fault("server", _OUTAGES)
async def database_lossy(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with _database_wire(chaos, victim).lossy(random.uniform(0.05, 0.3)):
        yield


# The network between workers, clients and servers


@fault("worker", _OUTAGES)
async def worker_cut_off(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with ExitStack() as stack:
        for wire in _worker_wires(chaos, victim):
            stack.enter_context(wire.cut())
        yield


@fault("worker", (*_OUTAGES, 1.3 * _LEASE))
async def worker_out_of_reach(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    ways = _some_ways(random)
    with ExitStack() as stack:
        for wire in _worker_wires(chaos, victim):
            stack.enter_context(wire.blocked(*ways))
        yield


@fault("worker", _OUTAGES)
async def worker_far_away(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with ExitStack() as stack:
        for wire in _worker_wires(chaos, victim):
            stack.enter_context(wire.slow(random.uniform(0.05, 0.5)))
        yield


@fault("worker", _OUTAGES)
async def worker_lossy(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    share = random.uniform(0.05, 0.3)
    with ExitStack() as stack:
        for wire in _worker_wires(chaos, victim):
            stack.enter_context(wire.lossy(share))
        yield


@fault("server", _OUTAGES)
async def server_cut_off(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    """From clients and workers; its database stays."""
    with ExitStack() as stack:
        for wire in _wires_to(chaos, victim):
            stack.enter_context(wire.cut())
        yield


@fault("server", (*_OUTAGES, 1.3 * _LEASE))
async def server_out_of_reach(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    ways = _some_ways(random)
    with ExitStack() as stack:
        for wire in _wires_to(chaos, victim):
            stack.enter_context(wire.blocked(*ways))
        yield


@fault("server", (2.0,))
async def api_answers_lost(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    wire = chaos.client_wires[chaos.servers.index(program_named(chaos, victim))]
    for _ in range(random.randint(1, 4)):
        wire.lost_answer = b"POST "
        await asyncio.sleep(random.uniform(0.1, 0.5))
    yield
    wire.lost_answer = None


def _database_wire(chaos: ChaosCluster, server: str) -> Wire:
    return chaos.database_wires[chaos.servers.index(program_named(chaos, server))]


def _worker_wires(chaos: ChaosCluster, worker: str) -> list[Wire]:
    return chaos.worker_wires[chaos.workers.index(program_named(chaos, worker))]


def _wires_to(chaos: ChaosCluster, server: str) -> list[Wire]:
    number = chaos.servers.index(program_named(chaos, server))
    return [chaos.client_wires[number], *(wires[number] for wires in chaos.worker_wires)]


def _some_ways(random: Random) -> tuple[Way, ...]:
    return random.choice([tuple(Way), (Way.THERE,), (Way.BACK,)])


async def _configure(chaos: ChaosCluster, command: str) -> None:
    async with chaos.admin() as admin:
        await admin.execute(command)
        await admin.execute("SELECT pg_reload_conf()")


async def _ask_for_ever(http: httpx2.AsyncClient, url: str) -> None:
    while True:
        with suppress(httpx2.TransportError):
            await http.get(url, params={"limit": "500"})
