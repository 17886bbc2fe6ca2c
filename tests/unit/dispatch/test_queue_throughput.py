"""Started executions are counted by queue, for a bounded number of queues."""

from prometheus_client import REGISTRY

from tickwork.dispatch import list_set_and_pause_queues
from tickwork.model.requires_limits_fair_share import NO_PLACEMENT
from tickwork.store.port.dispatch import Lane

LANES = {number: Lane(number, 1, queue, "work", NO_PLACEMENT) for number, queue in enumerate("aabc")}


def counted(queue: str) -> float:
    return REGISTRY.get_sample_value("tickwork_queue_started_total", {"queue": queue}) or 0.0


def test_adds_up_the_lanes_of_a_queue_and_the_queues_above_the_bound(monkeypatch):
    monkeypatch.setattr(list_set_and_pause_queues, "_counters", {})
    monkeypatch.setattr(list_set_and_pause_queues, "_MOST_QUEUES", 1)
    before = {queue: counted(queue) for queue in ("a", "b", "(others)")}
    list_set_and_pause_queues.count_started([0, 1, 1, 2, 3, 3], LANES)
    assert {queue: counted(queue) - before[queue] for queue in before} == {"a": 3, "b": 0, "(others)": 3}
