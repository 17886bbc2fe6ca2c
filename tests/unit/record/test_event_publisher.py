"""Events reach those who subscribed to their kind, after the commit."""

import pytest

from tickwork.model.event import JobChanged, WorkArrived
from tickwork.record.event_publisher import EventPublisher


class Transaction:
    """Keeps what is to be done after its commit."""

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


def test_subscribers_hear_of_an_event_after_the_commit(events, transaction):
    heard = []
    events.subscribe(JobChanged, heard.append)
    events.publish(JobChanged(1, 2))
    assert heard == []
    transaction.commit()
    assert heard == [JobChanged(1, 2)]


def test_an_event_that_nobody_subscribed_to_costs_nothing_at_the_commit(events, transaction):
    events.subscribe(JobChanged, pytest.fail)
    events.publish(WorkArrived(1))
    assert transaction.afterwards == []


def test_one_subscriber_that_fails_keeps_no_other_from_hearing(events, transaction, caplog):
    heard = []
    events.subscribe(WorkArrived, lambda _: 1 // 0)
    events.subscribe(WorkArrived, heard.append)
    events.publish(WorkArrived(1))
    transaction.commit()
    assert heard == [WorkArrived(1)]
