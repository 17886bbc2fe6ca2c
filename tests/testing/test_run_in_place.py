"""Tasks that a test runs by itself, without a server."""

from datetime import UTC, datetime

import pytest
from tasks_of_kit import add, async_order, flaky, greet, hopeless, order, returns_a_set, total

from tickwork import Invalid, NoRetry, Task
from tickwork.testing import LoggedLine, run_task, run_task_async


def test_a_task_gives_its_result() -> None:
    assert run_task(add, {"first": 2}).result == 3


def test_an_async_task_runs_in_a_blocking_test() -> None:
    assert run_task(greet, {"name": "Ada"}, attempt=2).result == "hello Ada, attempt 2"


async def test_an_async_task_runs_in_an_async_test() -> None:
    run = await run_task_async(greet, {"name": "Ada"})
    assert run.result == "hello Ada, attempt 1"


async def test_in_an_async_test_the_error_names_the_other_function() -> None:
    with pytest.raises(RuntimeError, match="await run_task_async"):
        run_task(add, {"first": 1})


def test_logs_and_progress_are_kept() -> None:
    run = run_task(greet, {"name": "Ada"})
    assert run.logs == [LoggedLine("info", "greeting name=Ada")]
    assert [(each.fraction, each.message) for each in run.progress] == [(0.5, "half of it")]


def test_what_the_task_raises_is_kept_and_raised_again() -> None:
    run = run_task(hopeless)
    assert isinstance(run.error, NoRetry)
    with pytest.raises(NoRetry, match="never"):
        _ = run.result


def test_the_context_shows_the_attempt_and_its_time() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    run = run_task(flaky, {"until": 3}, attempt=3, scheduled_for=at)
    assert run.result == "done"
    assert run.context.scheduled_for == at


@pytest.mark.parametrize("task", [order, async_order], ids=["blocking", "async"])
def test_checkpoints_are_kept_and_those_of_earlier_attempts_can_be_given(
    task: Task[[], list[object]],
) -> None:
    run = run_task(task)
    assert (run.result, run.states, run.steps) == ([1, 2], [{"page": 1}], {"pay": 2})
    later = run_task(task, attempt=2, state={"page": 4}, steps={"pay": "stored"})
    assert (later.result, later.states, later.steps) == ([5, "stored"], [{"page": 5}], {})


async def test_also_of_a_blocking_task_in_an_async_test() -> None:
    assert (await run_task_async(order)).result == [1, 2]


def test_results_of_parents_can_be_given() -> None:
    assert run_task(total, parents={"north": 3, "south": 4}).result == 7


@pytest.mark.parametrize("payload", [{"first": "one"}, {"first": 1, "third": 3}, {}])
def test_arguments_are_checked_as_by_submit(payload: dict[str, object]) -> None:
    with pytest.raises((Invalid, TypeError)):
        run_task(add, payload)


def test_a_result_that_no_worker_could_record_is_told() -> None:
    with pytest.raises(Invalid, match="cannot be written as JSON"):
        run_task(returns_a_set)
