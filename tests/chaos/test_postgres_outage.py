"""PostgreSQL goes away under load and comes back."""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import asyncpg
import httpx2
import pytest

from support.cluster import KEY, Cluster
from support.execution_history import History, begun_twice, early, unfinished
from support.job_load import Due, Load
from support.stoppable_postgres import StoppablePostgres
from support.waiting import eventually
from tickwork.model.public_ids import execution_id, from_micros, parse_execution_id, parse_job_id
from tickwork.model.worker import BEAT, LEASE, MARGIN

_LEAD = 3  # seconds for creating the jobs before the first is due
_FENCED_AFTER = LEASE - MARGIN - BEAT  # the last renewal may be a beat old
_UNDER_WAY = timedelta(seconds=2)  # a busy machine fires late: what was due just before may be missed, too
_UNFORESEEN = ('"step failed"', '"request failed"', "never retrieved")
_RESUMES_WITHIN = 20.0  # seconds; it should be 5, but a busy machine is no reason to fail


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[StoppablePostgres]:
    postgres = StoppablePostgres(tmp_path)
    postgres.start()
    yield postgres
    postgres.stop()


@pytest.fixture
async def processes(postgres: StoppablePostgres, tmp_path: Path) -> AsyncIterator[Cluster]:
    cluster = Cluster(postgres.url, tmp_path)
    await cluster.start(servers=2, workers=2)
    yield cluster
    cluster.clean_up()


@pytest.mark.parametrize("how", ["immediate", "fast"])
async def test_nothing_is_lost_or_doubled_and_work_goes_on(
    postgres: StoppablePostgres, processes: Cluster, how: Literal["fast", "immediate"], long: bool
) -> None:
    away, over = (
        (timedelta(seconds=20), timedelta(seconds=40))
        if long
        else (timedelta(seconds=4), timedelta(seconds=10))
    )
    begin = datetime.fromtimestamp(math.ceil(datetime.now(UTC).timestamp()) + _LEAD, UTC)
    load = Load(begin, over, jobs=int(over / timedelta(seconds=1)) * 30)
    async with processes.client() as client:
        created = await client.create_jobs(load.requests)
    await eventually(lambda: processes.ledger.completed() > load.executions // 5, within=60, what="some work")

    gone_at = datetime.now(UTC)
    await postgres.halt(how)
    await _answers_that_it_is_unavailable(processes)
    await asyncio.sleep((gone_at + away - datetime.now(UTC)).total_seconds())  # the outage itself
    await postgres.resume()
    back_at = datetime.now(UTC)
    new = [await _runs_a_new_job(processes, server, back_at) for server in (0, 1)]
    calls = [await _makes_a_new_http_call(processes, server, back_at) for server in (0, 1)]

    connection = await asyncpg.connect(postgres.url)
    due = load.due([job.id for job in created])
    await eventually(
        lambda: _all_ended(connection, due),
        within=over.total_seconds() + 40,
        what="the end of all executions",
    )
    history, runs = await History.read(connection), processes.ledger.runs()
    await connection.close()
    assert [program.exit_code for program in processes.programs] == [None] * 4
    assert history.fired() - due == {*new, *calls}
    assert due - history.fired() == history.passed_over(due)
    window = gone_at - _UNDER_WAY, back_at + _UNDER_WAY
    assert [at for _, at in history.passed_over(due) if not window[0] < at < window[1]] == []
    assert history.not_completed() == []
    assert {each.id for each in history.not_run_as_recorded(runs)} == {execution_id(*call) for call in calls}
    assert history.unexplained_attempts() == []
    allowed = {"lost"} if back_at - gone_at > _FENCED_AFTER else set()
    assert {each.outcome for each in history.unfinished} <= allowed
    assert begun_twice(runs) == []
    assert early(runs) == []
    assert history.illegal_overlaps(runs) == []
    assert _surprises(processes) == []


async def _answers_that_it_is_unavailable(processes: Cluster) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}) as http:
        for url in processes.urls:
            assert (await http.get(f"{url}/livez")).status_code == 200
            for path in ("/v1/jobs", "/readyz"):
                answer = await http.get(url + path)
                assert (answer.status_code, answer.headers["content-type"]) == (
                    503,
                    "application/problem+json",
                )
            answer = await http.post(f"{url}/v1/jobs", json={"task": "quick"})
            assert (answer.status_code, answer.json()["status"]) == (503, 503)


async def _runs_a_new_job(processes: Cluster, server: int, back_at: datetime) -> tuple[int, datetime]:
    """Its due time, once it has completed."""
    async with processes.client(server) as client:
        job = await client.create_job(task="quick")
        (ended_at, execution) = await eventually(
            lambda: _end_of(processes, job.id), within=_RESUMES_WITHIN, what="a new job's end"
        )
    _report(f"a new job through server {server + 1} completed", from_micros(ended_at) - back_at)
    return parse_execution_id(execution)


async def _makes_a_new_http_call(processes: Cluster, server: int, back_at: datetime) -> tuple[int, datetime]:
    """Likewise, by the worker inside of a server."""
    async with processes.client(server) as client:
        call = {"url": f"{processes.urls[server]}/livez", "method": "GET"}
        job = await client.create_job(http=call)
        execution = await client.wait_for_job(job.id, timeout=_RESUMES_WITHIN)
    _report(f"a new HTTP call through server {server + 1} completed", execution.finished_at - back_at)
    return parse_execution_id(execution.id)


def _report(what: str, after: timedelta) -> None:
    print(f"{what} {after.total_seconds():.2f} s after PostgreSQL was back")  # noqa: T201 (`pytest -s` shows it)


def _end_of(processes: Cluster, job: str) -> tuple[int, str] | None:
    ends = {
        parse_execution_id(run.attempt.execution)[0]: run for run in processes.ledger.runs() if run.ended_at
    }
    run = ends.get(parse_job_id(job))
    return (run.ended_at, run.attempt.execution) if run and run.ended_at else None


def _surprises(processes: Cluster) -> list[str]:
    """An outage is foreseen: nobody logs an error that nobody caught."""
    lines = [line for program in processes.programs for line in program.log.splitlines()]
    return [line for line in lines if any(words in line for words in _UNFORESEEN)]


async def _all_ended(connection: asyncpg.Connection, due: Due) -> bool:
    if await unfinished(connection):
        return False
    history = await History.read(connection)
    return due <= history.fired() | history.passed_over(due)
