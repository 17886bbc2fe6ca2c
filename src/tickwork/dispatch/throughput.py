"""How much of each queue this node has handed to workers."""

from collections import Counter as Counted
from collections.abc import Mapping, Sequence

from prometheus_client import Counter

from tickwork.store.port.handing import Lane

_STARTED = Counter(
    "tickwork_queue_started_total", "Executions of a queue that were handed to workers.", ["queue"]
)
_MOST_QUEUES = 200  # users make up their names
_OTHERS = "(others)"  # no name that a queue could have
_counters: dict[str, Counter] = {}


def count_started(handed_out: Sequence[int], lanes: Mapping[int, Lane]) -> None:
    """The lane of each."""
    by_queue: dict[str, int] = {}
    for lane, count in Counted(handed_out).items():
        queue = lanes[lane].queue
        by_queue[queue] = by_queue.get(queue, 0) + count
    for queue, count in by_queue.items():
        (_counters.get(queue) or _counter(queue)).inc(count)


def _counter(queue: str) -> Counter:
    name = queue if len(_counters) < _MOST_QUEUES else _OTHERS
    return _counters.setdefault(name, _STARTED.labels(name))
