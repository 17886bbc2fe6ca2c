"""Measures pauses from outside: when the database takes a write, and when each server takes a job."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

import asyncpg
import httpx2

from support.cluster import KEY
from support.failover_cluster import FailoverCluster
from support.patroni_cluster import PatroniNode

_DATABASE_INTERVAL, _SERVER_INTERVAL = 0.1, 0.2  # seconds
_DATABASE_ANSWERS_WITHIN = 1.5
_SERVER_ANSWERS_WITHIN = 2.0
_WRITE = "INSERT INTO probe VALUES (now())"
_CREATED = 201


class AcceptedJob(NamedTuple):
    id: str
    key: str
    server: int
    at: datetime


class Probes:
    def __init__(self, cluster: FailoverCluster) -> None:
        self._cluster = cluster
        self.writes: list[float] = []  # when the database had taken one
        self.jobs: list[list[float]] = [[] for _ in cluster.kinds]  # when each server had taken one
        self.accepted: list[AcceptedJob] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=_SERVER_ANSWERS_WITHIN,
            trust_env=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        )

    def start(self) -> None:
        nodes = self._cluster.database.nodes
        self._tasks = [asyncio.create_task(self._write_to(node)) for node in nodes]
        self._tasks += [asyncio.create_task(self._ask(server)) for server in range(len(self.jobs))]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._http.aclose()

    async def _write_to(self, node: PatroniNode) -> None:
        url = self._cluster.database.url_of(node, "postgres", "postgres")
        connection: asyncpg.Connection | None = None
        while True:
            try:
                if connection is None:
                    connection = await asyncpg.connect(url, timeout=_DATABASE_ANSWERS_WITHIN)
                await connection.execute(_WRITE, timeout=_DATABASE_ANSWERS_WITHIN)
                self.writes.append(time.time())
            except asyncpg.ReadOnlySQLTransactionError:
                pass  # a standby
            except Exception:  # noqa: BLE001 (a probe that dies would measure nothing)
                if connection:
                    connection.terminate()
                connection = None
            await asyncio.sleep(_DATABASE_INTERVAL)

    async def _ask(self, server: int) -> None:
        number = 0
        while True:
            number += 1
            key = f"probe-{server}-{number}"
            with suppress(httpx2.TransportError):
                answer = await self._http.post(
                    f"{self._cluster.cluster.urls[server]}/v1/jobs", json={"task": "quick", "key": key}
                )
                if answer.status_code == _CREATED:
                    self.jobs[server].append(time.time())
                    self.accepted.append(AcceptedJob(answer.json()["id"], key, server, datetime.now(UTC)))
            await asyncio.sleep(_SERVER_INTERVAL)


class Pause(NamedTuple):
    """Around one fault, in seconds."""

    kind: str
    database: float  # without a write
    servers: dict[str, float]  # from then until each kind of server has taken a job, the slower one
    runs: float  # from then until an attempt has begun
    at: datetime


def pause_around(
    kind: str,
    begun: float,
    ended: float,
    probes: Probes,
    kinds: Sequence[str],
    begun_attempts: Sequence[float],
) -> Pause:
    writes_again, database = _longest_gap(probes.writes, begun, ended)
    servers: dict[str, float] = {}
    for name, times in zip(kinds, probes.jobs, strict=True):
        servers[name] = max(servers.get(name, 0.0), _first_after(times, writes_again))
    runs = _first_after(begun_attempts, writes_again)
    return Pause(kind, database, servers, runs, datetime.fromtimestamp(begun, UTC))


def _longest_gap(times: Sequence[float], begun: float, ended: float) -> tuple[float, float]:
    """When it ended, and how long it was."""
    within = [begun, *(at for at in sorted(times) if begun <= at <= ended)]
    gaps = [(later - earlier, later) for earlier, later in pairwise(within)]
    longest, end = max(gaps, default=(0.0, ended))
    return end, longest


def _first_after(times: Sequence[float], at: float) -> float:
    later = [each for each in times if each >= at]
    return min(later) - at if later else float("inf")
