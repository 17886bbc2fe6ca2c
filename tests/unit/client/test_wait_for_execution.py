"""Waiting is a list of looks and pauses; here it is followed by hand."""

import pytest

from support.sample_answers import COMPLETED, EXECUTION, JOB, changed, page
from tickwork.client.async_client import AsyncClient
from tickwork.client.build_requests import Call
from tickwork.client.request_retry_answer import Pause
from tickwork.client.sync_client import Client
from tickwork.client.wait_for_execution import wait_for_execution, wait_for_job
from tickwork.model.errors import Conflict
from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.model.field_types import Page
from tickwork.model.job import JobStatus, JobView


def follow(steps, answer, rounds=1000):
    """The outcome of a wait, and the pauses on the way. `answer` is asked about each call."""
    pauses, outcome = [], None
    for _ in range(rounds):
        try:
            step = steps.send(outcome)
        except StopIteration as end:
            return end.value, pauses
        if isinstance(step, Pause):
            pauses.append(step.seconds)
        outcome = answer(step) if isinstance(step, Call) else None
    return None, pauses


def test_the_server_is_asked_to_answer_at_the_end():
    asked = []
    follow(wait_for_execution("e5-1", timeout=5), lambda call: asked.append(call) or COMPLETED)
    (call,) = asked
    assert 0 < call.waits <= 5
    assert call.query == {"wait": f"{call.waits:.3f}s"}


def test_a_server_that_answers_early_is_asked_soon_at_first_and_every_second_later():
    _, pauses = follow(wait_for_execution("e5-1"), lambda _: EXECUTION, rounds=40)
    assert pauses[0] == 0.05
    assert pauses == sorted(pauses)
    assert pauses[-5:] == [1.0] * 5


def test_returns_the_execution_as_soon_as_it_has_ended():
    answers = iter([EXECUTION, EXECUTION, COMPLETED])
    assert follow(wait_for_execution("e5-1"), lambda _: next(answers)) == (COMPLETED, [0.05, 0.05])


def test_looks_once_before_it_times_out():
    assert follow(wait_for_execution("e5-1", timeout=0), lambda _: COMPLETED) == (COMPLETED, [])
    with pytest.raises(TimeoutError, match="e5-1 has not ended within 0 seconds"):
        follow(wait_for_execution("e5-1", timeout=0), lambda _: EXECUTION)


def test_waits_for_a_job_that_has_no_execution_yet():
    pages = iter([page(), page(EXECUTION)])
    looks = iter([EXECUTION, COMPLETED])

    def answer(call):
        if call.answer is ExecutionView:
            return next(looks)
        return JOB if call.answer is JobView else Page(**next(pages))

    assert follow(wait_for_job("j5"), answer)[0] == COMPLETED


def test_a_job_that_is_due_once_is_waited_for_by_its_execution():
    asked = []
    waited = wait_for_job("j5", 5, execution_id="e5-1")
    assert follow(waited, lambda call: asked.append(call.path) or COMPLETED)[0] == COMPLETED
    assert asked == [("executions", "e5-1")]


def test_a_job_that_was_given_another_time_is_waited_for_by_its_newest_execution():
    moved = changed(EXECUTION, status=ExecutionStatus.SKIPPED)

    def answer(call):
        return Page(**page(COMPLETED)) if call.path == ("executions",) else moved

    assert follow(wait_for_job("j5", execution_id="e5-1"), answer)[0] == COMPLETED


async def test_an_execution_that_is_not_there_yet_is_waited_for_by_its_job(server):
    for _ in range(2):
        server.will_answer({}, 404)
        server.will_answer(page(COMPLETED))
    with Client(server.url, "secret") as client:
        assert client.wait_for_job("j5", 30, execution_id="e5-1") == COMPLETED
    async with AsyncClient(server.url, "secret") as client:
        assert await client.wait_for_job("j5", 30, execution_id="e5-1") == COMPLETED


def test_does_not_wait_for_a_job_that_will_never_run():
    cancelled = changed(JOB, status=JobStatus.CANCELLED)
    with pytest.raises(Conflict, match="ended without an execution"):
        follow(wait_for_job("j5"), lambda call: cancelled if call.answer is JobView else Page([]))


def test_an_execution_that_ends_with_its_job_is_not_overlooked():
    pages = iter([page(), page(COMPLETED)])
    ended = changed(JOB, status=JobStatus.COMPLETED)

    def answer(call):
        return ended if call.answer is JobView else Page(**next(pages))

    assert follow(wait_for_job("j5"), answer)[0] == COMPLETED


async def test_both_clients_wait(server):
    server.will_answer(EXECUTION)
    server.will_answer(COMPLETED)
    with Client(server.url, "secret") as client:
        assert client.wait_for_execution("e5-1", timeout=30) == COMPLETED
    async with AsyncClient(server.url, "secret") as client:
        assert await client.wait_for_execution("e5-1", timeout=30) == COMPLETED
