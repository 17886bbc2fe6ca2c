"""Waiting is a list of looks and pauses; here it is followed by hand."""

import pytest
from sample import COMPLETED, EXECUTION, JOB, changed, page

from tickwork.client.asynchronous import AsyncClient
from tickwork.client.call import Call
from tickwork.client.exchange import Pause
from tickwork.client.sync import Client
from tickwork.client.wait import wait_for_execution, wait_for_job
from tickwork.model.errors import Conflict
from tickwork.model.job import JobStatus, JobView
from tickwork.model.page import Page


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


def test_looks_soon_at_first_and_every_second_later():
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
    pages = iter([page(), page(EXECUTION), page(COMPLETED)])

    def answer(call):
        return JOB if call.answer is JobView else Page(**next(pages))

    assert follow(wait_for_job("j5"), answer)[0] == COMPLETED


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
