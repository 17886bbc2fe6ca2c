"""`tickwork up`, stopped and killed in the middle of work: what is left behind, and what the next one finds."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import psutil
import pytest

from support.attempt_ledger import Ledger
from support.cluster import TASKS, Program, task_environment
from support.execution_history import History, begun_twice, early, unfinished
from support.job_load import Load
from support.ready_cluster import copy_ready_cluster
from support.waiting import eventually
from tickwork.client.async_client import AsyncClient
from tickwork.client.find_server import find_server
from tickwork.store.embedded.server import EmbeddedPostgres


class Up:
    """One data folder, and whoever uses it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        self.ledger = Ledger(folder / "ledger.jsonl")
        self._programs: list[Program] = []

    def another(self) -> Program:
        number = len(self._programs) + 1
        program = Program(
            f"up-{number}",
            ["up", TASKS, "--port", "0", "--data-dir", str(self.folder)],
            says="Tickwork is up",
            env=task_environment(self.ledger),
            folder=self.folder.parent,
        )
        self._programs.append(program)
        return program

    def client(self) -> AsyncClient:
        return AsyncClient(*find_server(data_dir=self.folder, env={}))

    @asynccontextmanager
    async def database(self) -> AsyncIterator[asyncpg.Connection]:
        socket_folder = EmbeddedPostgres(self.folder)._socket_folder()
        connection = await asyncpg.connect(f"postgresql://tickwork@/tickwork?host={socket_folder}&port=5432")
        try:
            yield connection
        finally:
            await connection.close()

    def postmaster(self) -> psutil.Process:
        return psutil.Process(int((self.folder / "postgres" / "postmaster.pid").read_text().splitlines()[0]))

    def clean_up(self) -> None:
        for program in self._programs:
            program.clean_up()
        EmbeddedPostgres(self.folder).stop()


@pytest.fixture
def new_up(tmp_path: Path) -> Iterator[Up]:
    """Its folder is empty."""
    up = Up(tmp_path)
    yield up
    up.clean_up()


@pytest.fixture
def up(new_up: Up) -> Up:
    """Its folder has a database."""
    copy_ready_cluster(new_up.folder)
    return new_up


async def test_ctrl_c_in_the_middle_of_work_leaves_no_process_and_the_next_one_does_the_rest(up: Up) -> None:
    first = up.another()
    await first.start()
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
    load = Load(begin, timedelta(seconds=5), jobs=120)
    async with up.client() as client:
        created = await client.create_jobs(load.requests)
    await eventually(lambda: up.ledger.completed() > load.executions // 3, within=30, what="some work")
    family = [up.postmaster(), *psutil.Process(first.pid).children(recursive=True)]
    assert len(family) >= 2

    os.killpg(first.pid, signal.SIGINT)  # as a terminal does
    assert await first.ended() == 0
    assert psutil.wait_procs(family, timeout=10)[1] == []
    assert [run for run in up.ledger.runs() if run.is_open or run.stopped_at] == []
    await up.another().start()

    due = load.due([job.id for job in created])
    async with up.database() as connection:
        await eventually(lambda: _all_ended(connection, len(due)), within=30, what="the rest of the work")
        history, runs = await History.read(connection), up.ledger.runs()
    assert history.fired() | history.passed_over(due) == due
    assert history.not_completed() == []
    assert {each.outcome for each in history.unfinished} <= {"returned"}
    assert len(runs) == len(history.executions)
    assert begun_twice(runs) == early(runs) == []


async def test_a_second_one_on_the_same_folder_says_that_it_is_in_use(up: Up) -> None:
    await up.another().start()
    second = up.another()
    second.launch()
    assert await second.ended() == 1
    assert "is in use by another Tickwork" in second.log
    await _completes_a_job(up)


async def test_after_a_kill_the_next_one_finds_everything(up: Up, long: bool) -> None:
    first = up.another()
    await first.start()
    gate = up.folder.parent / "gate"
    async with up.client() as client:
        interrupted = await client.create_job(task="gated", payload={"gate": str(gate)})
    await eventually(lambda: len(up.ledger.runs()) == 1, within=10, what="its beginning")
    children = psutil.Process(first.pid).children(recursive=True)

    first.kill()
    assert psutil.wait_procs(children, timeout=20)[1] == []
    await up.another().start()
    await _completes_a_job(up)
    gate.touch()
    if long:  # a lease has to run out first
        async with up.client() as client:
            assert (await client.wait_for_job(interrupted.id, timeout=40)).attempt == 2


async def test_after_a_power_cut_the_next_one_finds_everything(up: Up) -> None:
    first = up.another()
    await first.start()
    await _completes_a_job(up)
    postmaster = up.postmaster()
    family = [postmaster, *postmaster.children(), *psutil.Process(first.pid).children(recursive=True)]

    first.kill()
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(family, timeout=10)
    await up.another().start()
    await _completes_a_job(up)


async def test_after_a_kill_during_the_very_first_start_the_next_one_works(new_up: Up) -> None:
    up = new_up
    first = up.another()
    first.launch()
    await eventually(
        lambda: any(up.folder.glob("postgres*/*")), within=20, what="the first files of a cluster"
    )
    os.killpg(first.pid, signal.SIGKILL)  # with the initdb that it runs
    await first.ended()
    await up.another().start()
    await _completes_a_job(up)


async def test_after_a_kill_between_making_and_writing_its_key_the_next_one_works(up: Up) -> None:
    first = up.another()
    await first.start()
    first.kill()
    (up.folder / "admin.key").rename(up.folder / "admin.key.new")  # as it is found then
    await up.another().start()
    await _completes_a_job(up)
    assert not (up.folder / "admin.key.new").exists()


async def test_after_a_kill_as_soon_as_its_database_has_a_key_the_next_one_works(new_up: Up) -> None:
    up = new_up
    first = up.another()
    first.launch()
    await eventually(lambda: _has_a_key(up), within=30, what="the first key")
    first.kill()
    await up.another().start()
    await _completes_a_job(up)


async def test_a_database_that_dies_is_started_again(up: Up) -> None:
    first = up.another()
    await first.start()
    await _completes_a_job(up)
    up.postmaster().kill()
    await eventually(lambda: "starting it again" in first.log, within=20, what="the notice")
    await eventually(lambda: _has_a_key(up), within=30, what="the database")
    await _completes_a_job(up)
    assert first.exit_code is None


async def test_a_worker_that_dies_is_replaced(up: Up) -> None:
    first = up.another()
    await first.start()
    (worker,) = [child for child in psutil.Process(first.pid).children() if "worker" in child.cmdline()]
    worker.kill()
    await eventually(lambda: "with signal 9; starting another" in first.log, within=10, what="the notice")
    await _completes_a_job(up)
    assert await first.stop() == 0


async def _has_a_key(up: Up) -> bool:
    with suppress(OSError, asyncpg.PostgresError):
        async with up.database() as connection:
            return bool(await connection.fetchval("SELECT count(*) FROM tickwork.api_key"))
    return False


async def _completes_a_job(up: Up) -> None:
    async with up.client() as client:
        job = await client.create_job(task="quick")
        assert (await client.wait_for_job(job.id, timeout=20)).status == "completed"


async def _all_ended(connection: asyncpg.Connection, executions: int) -> bool:
    dealt_with = await connection.fetchval(
        "SELECT (SELECT count(*) FROM tickwork.execution) + (SELECT coalesce(sum(missed), 0) FROM tickwork.round)"
    )
    return bool(dealt_with >= executions and await unfinished(connection) == 0)
