"""Tasks that run in processes: what they may use, and what they have used."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support import limited_tasks
from support.command_bench import MEGABYTE, CommandBench, Ended, is_gone
from support.waiting import eventually
from support.worker_server import run_of, working
from tickwork.execute.runners.contained import worker_cgroup
from tickwork.model.execution import AttemptOutcome

TESTS = Path(__file__).parents[1]


@pytest.fixture(params=["cgroup if allowed", "process groups"])
async def bench(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[CommandBench]:
    monkeypatch.chdir(TESTS)
    if request.param == "process groups":
        monkeypatch.setattr(worker_cgroup, "_own_folder", lambda: None)
    async with working(limited_tasks.app, path="support.limited_tasks:app", slots=1) as working_bench:
        yield CommandBench(await working_bench.connected())


async def run(bench: CommandBench, task: str, payload: str = "{}", *, within: float = 60.0) -> Ended:
    await bench.conversation.run(run_of(task, payload, timeout=within))
    return await bench.ended()


async def test_a_task_within_its_limits_completes_and_is_measured(bench: CommandBench) -> None:
    ended = await run(bench, "modest", '{"megabytes": 50}')
    assert (ended.outcome.kind, ended.outcome.result) == (AttemptOutcome.COMPLETED, b"50")
    assert ended.texts == ["done"]
    assert ended.usage
    assert ended.usage.cpu_seconds > 0
    assert 50 * MEGABYTE < ended.usage.peak_memory < 400 * MEGABYTE


async def test_a_task_without_limits_is_measured_anew_in_each_attempt(bench: CommandBench) -> None:
    large = await run(bench, "free", '{"megabytes": 200}')
    small = await run(bench, "free", '{"megabytes": 1}')
    assert large.usage
    assert small.usage
    assert large.usage.peak_memory > 200 * MEGABYTE
    assert small.usage.peak_memory < large.usage.peak_memory - 100 * MEGABYTE


async def test_a_task_that_fills_memory_is_ended(bench: CommandBench) -> None:
    ended = await run(bench, "modest", '{"megabytes": 2000}')
    assert ended.error in ("MemoryLimit", "MemoryError")
    assert (await run(bench, "modest", '{"megabytes": 1}')).outcome.kind is AttemptOutcome.COMPLETED


async def test_a_task_that_spins_is_ended_at_its_cpu_time(bench: CommandBench) -> None:
    ended = await run(bench, "spin_within")
    assert ended.error == "CpuTimeLimit"
    assert ended.usage
    assert ended.usage.cpu_seconds >= 1


async def test_what_a_task_leaves_behind_is_ended(bench: CommandBench, tmp_path: Path) -> None:
    ended = await run(bench, "leave_behind", f'{{"file": "{tmp_path}/pid"}}')
    assert ended.outcome.kind is AttemptOutcome.COMPLETED
    pid = int((tmp_path / "pid").read_text())
    await eventually(lambda: is_gone(pid), within=30)


async def test_a_task_with_limits_that_hangs_is_ended_at_its_timeout(bench: CommandBench) -> None:
    ended = await run(bench, "hang_within", within=3.0)
    assert ended.error == "Timeout"
    assert ended.usage is not None


async def test_a_task_with_limits_that_dies_is_told(bench: CommandBench) -> None:
    ended = await run(bench, "die_within")
    assert (ended.error, ended.message) == (
        "ProcessDied",
        "the child process left with exit code 5 before the task ended",
    )
