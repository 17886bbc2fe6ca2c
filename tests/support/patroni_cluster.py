"""A highly available PostgreSQL as operators run it: etcd, three Patroni nodes and HAProxy, with the configuration
files of `deploy/`. Every node can be killed, frozen and told to hand over."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import asyncpg
import httpx2
import psutil

from support.docs_page import ROOT
from support.failover_packages import POSTGRES, program
from support.waiting import eventually

_PATRONI = ROOT / "deploy/patroni/patroni.yml"
_HAPROXY = ROOT / "deploy/haproxy/haproxy.cfg"
_USER = "postgres"
_PASSWORD = "of-the-failover-tests"
_NODES = 3
_READY_WITHIN = 180.0
_OK = 200


class PatroniNode:
    def __init__(self, name: str, folder: Path, etcd_port: int) -> None:
        self.name = name
        self.port, self.api_port = free_port(), free_port()
        self._folder = folder / name
        self._etcd_port = etcd_port
        self._process: subprocess.Popen[bytes] | None = None
        self._frozen: list[psutil.Process] = []

    def start(self) -> None:
        self._folder.mkdir(exist_ok=True)
        shutil.chown(self._folder, _USER, _USER)
        address, api = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.api_port}"
        environment = {
            "PATRONI_NAME": self.name,
            "PATRONI_RESTAPI_LISTEN": api,
            "PATRONI_RESTAPI_CONNECT_ADDRESS": api,
            "PATRONI_POSTGRESQL_LISTEN": address,
            "PATRONI_POSTGRESQL_CONNECT_ADDRESS": address,
            "PATRONI_POSTGRESQL_DATA_DIR": str(self._folder / "data"),
            "PATRONI_POSTGRESQL_BIN_DIR": str(POSTGRES),
            "PATRONI_POSTGRESQL_PGPASS": str(self._folder / "pgpass"),
            "PATRONI_ETCD3_HOSTS": f"127.0.0.1:{self._etcd_port}",
            "PATRONI_SUPERUSER_USERNAME": "postgres",
            "PATRONI_SUPERUSER_PASSWORD": _PASSWORD,
            "PATRONI_REPLICATION_USERNAME": "replicator",
            "PATRONI_REPLICATION_PASSWORD": _PASSWORD,
            "PATRONI_REWIND_USERNAME": "rewind",
            "PATRONI_REWIND_PASSWORD": _PASSWORD,
            "HOME": str(self._folder),
        }
        configuration = self._folder / "patroni.yml"
        shutil.copyfile(_PATRONI, configuration)  # where the user postgres can read it
        command = [program("patroni"), str(configuration)]
        self._process = _launch(command, self._folder.with_suffix(".log"), environment, user=_USER)

    def kill(self) -> None:
        """All of it at once, as a power cut would."""
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        if self._process:
            self._process.wait()

    def kill_postgres(self) -> None:
        """Its first process only: Patroni and the machine are well."""
        pid = int((self._folder / "data/postmaster.pid").read_text().splitlines()[0])
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Patroni first, which would notice otherwise."""
        stopped = self._processes()
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        try:
            yield
        finally:
            for process in reversed(stopped):
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def _processes(self) -> list[psutil.Process]:
        """Patroni, and every process of its PostgreSQL."""
        found: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess, OSError, ValueError, IndexError):
            if self._process and self._process.poll() is None:
                found.append(psutil.Process(self._process.pid))
        with suppress(psutil.NoSuchProcess, OSError, ValueError, IndexError):
            pid = int((self._folder / "data/postmaster.pid").read_text().splitlines()[0])
            postmaster = psutil.Process(pid)
            if "postgres" in postmaster.name():
                found += [postmaster, *postmaster.children(recursive=True)]
        return found


