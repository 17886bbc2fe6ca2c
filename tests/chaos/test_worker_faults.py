"""A worker that is killed, told to stop, frozen, or left by its server."""

import signal
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import asyncpg
import psutil
import pytest

from support.attempt_ledger import Run
from support.cluster import Cluster
from support.execution_history import History, all_ended, begun_twice, unfinished
from support.job_load import Load
from support.waiting import eventually
from tickwork.model.worker import LEASE

_RESCUED_WITHIN = 30.0  # seconds; it should be 20, but a busy machine is no reason to fail
_LEASE = LEASE.total_seconds()


class Gate:
    """Gated tasks end when it is open."""

    def __init__(self, file: Path) -> None:
        self.payload = {"gate": str(file)}
        self._file = file

    def open(self) -> None:
        self._file.touch()


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "gate")


async def test_what_a_killed_worker_held_runs_again_on_another(
    processes: Cluster, connection: asyncpg.Connection, gate: Gate
) -> None:
    await processes.start(servers=1, workers=2)
    victim, survivor = processes.workers
    await _create(processes, gate, jobs=20)
    held = [run for run in await _begun(processes, 20) if run.pid == victim.pid]
    assert held

    victim.kill()
    killed_at = monotonic()
    again = (await _begun(processes, 20 + len(held), within=_RESCUED_WITHIN))[20:]
    _report("executions of a killed worker begun again", monotonic() - killed_at)
    gate.open()
    await _until_all_ended(connection)

    assert {(run.pid, run.attempt.attempt) for run in again} == {(survivor.pid, 2)}
    history = await History.read(connection)
    assert history.not_completed() == []
    assert {each.attempt for each in history.unfinished} == {run.attempt for run in held}
    assert {(each.outcome, each.worker) for each in history.unfinished} == {("lost", victim.name)}
    assert history.illegal_overlaps(processes.ledger.runs()) == []


async def test_the_children_of_a_killed_worker_stop_too(processes: Cluster) -> None:
    """Also those that were started side by side: none may hold the other end of another's pipe."""
    await processes.start(servers=1, workers=1)
    (victim,) = processes.workers
    async with processes.client() as client:
        await client.create_jobs([{"task": "in_process", "payload": {"seconds": 600}}] * 6)
    children = [psutil.Process(run.pid) for run in await _begun(processes, 6)]

    victim.kill()
    await eventually(
        lambda: not any(child.is_running() for child in children), within=15, what="the end of its children"
    )


async def test_a_worker_told_to_stop_takes_nothing_new_and_finishes_under_its_lease(
    processes: Cluster, connection: asyncpg.Connection, gate: Gate
) -> None:
    await processes.start(servers=1, workers=1, slots=3)
    (leaving,) = processes.workers
    await _create(processes, gate, jobs=6)
    await _begun(processes, 3)

    leaving.send(signal.SIGTERM)
    told_at = datetime.now(UTC)
    await eventually(lambda: _is_draining(connection, leaving.name), within=10, what="the drain")
    staying = await processes.add_worker()
    await _create(processes, gate, jobs=3)
    await _begun(processes, 9)
    await eventually(
        lambda: _lease_reaches(connection, leaving.name, told_at + LEASE + timedelta(seconds=1)),
        within=_LEASE,
        what="a renewal after it was told to stop",
    )
    assert leaving.exit_code is None
    gate.open()

    assert await leaving.ended() == 0
    await _until_all_ended(connection)
    runs = processes.ledger.runs()
    assert [run.pid for run in runs] == [leaving.pid] * 3 + [staying.pid] * 6
    assert begun_twice(runs) == []
    assert {each.outcome for each in (await History.read(connection)).unfinished} <= {"returned"}
    assert await _used_up(connection) == 0
    assert await connection.fetchval("SELECT ended_at FROM tickwork.worker WHERE name = $1", leaving.name)


