"""Subscribers get the events of their type, after the commit."""

import pytest

from tickwork.model.event_after_commit import JobChanged, WorkArrived
from tickwork.record.publish_after_commit import EventPublisher


class Transaction:
    """Collects the calls to make after its commit."""

    def __init__(self):
        self.afterwards = []

    def after_commit(self, call):
        self.afterwards.append(call)

    def commit(self):
        for call in self.afterwards:
            call()


@pytest.fixture
def transaction():
    return Transaction()


@pytest.fixture
def events(transaction):
    return EventPublisher(transaction.after_commit)


def test_calls_subscribers_after_the_commit(events, transaction):
    received = []
    events.subscribe(JobChanged, received.append)
    events.publish(JobChanged(1, 2))
    assert received == []
    transaction.commit()
    assert received == [JobChanged(1, 2)]


def test_an_event_without_subscribers_does_nothing_at_the_commit(events, transaction):
    events.subscribe(JobChanged, pytest.fail)
    events.publish(WorkArrived(1))
    assert transaction.afterwards == []


def test_calls_the_other_subscribers_when_one_fails(events, transaction, caplog):
    received = []
    events.subscribe(WorkArrived, lambda _: 1 // 0)
    events.subscribe(WorkArrived, received.append)
    events.publish(WorkArrived(1))
    transaction.commit()
    assert received == [WorkArrived(1)]