class PatroniCluster:
    def __init__(self, folder: Path, *, synchronous: bool) -> None:
        self._folder = folder
        self._synchronous = synchronous
        self._etcd_port, self._etcd_peer_port = free_port(), free_port()
        self.nodes = [PatroniNode(f"db{number + 1}", folder, self._etcd_port) for number in range(_NODES)]
        self.proxy_port, self.replica_port = free_port(), free_port()
        self._others: list[subprocess.Popen[bytes]] = []
        self._http = httpx2.AsyncClient(trust_env=False, timeout=3.0)

    @property
    def proxy_url(self) -> str:
        return f"postgresql://tickwork:{_PASSWORD}@127.0.0.1:{self.proxy_port}/tickwork"

    @property
    def replica_url(self) -> str:
        return f"postgresql://tickwork:{_PASSWORD}@127.0.0.1:{self.replica_port}/tickwork"

    @property
    def hosts_url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://tickwork:{_PASSWORD}@{hosts}/tickwork?target_session_attrs=primary"

    def url_of(self, node: PatroniNode, database: str = "tickwork", user: str = "tickwork") -> str:
        return f"postgresql://{user}:{_PASSWORD}@127.0.0.1:{node.port}/{database}"

    async def start(self) -> None:
        for above in self._folder.parents:  # the user postgres must be able to pass
            with suppress(OSError):
                above.chmod(above.stat().st_mode | 0o011)
        self._folder.chmod(0o755)
        self._start_etcd()
        self.nodes[0].start()
        await eventually(self.primary, within=_READY_WITHIN, what="a primary")
        await self._set_mode()
        for node in self.nodes[1:]:
            node.start()
        await self.all_follow()
        await self._make_database()
        self._start_haproxy()

    async def stop(self) -> None:
        for node in self.nodes:
            node.kill()
        for process in self._others:
            process.kill()
            process.wait()
        await self._http.aclose()

    async def primary(self) -> PatroniNode | None:
        states = await asyncio.gather(*(self._is(node, "primary") for node in self.nodes))
        return next((node for node, state in zip(self.nodes, states, strict=True) if state), None)

    async def all_follow(self) -> None:
        """Until the others stream from the primary, one of them synchronously if that is asked for."""
        await eventually(self._follow, within=_READY_WITHIN, what="two standbys that follow")

    async def switch_over(self, primary: PatroniNode) -> None:
        async with httpx2.AsyncClient(trust_env=False, timeout=60.0) as http:
            answer = await http.post(
                f"http://127.0.0.1:{primary.api_port}/switchover", json={"leader": primary.name}
            )
        assert answer.status_code == _OK, answer.text

    async def _follow(self) -> bool:
        primary = await self.primary()
        if primary is None:
            return False
        with suppress(OSError, asyncpg.PostgresError, TimeoutError):
            connection = await asyncpg.connect(self.url_of(primary, "postgres", "postgres"), timeout=3)
            try:
                states = [
                    tuple(row)
                    for row in await connection.fetch("SELECT state, sync_state FROM pg_stat_replication")
                ]
            finally:
                await connection.close()
            streaming = [state for state in states if state[0] == "streaming"]
            enough = len(streaming) == _NODES - 1
            return enough and (not self._synchronous or any(state[1] == "sync" for state in streaming))
        return False

    async def _is(self, node: PatroniNode, role: str) -> bool:
        with suppress(httpx2.HTTPError):
            answer = await self._http.get(f"http://127.0.0.1:{node.api_port}/{role}")
            return answer.status_code == _OK
        return False

    async def _set_mode(self) -> None:
        primary = await self.primary()
        assert primary
        change = {
            "synchronous_mode": self._synchronous,
            "postgresql": {"parameters": {"track_commit_timestamp": "on"}},  # for the checker
        }
        api = f"http://127.0.0.1:{primary.api_port}"
        async with httpx2.AsyncClient(trust_env=False, timeout=60.0) as http:
            answer = await http.patch(f"{api}/config", json=change)
            assert answer.status_code == _OK, answer.text
            await eventually(lambda: self._restart(http, api), within=_READY_WITHIN, what="a restart")
        await eventually(self.primary, within=_READY_WITHIN, what="a primary")

    async def _restart(self, http: httpx2.AsyncClient, api: str) -> bool:
        """Once Patroni knows that a setting waits for it."""
        if not (await http.get(f"{api}/patroni")).json().get("pending_restart"):
            return False
        return (await http.post(f"{api}/restart", json={})).status_code == _OK

    async def _make_database(self) -> None:
        primary = await self.primary()
        assert primary
        connection = await asyncpg.connect(self.url_of(primary, "postgres", "postgres"))
        await connection.execute(f"CREATE ROLE tickwork LOGIN PASSWORD '{_PASSWORD}'")
        await connection.execute("CREATE DATABASE tickwork OWNER tickwork")
        await connection.execute("CREATE TABLE probe (at timestamptz NOT NULL)")
        await connection.close()

    def _start_etcd(self) -> None:
        client, peer = (f"http://127.0.0.1:{port}" for port in (self._etcd_port, self._etcd_peer_port))
        command = [
            program("etcd"), "--name", "one", "--data-dir", str(self._folder / "etcd"),
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"one={peer}",
        ]  # fmt: skip
        self._others.append(_launch(command, self._folder / "etcd.log", {}))

    def _start_haproxy(self) -> None:
        environment = {
            "PRIMARY_BIND": f"127.0.0.1:{self.proxy_port}",
            "REPLICA_BIND": f"127.0.0.1:{self.replica_port}",
        }
        for number, node in enumerate(self.nodes, 1):
            environment[f"DB{number}"] = f"127.0.0.1:{node.port}"
            environment[f"DB{number}_API_PORT"] = str(node.api_port)
        command = [program("haproxy"), "-db", "-f", str(_HAPROXY)]
        self._others.append(_launch(command, self._folder / "haproxy.log", environment))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _launch(
    command: Sequence[str], log: Path, environment: Mapping[str, str], user: str | None = None
) -> "subprocess.Popen[bytes]":
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    with log.open("ab") as out:
        return subprocess.Popen(
            command, env={**kept, **environment}, cwd="/", stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            user=user, group=user, extra_groups=[] if user else None, start_new_session=True,
        )  # fmt: skip