async def test_a_worker_told_to_stop_hands_back_what_is_still_on_its_way_to_it(
    processes: Cluster, connection: asyncpg.Connection, gate: Gate
) -> None:
    await processes.start(servers=1, workers=1)
    (leaving,) = processes.workers
    gate.open()
    async with connection.transaction():
        await connection.execute("LOCK TABLE tickwork.lease IN EXCLUSIVE MODE")  # nothing can be handed over
        await _create(processes, gate, jobs=1)
        await eventually(
            lambda: _is_waited_for(connection, "lease"), within=10, what="an attempt to hand over"
        )
        leaving.send(signal.SIGTERM)
        await eventually(lambda: _is_draining(connection, leaving.name), within=10, what="the drain")
    staying = await processes.add_worker()
    assert await leaving.ended() == 0
    await _until_all_ended(connection)
    assert [run.pid for run in processes.ledger.runs()] == [staying.pid]
    assert await _used_up(connection) == 0


async def test_a_worker_that_is_leaving_when_its_server_is_killed_finishes_on_another(
    processes: Cluster, connection: asyncpg.Connection, gate: Gate
) -> None:
    await processes.start(servers=2, workers=1)
    (leaving,) = processes.workers
    await _create(processes, gate, jobs=5)
    await _begun(processes, 5)
    leaving.send(signal.SIGTERM)
    await eventually(lambda: _is_draining(connection, leaving.name), within=10, what="the drain")
    processes.servers[0].kill()
    await eventually(lambda: _connections(connection, 2), within=10, what="the worker on the other server")
    gate.open()
    assert await leaving.ended() == 0
    await _until_all_ended(connection)
    history = await History.read(connection)
    assert history.not_completed() == []
    assert history.unfinished == []


async def test_replacing_workers_one_by_one_under_load_costs_no_attempt(
    processes: Cluster, connection: asyncpg.Connection, long: bool
) -> None:
    seconds, jobs = (60, 6000) if long else (5, 750)
    await processes.start(servers=2, workers=2)
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3)
    async with processes.client() as client:
        load = Load(begin, timedelta(seconds=seconds), jobs)
        await client.create_jobs(load.requests)
    ends = begin + timedelta(seconds=seconds)
    for leaving in processes.workers:  # grows with each replacement
        if datetime.now(UTC) > ends:
            break
        await processes.add_worker(first=len(processes.workers))
        assert await leaving.stop() == 0
    await eventually(
        lambda: all_ended(connection, load.executions), within=30, what="the end of all executions"
    )

    history, runs = await History.read(connection), processes.ledger.runs()
    assert len(history.executions) == load.executions
    assert {each.outcome for each in history.unfinished} <= {"returned"}
    assert await _used_up(connection) == 0
    assert len(runs) == load.executions


async def test_a_worker_frozen_for_longer_than_its_lease_is_too_late_and_in_nobodys_way(
    processes: Cluster, connection: asyncpg.Connection, gate: Gate
) -> None:
    """Its connection stays open for as long as it is frozen, so only its lease tells."""
    await processes.start(servers=1, workers=1)
    (frozen,) = processes.workers
    await _create(processes, gate, jobs=1, task="gated")
    await _create(processes, gate, jobs=1, task="gated_thread")
    await _begun(processes, 2)
    other = await processes.add_worker()

    frozen.send(signal.SIGSTOP)
    frozen_at = monotonic()
    await _begun(processes, 4, within=_RESCUED_WITHIN)
    _report("executions of a frozen worker begun again", monotonic() - frozen_at)
    for number in range(5, 8):
        await _create(processes, gate, jobs=1)
        await _begun(processes, number, within=5)
    gate.open()
    await _until_all_ended(connection)
    before = await _results(connection)
    frozen.send(signal.SIGCONT)
    await eventually(
        lambda: _registrations(connection, frozen.name, 2), within=20, what="its new registration"
    )

    assert before == [(2, other.pid)] * 2 + [(1, other.pid)] * 3
    assert await _results(connection) == before
    history = await History.read(connection)
    assert {(each.outcome, each.worker) for each in history.unfinished} == {("lost", frozen.name)}
    assert history.illegal_overlaps(processes.ledger.runs()) == []
    assert [program.exit_code for program in processes.programs] == [None] * 3


async def test_a_worker_whose_server_is_killed_keeps_what_it_runs(
    processes: Cluster, connection: asyncpg.Connection, gate: Gate
) -> None:
    await processes.start(servers=2, workers=1)
    await _create(processes, gate, jobs=10)
    await _begun(processes, 10)

    processes.servers[0].kill()
    killed_at = monotonic()
    await eventually(lambda: _connections(connection, 2), within=10, what="the worker on the other server")
    _report("a worker on another server after its own was killed", monotonic() - killed_at)
    gate.open()
    await _until_all_ended(connection)

    runs = processes.ledger.runs()
    assert len(runs) == 10
    history = await History.read(connection)
    assert history.not_completed() == []
    assert history.unfinished == []
    assert {each.attempt for each in history.executions} == {1}


