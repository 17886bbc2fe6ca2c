"""A real server inside a test, whose time the test moves."""

import os
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from tasks_of_kit import add, app, endless, flaky, greet, hopeless, nightly, submits_another

from tickwork import Client, ExecutionStatus, Invalid
from tickwork.testing import AsyncManualServer, ManualServer, StillBusy, TemporaryPostgres
from tickwork.testing.loop_thread import LoopThread

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def new_database(postgres: TemporaryPostgres) -> Iterator[str]:
    thread = LoopThread()
    url = thread.submit(postgres.create_database()).result()
    yield url
    thread.submit(postgres.drop_database(url)).result()
    thread.close()


@pytest.fixture
def server(new_database: str) -> Iterator[ManualServer]:
    with ManualServer(new_database, app, start_at=NOON) as server:
        yield server


@pytest.fixture
async def async_server(database_url: str) -> AsyncIterator[AsyncManualServer]:
    async with AsyncManualServer(database_url, app, start_at=NOON) as server:
        yield server


def test_nothing_runs_until_the_test_says_so(server: ManualServer) -> None:
    handle = add.submit(1, 2)
    (execution,) = server.executions(add)
    assert execution.status is ExecutionStatus.PENDING
    server.run_until_idle()
    assert handle.result() == 3


def test_what_is_due_on_the_way_runs_at_its_own_time(server: ManualServer) -> None:
    add.on("every hour").submit(1)
    server.advance("1 day")
    ran = server.assert_completed(add, times=24)
    assert [each.scheduled_for for each in ran] == [NOON + timedelta(hours=hour) for hour in range(1, 25)]
    assert server.now == NOON + timedelta(days=1)


def test_a_time_far_ahead_is_reached(server: ManualServer) -> None:
    (every_night,) = server.jobs(nightly)
    server.client.cancel_job(every_night.id)  # sixty nights take a while
    at = NOON + timedelta(days=60)
    add.at(at).submit(1)
    server.assert_scheduled(add, at=at)
    server.advance("59 days")
    assert server.executions(add, status="completed") == []
    server.advance("2 days")
    (execution,) = server.assert_completed(add)
    assert execution.scheduled_for == at


def test_retries_wait_for_their_time(server: ManualServer) -> None:
    flaky.submit(until=3)
    server.run_until_idle()
    (execution,) = server.executions(flaky)
    assert (execution.status, execution.attempt) == (ExecutionStatus.PENDING, 2)
    server.advance("1 hour")
    server.assert_completed(flaky, times=1)
    server.assert_retried(flaky, {"until": 3}, attempts=3)


def test_a_failure_can_be_asked_for_by_its_words(server: ManualServer) -> None:
    hopeless.submit()
    server.run_until_idle()
    server.assert_failed(hopeless, error="never")
    server.assert_failed(hopeless, error="NoRetry")
    with pytest.raises(AssertionError, match="NoRetry: never"):
        server.assert_failed(hopeless, error="something else")


def test_what_tasks_submit_runs_too(server: ManualServer) -> None:
    submits_another.submit(3)
    server.run_until_idle()
    server.assert_completed(submits_another, times=4)


def test_declared_schedules_are_there(server: ManualServer) -> None:
    server.assert_scheduled(nightly, at=datetime(2026, 3, 3, 3, tzinfo=UTC))
    server.advance("1d")
    server.assert_ran(nightly, times=1)


def test_payloads_are_compared_by_the_arguments_that_are_given(server: ManualServer) -> None:
    add.at(NOON + timedelta(hours=1)).submit(1, second=5)
    server.assert_scheduled(add, {"second": 5})
    server.assert_not_scheduled(add, {"second": 6})
    with pytest.raises(
        AssertionError, match=r"no job of add with \{'first': 2\} is scheduled; there are:\n  add with"
    ):
        server.assert_scheduled(add, {"first": 2})
    with pytest.raises(AssertionError, match="add is scheduled"):
        server.assert_not_scheduled(add)


def test_too_few_runs_are_told_with_what_there_is(server: ManualServer) -> None:
    add.submit(1)
    server.run_until_idle()
    with pytest.raises(
        AssertionError, match="add completed once, not 2 times; there are:\n  add due at 2026-03-02"
    ):
        server.assert_completed(add, times=2)
    with pytest.raises(AssertionError, match="no execution of greet ran; there are:\n  add"):
        server.assert_ran(greet)


def test_a_task_that_does_not_end_is_named(server: ManualServer) -> None:
    endless.submit()
    with pytest.raises(StillBusy, match=r"left: endless \(running, attempt 1\)"):
        server.run_until_idle(within=0.5)


def test_clients_without_arguments_find_it_only_while_it_runs(new_database: str) -> None:
    before = dict(os.environ)
    with ManualServer(new_database, app) as server, Client() as client:
        assert client.list_jobs().items == server.client.list_jobs().items
    assert dict(os.environ) == before
    assert "client" not in vars(app._clients)


def test_time_does_not_go_back(server: ManualServer) -> None:
    with pytest.raises(ValueError, match="time does not go back"):
        server.advance_to(NOON - timedelta(seconds=1))


def test_what_is_not_an_app_is_refused() -> None:
    with pytest.raises(Invalid, match="give the App whose tasks the test runs"):
        ManualServer("postgresql://", "tasks:app")  # type: ignore[arg-type]


def test_the_beginning_needs_a_time_zone() -> None:
    with pytest.raises(Invalid, match="has no time zone"):
        ManualServer("postgresql://", app, start_at=NOON.replace(tzinfo=None))


async def test_all_of_it_can_be_awaited(async_server: AsyncManualServer) -> None:
    handle = await greet.submit_async("Ada")
    await async_server.run_until_idle()
    assert await handle.result_async() == "hello Ada, attempt 1"
    await greet.on("every hour").submit_async("Eve")
    await async_server.assert_scheduled(greet, {"name": "Eve"}, at=NOON + timedelta(hours=1))
    await async_server.advance("3h")
    await async_server.assert_completed(greet, {"name": "Eve"}, times=3)
    assert await async_server.now() == NOON + timedelta(hours=3)
    await flaky.submit_async(until=2)
    await async_server.advance("1 minute")
    await async_server.assert_retried(flaky)
    await async_server.assert_ran(flaky)
    await async_server.assert_not_scheduled(flaky)
    assert len(await async_server.jobs(greet)) == 2
    assert len(await async_server.executions(greet, status="completed")) == 4


async def test_a_blocking_submit_works_in_an_async_test(async_server: AsyncManualServer) -> None:
    handle = add.submit(1, 2)
    await async_server.run_until_idle()
    assert handle.result() == 3
