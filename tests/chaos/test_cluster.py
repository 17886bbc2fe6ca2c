"""Three servers and three workers on one database, while one of each is killed."""

import asyncio
import math
from datetime import UTC, datetime, timedelta

import asyncpg

from support.cluster import Cluster
from support.execution_history import History, all_ended, begun_twice, early
from support.job_load import Load
from support.waiting import eventually
from tickwork.model.public_ids import parse_job_id

_LEAD = 3  # seconds for creating the jobs before the first is due
_A_FEW_MOMENTS = [timedelta(seconds=0.75), timedelta(seconds=1), timedelta(seconds=1.05)]
_RESCUE = 40.0  # seconds after the last due time: a lease, its rescue and then some


async def test_every_due_time_runs_once_while_a_server_and_a_worker_are_killed(
    processes: Cluster, connection: asyncpg.Connection, long: bool
) -> None:
    seconds, jobs = (60, 2000) if long else (12, 400)
    await processes.start(servers=3, workers=3)
    begin = datetime.fromtimestamp(math.ceil(datetime.now(UTC).timestamp()) + _LEAD, UTC)
    load = Load(begin, timedelta(seconds=seconds), jobs)
    async with processes.client(1) as client:
        created = await client.create_jobs(load.requests)
    assert datetime.now(UTC) < begin

    await _until_done(processes, load.executions // 5, within=seconds)
    processes.servers[0].kill()
    await processes.servers[0].start()

    await _until_done(processes, load.executions // 3, within=seconds)
    await _kill_in_the_middle_of_something(processes, worker=1)
    await processes.add_worker()

    await eventually(
        lambda: all_ended(connection, load.executions),
        within=seconds + _RESCUE,
        what="the end of all executions",
    )
    history, runs = await History.read(connection), processes.ledger.runs()
    assert history.fired() == load.due([job.id for job in created])
    assert len(history.executions) == load.executions
    assert history.not_completed() == []
    assert history.not_run_as_recorded(runs) == []
    assert history.unexplained_attempts() == []
    assert {(each.outcome, each.worker) for each in history.unfinished} == {("lost", "worker-2")}
    assert begun_twice(runs) == []
    assert early(runs) == []
    assert history.illegal_overlaps(runs) == []
    await _stops_and_leaves_nothing(processes, connection)


async def test_no_due_time_is_lost_when_a_server_dies_around_it(
    processes: Cluster, connection: asyncpg.Connection, long: bool
) -> None:
    """A server is killed at every moment from a second before a due time to a second after it."""
    moments = [timedelta(milliseconds=50 * number) for number in range(40)] if long else _A_FEW_MOMENTS
    await processes.start(servers=2, workers=1)
    begin = datetime.fromtimestamp(math.ceil(datetime.now(UTC).timestamp()) + _LEAD, UTC)
    schedule = {"every": "2s", "start": begin.isoformat()}
    async with processes.client(1) as client:
        job = await client.create_job(task="quick", schedule=schedule, overlap="allow")
        for number, moment in enumerate(moments):
            due = begin + timedelta(
                seconds=2 * math.ceil((datetime.now(UTC) - begin).total_seconds() / 2 + 1)
            )
            await asyncio.sleep((due + moment - timedelta(seconds=1) - datetime.now(UTC)).total_seconds())
            processes.servers[number % 2].kill()
            await processes.servers[number % 2].start()
        await client.cancel_job(job.id)
    await eventually(lambda: all_ended(connection, len(moments)), within=_RESCUE, what="the end of all")
    history, runs = await History.read(connection), processes.ledger.runs()
    times = sorted(at for _, at in history.fired())
    due_times = {
        (parse_job_id(job.id), begin + timedelta(seconds=2 * n))
        for n in range(int((times[-1] - begin) / timedelta(seconds=2)) + 1)
    }
    assert history.fired() | history.passed_over(due_times) == due_times
    assert begun_twice(runs) == early(runs) == history.illegal_overlaps(runs) == []


async def _until_done(processes: Cluster, executions: int, *, within: float) -> None:
    await eventually(
        lambda: processes.ledger.completed() >= executions,
        within=within,
        what=f"the end of {executions} executions",
    )


async def _kill_in_the_middle_of_something(processes: Cluster, *, worker: int) -> None:
    victim = processes.workers[worker]
    await eventually(
        lambda: any(
            run.is_open and run.pid == victim.pid and run.task == "slow" for run in processes.ledger.runs()
        ),
        within=10,
        what="a slow execution on the worker to be killed",
    )
    victim.kill()


async def _stops_and_leaves_nothing(processes: Cluster, connection: asyncpg.Connection) -> None:
    living = [program for program in [*processes.workers, *processes.servers] if program.exit_code is None]
    assert [await program.stop() for program in living] == [0] * 6
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0
    alive = "SELECT count(*) FROM tickwork.worker WHERE ended_at IS NULL"
    assert await connection.fetchval(alive) == 0
