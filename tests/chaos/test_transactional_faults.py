"""Workers and relays that are killed around the commits of their users' transactions."""

from collections import Counter
from pathlib import Path
from random import Random
from uuid import uuid4

import asyncpg
import pytest

from support.cluster import KEY, Cluster, Program, task_environment
from support.database_libraries import make_effect_table
from support.execution_history import unfinished
from support.transactional_tasks import DATABASE_VARIABLE, POINTS
from support.waiting import eventually
from tickwork.model.execution import ExecutionStatus
from tickwork.model.job import JobRequest
from tickwork.outbox.outbox_tables import install
from tickwork.outbox.submit_in_transaction import write_async

_EXECUTIONS = 60  # of each round
_RESCUED_WITHIN = 40.0
_TRANSACTIONS = 150
_ROLLED_BACK = 0.3


@pytest.fixture
async def own(connection: asyncpg.Connection) -> asyncpg.Connection:
    await install(connection)
    await make_effect_table(connection)
    return connection


async def test_an_effect_happens_once_wherever_its_worker_is_killed(
    processes: Cluster, own: asyncpg.Connection, database_url: str, tmp_path: Path, long: bool
) -> None:
    await processes.start(servers=1, workers=0)
    victim = await _add_worker(processes, database_url, tmp_path)
    for round_number in range(1, 1 + (10 if long else 1)):
        parked = tmp_path / f"parked-{round_number}"
        parked.mkdir()
        await _submit(processes, parked)
        stuck = _EXECUTIONS * (len(POINTS) - 1) // len(POINTS)
        await eventually(lambda: len(list(parked.iterdir())) == stuck, within=30, what="all to be there")  # noqa: B023
        survivor = await _add_worker(processes, database_url, tmp_path)
        victim.kill()
        await eventually(lambda: _all_ended(own), within=_RESCUED_WITHIN, what="the end of all")
        await _check_effects(own, _EXECUTIONS * round_number)
        victim = survivor


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # relays that were killed
async def test_a_job_appears_if_and_only_if_its_transaction_commits_however_often_relays_are_killed(
    processes: Cluster, own: asyncpg.Connection, database_url: str, tmp_path: Path, long: bool
) -> None:
    kills = 100 if long else 8
    choose = Random(kills)  # noqa: S311 (the same every time)
    await processes.start(servers=1, workers=1)
    relays = [_relay(processes, number, database_url, tmp_path) for number in (1, 2)]
    processes.workers += relays  # to be cleaned up with them
    committed: list[str] = []
    for _ in range(kills):
        for relay in relays:
            if relay.exit_code is not None or not relay.log:
                relay.launch()
        left = await _waiting(own)
        committed += await _transact(own, choose, _TRANSACTIONS // kills + 5)
        if choose.random() < 0.7:
            await eventually(lambda: _moved(own, left), within=20, what="a relay to take something")  # noqa: B023
        choose.choice(relays).kill()
    for relay in relays:
        if relay.exit_code is not None:
            relay.launch()
    await eventually(lambda: _is_empty(own), within=30, what="the end of the outbox")
    created = await own.fetch("SELECT key FROM tickwork.job WHERE key IS NOT NULL")
    assert Counter(row["key"] for row in created) == Counter(committed)
    assert await own.fetchval("SELECT max(version) FROM tickwork.job") == 1
    assert await own.fetchval("SELECT count(*) FROM tickwork_outbox.batch") == 0


async def _add_worker(processes: Cluster, database_url: str, folder: Path) -> Program:
    name = f"payer-{len(processes.workers) + 1}"
    worker = Program(
        name,
        ["worker", "support.transactional_tasks:app", "--name", name, "--server", processes.urls[0]],
        says='"event": "connected"',
        env={"TICKWORK_API_KEY": KEY, DATABASE_VARIABLE: database_url, **task_environment(processes.ledger)},
        folder=folder,
    )
    processes.workers.append(worker)
    await worker.start()
    return worker


def _relay(processes: Cluster, number: int, database_url: str, folder: Path) -> Program:
    return Program(
        f"relay-{number}",
        ["outbox", "relay", "--server", processes.urls[0]],
        says="relaying to",
        env={"TICKWORK_API_KEY": KEY, "TICKWORK_OUTBOX_URL": database_url},
        folder=folder,
    )


async def _submit(processes: Cluster, parked: Path) -> None:
    async with processes.client() as client:
        await client.create_jobs(
            {"task": "pay", "payload": {"point": POINTS[number % len(POINTS)], "parked": str(parked)}}
            for number in range(_EXECUTIONS)
        )


async def _check_effects(own: asyncpg.Connection, executions: int) -> None:
    effects = Counter(row["execution_id"] for row in await own.fetch("SELECT execution_id FROM effect"))
    done = {row["execution_id"] for row in await own.fetch("SELECT execution_id FROM tickwork_outbox.done")}
    assert len(effects) == executions
    assert set(effects.values()) == {1}
    assert set(effects) == done
    ended = await own.fetch("SELECT status, count(*) FROM tickwork.execution GROUP BY status")
    assert [(row["status"], row["count"]) for row in ended] == [(ExecutionStatus.COMPLETED, executions)]


async def _transact(own: asyncpg.Connection, choose: Random, number: int) -> list[str]:
    """The keys of the jobs whose transactions were committed."""
    committed: list[str] = []
    for _ in range(number):
        transaction = own.transaction()
        await transaction.start()
        keys = [await _write(own, choose) for _ in range(choose.randint(1, 3))]
        if choose.random() < _ROLLED_BACK:
            await transaction.rollback()
        else:
            await transaction.commit()
            committed += keys
    return committed


async def _write(own: asyncpg.Connection, choose: Random) -> str:
    key = str(uuid4()) if choose.random() < 0.5 else None
    row = await write_async(own, JobRequest(task="quick", key=key))
    return key or f"outbox:{row}"


async def _waiting(own: asyncpg.Connection) -> int:
    return await own.fetchval("SELECT count(*) FROM tickwork_outbox.job")


async def _moved(own: asyncpg.Connection, left: int) -> bool:
    return await _waiting(own) <= left


async def _is_empty(own: asyncpg.Connection) -> bool:
    return await _waiting(own) == 0


async def _all_ended(own: asyncpg.Connection) -> bool:
    return await unfinished(own) == 0
