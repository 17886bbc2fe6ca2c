"""Servers and workers as processes, the way an operator runs them: one database, any number of each."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from support.attempt_ledger import LEDGER_VARIABLE, Ledger
from support.free_port import free_port
from support.waiting import eventually
from tickwork.client.async_client import AsyncClient
from tickwork.client.worker_websocket import own_order

KEY = "tw_the-key-of-the-fault-tests"
TASKS = "support.ledger_tasks:app"
_TESTS = Path(__file__).parent.parent
_START_WITHIN = 90.0  # a bound for a busy machine, not a promise
_STOP_WITHIN = 60.0
_PR_SET_PDEATHSIG = 1
_SHOWN = 6000  # characters of a log


class Program:
    """A `tickwork` process, dealt with by its process id, with its log in a file."""

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        *,
        says: str,
        env: Mapping[str, str],
        folder: Path,
        module: str = "tickwork.cli",
        tree: Path | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        """`tree`: where the code of another release is."""
        self.name = name
        self.tree = tree  # when it is launched the next time
        self.words = list(words)
        self._module = module
        self._prefix = prefix
        self._says = says
        self._env = {**_clean_environment(), **env}
        self._folder = folder
        self._log = folder / f"{name}.log"
        self._log_before = 0  # characters
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.poll() if self._process else None

    @property
    def log(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    @property
    def works(self) -> bool:
        """It lives, and has said that it works."""
        return self.exit_code is None and self.has_worked

    @property
    def has_worked(self) -> bool:
        return self._says in self.log[self._log_before :]

    @property
    def _environment(self) -> dict[str, str]:
        path = [str(self.tree / "src")] if self.tree else []
        path += filter(None, [self._env.get("PYTHONPATH")])
        return {**self._env, "PYTHONPATH": os.pathsep.join(path)}

    def launch(self) -> None:
        self._log_before = len(self.log)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._prefix, sys.executable, "-m", self._module, *self.words],
                env=self._environment, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=die_with_parent,  # noqa: PLW1509 (calls nothing but the system)
            )  # fmt: skip

    async def start(self) -> None:
        """Until it says that it works."""
        self.launch()
        await eventually(
            lambda: self.has_worked or self.exit_code is not None,
            within=_START_WITHIN,
            what=f"the start of {self.name}",
        )
        assert self.exit_code is None, f"{self.name} ended at once:\n{self.log[self._log_before :]}"

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """As a power cut would."""
        with suppress(ProcessLookupError):  # it may have ended in this moment
            self.send(signal.SIGKILL)
        assert self._process
        self._process.wait()

    async def stop(self) -> int:
        """Ask it to stop; its exit code."""
        self.send(signal.SIGTERM)
        return await self.ended()

    async def ended(self) -> int:
        await eventually(
            lambda: self.exit_code is not None, within=_STOP_WITHIN, what=f"the end of {self.name}"
        )
        assert self.exit_code is not None
        return self.exit_code

    def clean_up(self) -> None:
        """End it, and show its log; pytest passes that on when the test failed."""
        if self._process and self.exit_code is None:
            self.kill()
        print(f"---- {self.name}\n{self.log[-_SHOWN:]}")  # noqa: T201


class Cluster:
    def __init__(self, database_url: str, folder: Path) -> None:
        self.servers: list[Program] = []
        self.workers: list[Program] = []
        self.urls: list[str] = []
        self.ledger = Ledger(folder / "ledger.jsonl")
        self._database_url = database_url
        self._folder = folder

    @property
    def programs(self) -> list[Program]:
        return [*self.servers, *self.workers]

    async def start(self, *, servers: int, workers: int, slots: int = 100) -> None:
        """Each worker knows all the servers and begins with another one."""
        for _ in range(servers):
            await self.add_server()
        for number in range(workers):
            await self.add_worker(slots=slots, first=number)

    async def add_server(
        self,
        *,
        database_url: str | None = None,
        env: Mapping[str, str] | None = None,
        tree: Path | None = None,
    ) -> Program:
        server = Program(
            f"server-{len(self.servers) + 1}",
            ["server", "--port", "0"],
            says="Tickwork answers on ",
            env={
                "TICKWORK_DATABASE_URL": database_url or self._database_url,
                "TICKWORK_ADMIN_KEY": KEY,
                "TICKWORK_DATA_DIR": str(self._folder),
                "TICKWORK_HTTP_ALLOW_LOOPBACK": "true",
                **(env or {}),
            },
            folder=self._folder,
            tree=tree,
        )
        self.servers.append(server)
        await server.start()
        url = server.log.rpartition("Tickwork answers on ")[2].split()[0]
        self.urls.append(url)
        server.words[-1] = url.rpartition(":")[2]  # where its workers look for it when it is started again
        return server

    async def add_worker(
        self,
        *,
        slots: int = 100,
        first: int = 0,
        urls: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        tasks: str = TASKS,
        tree: Path | None = None,
        prefix: Sequence[str] = (),
    ) -> Program:
        name = f"worker-{len(self.workers) + 1}"
        given = _given_to(name, list(urls or self.urls), first)
        servers = [word for url in given for word in ("--server", url)]
        worker = Program(
            name,
            ["worker", tasks, "--name", name, "--slots", str(slots), *options, *servers],
            says='"event": "connected"',
            env={"TICKWORK_API_KEY": KEY, **task_environment(self.ledger), **(env or {})},
            folder=self._folder,
            tree=tree,
            prefix=prefix,
        )
        self.workers.append(worker)
        await worker.start()
        return worker

    async def start_target(self) -> tuple[Program, str]:
        """The target of HTTP jobs, and its URL. Whoever starts it ends it."""
        port = free_port()
        target = Program(
            "target", [str(port)], says="Running on", env=task_environment(self.ledger),
            folder=self._folder, module="support.http_target",
        )  # fmt: skip
        await target.start()
        return target, f"http://127.0.0.1:{port}/"

    def client(self, server: int = 0) -> AsyncClient:
        return AsyncClient(self.urls[server], KEY)

    def clean_up(self) -> None:
        for program in self.programs:
            program.clean_up()


def _given_to(worker: str, urls: list[str], first: int) -> list[str]:
    """The servers in such an order that the worker, which makes its own of it, begins with the first."""
    begin = first % len(urls)
    wanted = urls[begin:] + urls[:begin]
    places = own_order([str(place) for place in range(len(wanted))], worker)
    return [wanted[places.index(str(place))] for place in range(len(wanted))]


def task_environment(ledger: Ledger) -> dict[str, str]:
    """What a process needs to run the tasks."""
    path = os.pathsep.join([str(_TESTS), os.environ.get("PYTHONPATH", "")])
    return {"PYTHONPATH": path, LEDGER_VARIABLE: str(ledger.file)}


def _clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("TICKWORK_")}


def die_with_parent() -> None:
    """Where the system can do that: a test run that is killed leaves nothing behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
