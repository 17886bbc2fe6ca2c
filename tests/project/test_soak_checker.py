"""The check at the end of a soak finds what it looks for."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from support.soak.soak_check import check, prepare
from support.soak.soak_installation import Kill
from support.soak.soak_load import LIMIT, SoakLoad
from support.soak.soak_report import growing, trend
from support.soak.soak_watch import LedgerTail
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_job_id, to_micros
from tickwork.node import Node

_EXECUTION = """
    INSERT INTO tickwork.execution
        (scheduled_for, job_id, tenant_id, lane_id, status, trigger, priority, attempt, finished_at)
    SELECT $1, id, tenant_id, lane_id, 'completed', 'schedule', 0, 1, $1 FROM tickwork.job WHERE id = $2"""
_SECOND = timedelta(seconds=1)
_MILLISECOND = 1000
_PROCESS = 7


class Soak:
    """Ten jobs that were due three times each, and did what they should."""

    def __init__(
        self, connection: asyncpg.Connection, ledgers: Path, jobs: list[int], load: SoakLoad
    ) -> None:
        self.connection = connection
        self.ledgers = ledgers
        self.jobs = jobs
        self.due = load.first_due(1)  # of the second job
        self._load = load
        for number in range(load.jobs):
            for step in range(load.times):
                self.ran(number, load.first_due(number) + step * 10 * _SECOND)

    def ran(self, number: int, due: datetime, attempt: int = 1, *, late: int = 5, ends: bool = True) -> None:
        """`late` is milliseconds."""
        begun = to_micros(due) + late * _MILLISECOND
        events = [("begun", begun), *([("ended", begun + _MILLISECOND)] if ends else [])]
        with (self.ledgers / "1.csv").open("a") as ledger:
            for event, at in events:
                ledger.write(f"{event},{self.jobs[number]},{to_micros(due)},{attempt},{_PROCESS},{at}\n")

    async def tell(self, what: str) -> None:
        """Change the row of the second job's first execution."""
        where = "WHERE job_id = $1 AND scheduled_for = $2"
        await self.connection.execute(f"{what} {where}", self.jobs[1], self.due)

    async def found(self) -> dict[str, int]:
        await prepare(
            self.connection,
            self._load,
            self.ledgers,
            [Kill("worker", "w", _PROCESS, self.due.timestamp() + 60)],
        )
        violations, figures = await check(self.connection)
        assert figures["due"] == 30
        return {name: number for name, number in violations.items() if number}


@pytest.fixture
async def soak(still_node: Node, connection: asyncpg.Connection, tmp_path: Path) -> Soak:
    load = SoakLoad(datetime.now(UTC).replace(microsecond=0) + 60 * _SECOND, rate=1, minutes=0.5)
    requests = msgspec.convert(
        [{**load.request(number), "limits": [LIMIT]} for number in range(load.jobs)], list[JobRequest]
    )
    made = await still_node.jobs.create(
        1, [msgspec.structs.replace(each, unknown_task="wait") for each in requests]
    )
    jobs = [parse_job_id(job.id) for job in made]
    for number, job in enumerate(jobs):
        for step in range(load.times):
            await connection.execute(_EXECUTION, load.first_due(number) + step * 10 * _SECOND, job)
    return Soak(connection, tmp_path, jobs, load)


async def test_a_soak_that_kept_every_promise_passes(soak: Soak) -> None:
    assert await soak.found() == {}


async def test_a_due_time_that_never_ended_is_lost(soak: Soak) -> None:
    await soak.tell("UPDATE tickwork.execution SET status = 'failed'")
    assert await soak.found() == {"lost": 1}


async def test_an_end_that_no_worker_has_seen_is_lost(soak: Soak) -> None:
    await soak.tell("UPDATE tickwork.execution SET attempt = 2")
    assert (await soak.found())["lost"] == 1


async def test_a_due_time_without_an_execution_is_a_gap(soak: Soak) -> None:
    await soak.tell("DELETE FROM tickwork.execution")
    assert await soak.found() == {"gaps": 1}


async def test_what_was_never_due_is_a_phantom(soak: Soak) -> None:
    await soak.connection.execute(_EXECUTION, soak.due + 1 * _SECOND, soak.jobs[1])
    assert await soak.found() == {"phantoms": 1}


async def test_an_attempt_that_began_twice_is_doubled(soak: Soak) -> None:
    soak.ran(1, soak.due)
    assert await soak.found() == {"doubled": 1}


async def test_another_attempt_without_a_reason_is_doubled(soak: Soak) -> None:
    soak.ran(1, soak.due, 2, late=20_000)
    await soak.tell("UPDATE tickwork.execution SET attempt = 2")
    assert await soak.found() == {"doubled": 1}


async def test_an_attempt_beside_the_one_before_is_an_overlap(soak: Soak) -> None:
    soak.ran(1, soak.due + 10 * _SECOND, 2, late=20_000, ends=False)
    soak.ran(1, soak.due + 10 * _SECOND, 3, late=30_000)
    assert (await soak.found())["overlapping"] == 1


async def test_a_start_before_the_due_time_is_early(soak: Soak) -> None:
    soak.ran(1, soak.due, 0, late=-5)
    assert (await soak.found())["early"] == 1


async def test_more_at_once_than_the_limit_allows_is_found(soak: Soak) -> None:
    for number in range(9):  # beside the one that ran then
        soak.ran(number, soak.due, 4 + number, ends=False)
    assert (await soak.found())["over the limit"] == 2


async def test_a_line_that_a_killed_worker_left_unfinished_is_passed_over(soak: Soak) -> None:
    (soak.ledgers / "2.csv").write_text("begun,1,17")
    assert await soak.found() == {}
    assert len(list(LedgerTail(soak.ledgers).lines())) == 60


def test_memory_that_grows_is_found_and_memory_that_wobbles_is_not() -> None:
    wobbles = trend([100.0 + minute % 2 for minute in range(60)])
    grows = trend([100.0 + minute for minute in range(60)])
    assert growing({"server": wobbles, "worker": grows}, 60) == ["the memory of worker grew by 28.3%"]
    assert grows.slope == pytest.approx(60.0)
    assert growing({"worker": grows}, 10) == []
