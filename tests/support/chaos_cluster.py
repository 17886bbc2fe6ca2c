"""A whole installation in which everything can be broken: three servers, three workers and an HTTP target, each on
wires of its own, on a PostgreSQL of its own. Whatever ends is started again, as an operator's supervisor does."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import psutil

from support.attempt_ledger import LEDGER_VARIABLE
from support.cluster import KEY, Cluster, Program, task_environment
from support.free_port import free_port
from support.network_namespace import NetworkNamespace
from support.pgbouncer import PGBOUNCER, PgBouncer
from support.proxy import Upstream, Wire
from support.rest_ledger_worker import TASK as REST_TASK
from support.small_disk import SmallDisk
from support.stoppable_postgres import StoppablePostgres
from support.waiting import eventually

SERVERS = WORKERS = 3
_FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
_LEFT_BY_FAKETIME = ("/dev/shm/faketime_shm_", "/dev/shm/sem.faketime_sem_")  # noqa: S108 (its choice)
_LOOK = 0.1  # seconds between looks of the supervisor
_WORKS_WITHIN = 300.0  # seconds; a bound for a busy machine, not a promise
_WORKER_SLOTS = 40
_DISK = 8 * 1024**3  # bytes that PostgreSQL may take
_COMMAND = Path(__file__).with_name("ledger_command.py")
_LAST_WORDS = 3000  # characters


class Death(NamedTuple):
    program: str
    pid: int
    exit_code: int
    last_words: str


class ChaosCluster:
    def __init__(self, folder: Path, previous: Path | None = None) -> None:
        """`previous`: the code of the previous release, which the first server and the first worker begin with."""
        self.folder = folder
        self.previous = previous
        disk = SmallDisk(folder / "disk", _DISK)
        self.disk = disk if disk.mount() else None
        self.postgres = StoppablePostgres(disk.folder)
        self.pgbouncer: PgBouncer | None = None  # between the last server and PostgreSQL
        self.namespace = None if NetworkNamespace.missing() else NetworkNamespace()  # of the last worker
        self.cluster: Cluster
        self.target: Program = None  # it and the next one are there once they are started
        self.target_url = ""
        self.rest_worker: Program = None
        self.database_wires: list[Wire] = []  # of each server
        self.worker_wires: list[list[Wire]] = []  # of each worker, to each server
        self.client_wires: list[Wire] = []  # to each server
        self.largest: dict[str, int] = {}  # bytes of memory of each program
        self.surprises: list[Death] = []
        self.deaths: list[Death] = []
        self._command = folder / "ledger-command"
        self._down: set[Program] = set()
        self._foretold: set[int] = set()
        self._keeper: asyncio.Task[None] | None = None

    @property
    def servers(self) -> list[Program]:
        return self.cluster.servers

    @property
    def workers(self) -> list[Program]:
        return self.cluster.workers

    @property
    def programs(self) -> list[Program]:
        return [*self.servers, *self.workers, *filter(None, (self.rest_worker, self.target))]

    @property
    def own_jobs(self) -> list[dict[str, Any]]:
        """What its workers can run besides the tasks of all ledgers: commands, and what the REST worker does."""
        env = {LEDGER_VARIABLE: str(self.cluster.ledger.file)}
        command = str(self._command)
        return [
            {"command": [command, "0.1", "0"], "env": env},
            {"command": [command, "0.3", "1"], "env": env},
            {"command": [command, "18", "0"], "env": env},  # longer than a lease
            {"task": REST_TASK, "payload": {"seconds": 0.2}},
            {"task": REST_TASK, "payload": {"seconds": 1.0, "failures": 1}},
            {"task": REST_TASK, "payload": {"seconds": 18.0}},
        ]

    async def start(self) -> None:
        await self._start_postgres()
        self.cluster = Cluster(self.postgres.url, self.folder)
        self.target, self.target_url = await self.cluster.start_target()
        self._write_command()
        if self.namespace:
            self.namespace.open()
        for number in range(SERVERS):
            await self._start_server(number)
        for number in range(WORKERS):
            await self._start_worker(number)
        await self._start_rest_worker()
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        if self._keeper:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        for program in self.programs:
            program.clean_up()
        for wire in [*self.database_wires, *self.client_wires, *chain(*self.worker_wires)]:
            await wire.close()
        if self.pgbouncer:
            self.pgbouncer.kill()
        await self.postgres.halt("immediate")
        await asyncio.to_thread(self.postgres.stop)
        if self.namespace:
            self.namespace.close()
        if self.disk:
            self.disk.unmount()

    async def all_work(self) -> None:
        await eventually(
            lambda: all(program.works for program in self.programs),
            within=_WORKS_WITHIN,
            what="every program at work",
        )

    @asynccontextmanager
    async def admin(self) -> AsyncIterator[asyncpg.Connection]:
        """Straight to PostgreSQL, past all wires."""
        connection = await asyncpg.connect(self.postgres.url, server_settings={"application_name": "admin"})
        try:
            yield connection
        finally:
            await connection.close()

    # Programs that come and go

    @contextmanager
    def killed(self, program: Program) -> Iterator[None]:
        with self._kept_down(program):
            if program.exit_code is None:
                program.kill()
            yield

    @asynccontextmanager
    async def told_to_stop(self, program: Program) -> AsyncIterator[None]:
        with self._kept_down(program):
            if program.exit_code is None:
                program.send(signal.SIGTERM)
            yield
            await self._until_it_has_ended(program)

    def change_release(self, program: Program) -> None:
        """When it is started again, it is the other one."""
        program.tree = None if program.tree else self.previous

    @contextmanager
    def frozen(self, program: Program) -> Iterator[None]:
        pid = program.pid
        if program.exit_code is None:
            program.send(signal.SIGSTOP)
        yield
        if program.exit_code is None and program.pid == pid:
            program.send(signal.SIGCONT)

    def set_clock(self, program: Program, seconds: int) -> None:
        self._clock_of(program.name).write_text(f"{seconds:+d}")

    @property
    def clocks_can_be_set(self) -> bool:
        return _FAKETIME.exists()

    async def _start_postgres(self) -> None:
        """One that remembers when each transaction was committed."""
        await asyncio.to_thread(self.postgres.start)
        async with self.admin() as admin:
            await admin.execute("ALTER SYSTEM SET track_commit_timestamp = on")
        await self.postgres.halt("fast")
        await self.postgres.resume()

    async def _start_rest_worker(self) -> None:
        self.rest_worker = Program(
            "rest-worker", [wire.url for wire in self.client_wires], says="registered",
            env={"TICKWORK_API_KEY": KEY, **task_environment(self.cluster.ledger)}, folder=self.folder,
            module="support.rest_ledger_worker",
        )  # fmt: skip
        await self.rest_worker.start()

    def _write_command(self) -> None:
        """A program that begins with the path of this Python, which needs nothing that is installed."""
        self._command.write_text(f"#!{sys.executable} -IS\n{_COMMAND.read_text()}")
        self._command.chmod(0o755)

    async def _start_server(self, number: int) -> None:
        wire = await Wire(await self._database_of(number)).open()
        self.database_wires.append(wire)
        url = f"postgresql://tickwork@127.0.0.1:{wire.port}/tickwork"
        await self.cluster.add_server(
            database_url=url, env=self._faked_clock(f"server-{number + 1}"), tree=self._first_tree(number)
        )
        self.client_wires.append(await self._wire_to(number))

    async def _database_of(self, server: int) -> Upstream:
        """The last one has PgBouncer in between, where there is one."""
        if server < SERVERS - 1 or not PGBOUNCER:
            return Upstream(self.postgres.socket)
        self.pgbouncer = PgBouncer(self.folder, free_port(), self.postgres.socket)
        await self.pgbouncer.start()
        return Upstream(self.pgbouncer.port)

    async def _start_worker(self, number: int) -> None:
        """The last one on a host of its own, where there may be one."""
        away = self.namespace if number == WORKERS - 1 else None
        host = away.outside if away else "127.0.0.1"
        wires = [await self._wire_to(server, host) for server in range(SERVERS)]
        self.worker_wires.append(wires)
        await self.cluster.add_worker(
            slots=_WORKER_SLOTS,
            first=number,
            urls=[wire.url for wire in wires],
            env=self._faked_clock(f"worker-{number + 1}"),
            options=("--allow-command", str(self._command)),
            prefix=away.prefix if away else (),
            tree=self._first_tree(number),
        )

    def _first_tree(self, number: int) -> Path | None:
        return self.previous if number == 0 else None

    async def _wire_to(self, server: int, host: str = "127.0.0.1") -> Wire:
        return await Wire(Upstream(int(self.cluster.urls[server].rpartition(":")[2])), host).open()

    def _faked_clock(self, name: str) -> dict[str, str]:
        """The wall clock only: what measures time must not jump."""
        if not self.clocks_can_be_set:
            return {}
        clock = self._clock_of(name)
        clock.write_text("+0")
        return {
            "LD_PRELOAD": str(_FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(clock),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def _clock_of(self, name: str) -> Path:
        return self.folder / f"{name}.clock"

    @contextmanager
    def _kept_down(self, program: Program) -> Iterator[None]:
        self._foretold.add(program.pid)
        self._down.add(program)
        yield
        self._down.discard(program)

    async def _until_it_has_ended(self, program: Program) -> None:
        """It may run tasks that take long: in the end, a supervisor kills."""
        for _ in range(int(20 / _LOOK)):
            if program.exit_code is not None:
                return
            await asyncio.sleep(_LOOK)
        program.kill()

    async def _keep(self) -> None:
        while True:
            for program in self.programs:
                if program.exit_code is None:
                    self._measure(program)
                elif program not in self._down:
                    self._bury(program)
                    program.launch()
            await asyncio.sleep(_LOOK)

    def _bury(self, program: Program) -> None:
        """Nothing may end by itself but a server that cannot begin because PostgreSQL is away, and a worker that a
        task has killed."""
        assert program.exit_code is not None
        death = Death(program.name, program.pid, program.exit_code, program.log[-_LAST_WORDS:])
        self.deaths.append(death)
        for left_over in _LEFT_BY_FAKETIME:  # a process that gets this id again would wait for the dead one
            Path(f"{left_over}{program.pid}").unlink(missing_ok=True)
        killed_by_task = program in self.workers and program.exit_code == -signal.SIGKILL
        if program.has_worked and program.pid not in self._foretold and not killed_by_task:
            self.surprises.append(death)

    def _measure(self, program: Program) -> None:
        try:
            memory = psutil.Process(program.pid).memory_info().rss
        except psutil.NoSuchProcess:
            return
        self.largest[program.name] = max(memory, self.largest.get(program.name, 0))
