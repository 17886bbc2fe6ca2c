"""Faults of whole hosts: the database's freezes or has a full disk, PgBouncer's restarts, a worker's is cut off from
the network. What a machine cannot do is left out, and told of."""

from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random

import psutil

from support.chaos_cluster import ChaosCluster
from support.fault_registry import fault
from support.network_namespace import NetworkNamespace
from support.pgbouncer import PGBOUNCER
from tickwork.model.worker import LEASE

_LEASE = LEASE.total_seconds()
_OUTAGES = (1.0, 4.0, 8.0)


@fault("postgres", (*_OUTAGES, 0.9 * _LEASE))
async def postgres_frozen(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    """All of its processes, with their connections open: the first one first, so that no other is born."""
    postmaster = psutil.Process(chaos.postgres.postmaster)
    postmaster.suspend()
    frozen = [postmaster, *postmaster.children(recursive=True)]
    for process in frozen[1:]:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    yield
    for process in reversed(frozen):
        with suppress(psutil.NoSuchProcess):
            process.resume()


def _no_disk(chaos: ChaosCluster) -> str | None:
    return None if chaos.disk else "root, to mount a disk"


@fault("postgres", (*_OUTAGES, 0.9 * _LEASE), _no_disk)
async def disk_full(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    """PostgreSQL may die of it; when there is space again, somebody starts it."""
    with chaos.disk.full():
        yield
    await chaos.postgres.resume()


def _no_pgbouncer(chaos: ChaosCluster) -> str | None:
    return None if PGBOUNCER else "the package pgbouncer"


@fault("pgbouncer", (0.0, 1.0, 4.0), _no_pgbouncer)
async def pgbouncer_restarted(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    chaos.pgbouncer.kill()
    yield
    await chaos.pgbouncer.start()


def _no_namespace(chaos: ChaosCluster) -> str | None:
    return NetworkNamespace.missing()


@fault("far worker", (*_OUTAGES, 1.3 * _LEASE), _no_namespace)
async def host_hears_nothing(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with chaos.namespace.cut("input"):
        yield


@fault("far worker", (*_OUTAGES, 1.3 * _LEASE), _no_namespace)
async def host_reaches_nobody(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    with chaos.namespace.cut("output"):
        yield


@fault("far worker", (*_OUTAGES, 1.3 * _LEASE), _no_namespace)
async def host_silent(chaos: ChaosCluster, victim: str, random: Random) -> AsyncIterator[None]:
    """As when a machine has vanished."""
    with chaos.namespace.cut("input", "output"):
        yield
