"""What a worker says of itself in its Hello and with its heartbeats."""

import pytest

from tickwork.execute.worker_self_description import WorkerSelfDescription
from tickwork.model.errors import Invalid
from tickwork.model.worker import WorkerLoad


@pytest.fixture
def described():
    return WorkerSelfDescription("box", 2, [], ["mail"], {}, {"region": "eu"}, {"gpu": 1.0})


def _beat(described):
    return described.beat(sent=1.0, credit=2, running=[])


def test_a_beat_says_only_what_changed_and_says_it_once(described):
    assert (_beat(described).labels, _beat(described).load) == (None, None)
    described.set_labels({"region": "us"})
    described.set_resources({"storage": "1Ki"})
    described.measured(WorkerLoad(cpu=0.5))
    assert described.has_changed
    beat = _beat(described)
    assert (beat.labels, beat.resources) == ({"region": "us"}, {"storage": 1024.0})
    assert beat.load == WorkerLoad(cpu=0.5)
    again = _beat(described)
    assert (again.labels, again.resources, again.load) == (None, None, None)
    assert not described.has_changed


def test_a_hello_says_everything(described):
    described.set_labels({})
    hello = described.hello(credit=2, resume=None, holding=[])
    assert (hello.labels, hello.resources, hello.queues) == ({}, {"gpu": 1.0}, ["mail"])
    assert not described.has_changed


def test_tells_of_a_change(described):
    heard = []
    described.after_change(lambda: heard.append(described.labels))
    described.set_labels({"a": "1"})
    assert heard == [{"a": "1"}]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda worker: worker.set_labels({"a": 1}), "labels.a"),
        (lambda worker: worker.set_labels({f"l{n}": "" for n in range(21)}), "labels"),
        (lambda worker: worker.set_resources({"gpu": -1}), "resources.gpu"),
        (lambda worker: worker.set_resources({"memory": "lots"}), "resources.memory"),
    ],
)
def test_refuses_nonsense_and_changes_nothing(described, change, path):
    with pytest.raises(Invalid) as refused:
        change(described)
    assert [error.path for error in refused.value.errors] == [path]
    assert (described.labels, described.resources) == ({"region": "eu"}, {"gpu": 1.0})
