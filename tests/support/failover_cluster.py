"""Tickwork on a highly available PostgreSQL: two servers by HAProxy, two by a URL with all hosts, workers and an HTTP
target."""

from pathlib import Path

import psutil

from support.chaos_cluster import Death
from support.cluster import Cluster, Program
from support.patroni_cluster import PatroniCluster

_WORKERS = 2
_SLOTS = 40
_LAST_WORDS = 3000  # characters


class FailoverCluster:
    def __init__(self, folder: Path, *, synchronous: bool) -> None:
        self.folder = folder
        self.database = PatroniCluster(folder / "db", synchronous=synchronous)
        self.cluster: Cluster
        self.target: Program
        self.target_url = ""
        self.largest: dict[str, int] = {}
        self.deaths: list[Death] = []

    @property
    def programs(self) -> list[Program]:
        return [*self.cluster.programs, self.target]

    @property
    def surprises(self) -> list[Death]:
        """Nothing of Tickwork may end while the database fails over."""
        return [
            Death(program.name, program.pid, program.exit_code, program.log[-_LAST_WORDS:])
            for program in self.programs
            if program.exit_code is not None
        ]

    @property
    def kinds(self) -> list[str]:
        """How each server reaches the database."""
        return ["haproxy", "haproxy", "hosts", "hosts"]

    async def start(self) -> None:
        (self.folder / "db").mkdir()
        await self.database.start()
        self.cluster = Cluster(self.database.proxy_url, self.folder)
        self.target, self.target_url = await self.cluster.start_target()
        urls = {"haproxy": self.database.proxy_url, "hosts": self.database.hosts_url}
        for kind in self.kinds:
            await self.cluster.add_server(database_url=urls[kind])
        for number in range(_WORKERS):
            await self.cluster.add_worker(slots=_SLOTS, first=number)

    async def stop(self) -> None:
        for program in [*self.cluster.programs, self.target] if hasattr(self, "cluster") else []:
            program.clean_up()
        await self.database.stop()

    def measure(self) -> None:
        for program in self.programs:
            try:
                size = psutil.Process(program.pid).memory_info().rss
            except psutil.NoSuchProcess:
                continue
            self.largest[program.name] = max(size, self.largest.get(program.name, 0))