async def test_a_second_attempt_on_the_same_worker_survives_the_loss_of_its_server(
    processes: Cluster, connection: asyncpg.Connection, gate: Gate
) -> None:
    """What was handed over together with its first attempt is still running, so both handovers name it."""
    await processes.start(servers=2, workers=1)
    async with processes.client() as client:
        await client.create_jobs(
            [
                {"task": "gated", "payload": gate.payload},
                {"task": "stumbling", "payload": gate.payload, "retry": {"initial": "0.1s"}},
            ]
        )
    await _begun(processes, 2)

    processes.servers[0].kill()
    await eventually(lambda: _connections(connection, 2), within=10, what="the worker on the other server")
    gate.open()
    await _until_all_ended(connection)

    history = await History.read(connection)
    assert history.not_completed() == []
    assert [each.outcome for each in history.unfinished] == ["failed"]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0


async def test_what_ended_while_no_server_was_there_is_recorded_once_one_is(
    processes: Cluster, connection: asyncpg.Connection, gate: Gate
) -> None:
    await processes.start(servers=1, workers=1)
    (server,) = processes.servers
    await _create(processes, gate, jobs=10)
    await _begun(processes, 10)

    server.kill()
    gate.open()
    await eventually(lambda: processes.ledger.completed() == 10, within=10, what="the end of the tasks")
    assert await unfinished(connection) == 10
    await server.start()
    await _until_all_ended(connection)

    history = await History.read(connection)
    assert history.not_completed() == []
    assert history.unfinished == []
    assert len(processes.ledger.runs()) == 10


async def _create(processes: Cluster, gate: Gate, *, jobs: int, task: str = "gated") -> None:
    async with processes.client(len(processes.servers) - 1) as client:
        await client.create_jobs([{"task": task, "payload": gate.payload}] * jobs)


async def _begun(processes: Cluster, number: int, *, within: float = 15.0) -> Sequence[Run]:
    await eventually(
        lambda: len(processes.ledger.runs()) >= number,
        within=within,
        what=f"the beginning of {number} attempts",
    )
    runs = processes.ledger.runs()
    assert len(runs) == number
    return runs


async def _until_all_ended(connection: asyncpg.Connection) -> None:
    async def ended() -> bool:
        return await unfinished(connection) == 0

    await eventually(ended, within=_RESCUED_WITHIN, what="the end of all executions")


async def _is_draining(connection: asyncpg.Connection, worker: str) -> bool:
    return bool(await connection.fetchval("SELECT draining FROM tickwork.worker WHERE name = $1", worker))


async def _lease_reaches(connection: asyncpg.Connection, worker: str, until: datetime) -> bool:
    lease = await connection.fetchval("SELECT lease_until FROM tickwork.worker WHERE name = $1", worker)
    return bool(lease >= until)


async def _registrations(connection: asyncpg.Connection, worker: str, number: int) -> bool:
    return bool(
        await connection.fetchval("SELECT count(*) FROM tickwork.worker WHERE name = $1", worker) == number
    )


async def _connections(connection: asyncpg.Connection, number: int) -> bool:
    newest = "SELECT max(connection) FROM tickwork.worker WHERE tenant_id IS NOT NULL"
    return bool(await connection.fetchval(newest) == number)


async def _used_up(connection: asyncpg.Connection) -> int:
    count: int = await connection.fetchval("SELECT sum(failures + losses) FROM tickwork.execution")
    return count


async def _results(connection: asyncpg.Connection) -> list[tuple[int, int]]:
    """Attempt and process of each execution."""
    rows = await connection.fetch("SELECT attempt, result FROM tickwork.execution ORDER BY job_id")
    return [(row["attempt"], int(row["result"])) for row in rows]


def _report(what: str, seconds: float) -> None:
    print(f"{what}: {seconds:.2f} s")  # noqa: T201 (a figure to publish; `pytest -s` shows it)


async def _is_waited_for(connection: asyncpg.Connection, table: str) -> bool:
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass"
    return bool(await connection.fetchval(waiting, f"tickwork.{table}"))
