"""What an operator finds in the logs of real servers and workers."""

import json
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from support.cluster import Cluster, Program
from support.stoppable_postgres import StoppablePostgres
from support.waiting import eventually
from tickwork.client.async_client import AsyncClient

WITHIN = 60.0
ONCE = {"max_attempts": 1}
SOON = {"initial": "10ms"}


@pytest.fixture
def programs(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(database_url, tmp_path)
    yield cluster
    cluster.clean_up()


@pytest.fixture
async def client(programs: Cluster) -> AsyncIterator[AsyncClient]:
    await programs.start(servers=1, workers=1)
    async with programs.client() as client:
        yield client


def lines(program: Program) -> Iterator[dict[str, Any]]:
    for line in program.log.splitlines():
        with suppress(json.JSONDecodeError):
            yield json.loads(line)


async def line(program: Program, event: str) -> dict[str, Any]:
    """The first one that begins so, once it is there."""
    return await eventually(
        lambda: next((line for line in lines(program) if line["event"].startswith(event)), None),
        within=WITHIN,
        what=f"a line {event!r} of {program.name}",
    )


async def test_a_failed_attempt_is_a_line_with_its_retry(programs: Cluster, client: AsyncClient) -> None:
    job = await client.create_job(task="failing", payload={"times": 1}, retry=SOON)
    execution = await client.wait_for_job(job.id, timeout=WITHIN)
    failed = await line(programs.servers[0], "attempt failed; it is tried again")
    assert failed["level"] == "warning"
    assert (failed["execution"], failed["job"], failed["task"]) == (execution.id, job.id, "failing")
    assert (failed["attempt"], failed["error"]) == (1, "RuntimeError: not yet")
    assert failed["worker"].startswith("w")
    assert failed["retry_in"].endswith(" s")


async def test_the_worker_logs_it_with_the_traceback(programs: Cluster, client: AsyncClient) -> None:
    job = await client.create_job(task="failing", payload={"times": 1}, retry=SOON)
    execution = await client.wait_for_job(job.id, timeout=WITHIN)
    failed = await line(programs.workers[0], "attempt failed")
    assert (failed["level"], failed["execution"], failed["attempt"]) == ("warning", execution.id, 1)
    assert failed["exception"].startswith("Traceback (most recent call last):")
    assert 'raise RuntimeError("not yet")' in failed["exception"]


async def test_the_last_attempt_is_told_as_a_dead_letter(programs: Cluster, client: AsyncClient) -> None:
    job = await client.create_job(task="failing", payload={"times": 9}, retry=ONCE)
    await client.wait_for_job(job.id, timeout=WITHIN)
    failed = await line(programs.servers[0], "attempt failed; dead letter")
    assert (failed["job"], failed["reason"]) == (job.id, "attempts used up")
    assert "retry_in" not in failed


async def test_a_timeout_is_told_as_one(programs: Cluster, client: AsyncClient) -> None:
    job = await client.create_job(task="slow", payload={"seconds": 600}, timeout="100ms", retry=ONCE)
    await client.wait_for_job(job.id, timeout=WITHIN)
    assert (await line(programs.servers[0], "attempt timed out; dead letter"))["job"] == job.id
    assert (await line(programs.workers[0], "attempt timed out"))["job"] == job.id


async def test_a_flood_of_failures_is_a_few_lines_and_a_sum(programs: Cluster, client: AsyncClient) -> None:
    flood = 2_000
    await client.create_jobs([{"task": "failing", "payload": {"times": 9}, "retry": ONCE}] * flood)
    await eventually(lambda: len(programs.ledger.runs()) >= flood, within=WITHIN, what="the flood")
    for program in (programs.workers[0], programs.servers[0]):
        assert await program.stop() == 0  # which tells the sum at once
        single = [line for line in lines(program) if line["event"].startswith("attempt failed")]
        summed = [line for line in single if " more like it in the last 10 s" in line["event"]]
        assert summed
        assert len(single) - len(summed) <= 30 * (len(summed) + 1)
        assert len(single) < flood / 4


async def test_a_lost_worker_and_what_it_held_are_told(
    programs: Cluster, client: AsyncClient, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    job = await client.create_job(task="gated", payload={"gate": str(tmp_path / "gate")})
    await eventually(programs.ledger.runs, within=WITHIN, what="the first attempt")
    programs.workers[0].kill()
    gone = await line(programs.servers[0], "worker disconnected")
    assert (gone["level"], gone["name"], gone["holding"]) == ("warning", "worker-1", 1)
    assert gone["reason"] == "the connection was lost"
    await connection.execute(
        "UPDATE tickwork.worker SET lease_until = now() - interval '1 s' WHERE name = $1", "worker-1"
    )
    rescued = await line(programs.servers[0], "execution rescued from a lost worker; it is handed to another")
    assert (rescued["job"], rescued["attempt"], rescued["worker"]) == (job.id, 1, gone["worker"])
    lost = await line(programs.servers[0], "worker lost")
    assert (lost["level"], lost["worker"], lost["executions_rescued"]) == ("warning", gone["worker"], 1)


async def test_coming_and_going_is_told(programs: Cluster, client: AsyncClient) -> None:
    server, worker = programs.servers[0], programs.workers[0]
    assert await worker.stop() == 0
    left = await line(server, "worker disconnected")
    assert (left["level"], left["reason"], left["holding"]) == ("info", "drained", 0)
    assert await server.stop() == 0
    told = [line["event"] for line in lines(worker)]
    assert [told[0], told[-1]] == ["worker started", "worker stopped"]
    assert "worker drains: takes nothing new and finishes what it runs" in told
    told = [line["event"] for line in lines(server)]
    for event in ("server started", "worker connected", "worker drains", "server stopping", "server stopped"):
        assert event in told


async def test_what_people_change_is_told(programs: Cluster, client: AsyncClient) -> None:
    await client.pause_queue("mail")
    await client.resume_queue("mail")
    key = await client.create_key("ci", scopes=["read"])
    await client.revoke_key(key.id)
    await line(programs.servers[0], "key revoked")
    by_event = {line["event"]: line for line in lines(programs.servers[0])}
    assert by_event["queue paused"]["queue"] == by_event["queue resumed"]["queue"] == "mail"
    assert by_event["key created"]["key"] == by_event["key revoked"]["key"] == key.id
    assert key.secret not in programs.servers[0].log


async def test_an_outage_of_the_database_is_no_error(tmp_path: Path) -> None:
    postgres = StoppablePostgres(tmp_path / "data")
    programs = Cluster(postgres.start(), tmp_path)
    try:
        await programs.start(servers=1, workers=1)
        server, worker = programs.servers[0], programs.workers[0]
        await postgres.halt("immediate")
        await line(server, "database unavailable")
        worker.send(signal.SIGKILL)
        await worker.ended()
        worker.launch()  # comes while the database is away
        await line(worker, "no connection to a server; trying again")
        await postgres.resume()
        await line(server, "database available again")
        await eventually(lambda: worker.works, within=WITHIN, what="the connection")
        for program in programs.programs:
            assert [line for line in lines(program) if line["level"] in ("error", "critical")] == []
            assert [line for line in lines(program) if "exception" in line] == []
        assert len([line for line in lines(server) if line["event"].startswith("database")]) == 2
        assert len([line for line in lines(worker) if line["event"].startswith("no connection")]) <= 3
    finally:
        programs.clean_up()
        postgres.stop()


async def test_a_worker_with_a_wrong_key_is_one_warning(programs: Cluster, client: AsyncClient) -> None:
    worker = programs.workers[0]
    worker.kill()
    worker._env["TICKWORK_API_KEY"] = "tw_wrong"
    worker.launch()
    assert await worker.ended() != 0
    refused = await line(programs.servers[0], "worker refused")
    assert (refused["level"], refused["address"]) == ("warning", "127.0.0.1")
    assert [line for line in lines(programs.servers[0]) if line["level"] == "error"] == []
