from tickwork.execute.attempt_state import Attempt
from tickwork.execute.ready_queue import ReadyQueue
from tickwork.model.worker_protocol import Run


def _attempt(name: str, priority: int = 2, flow: int = 0) -> Attempt:
    run = Run(1, 0, 1, 1, name, b"", 1.0, 0, None, priority, flow)
    return Attempt((1, 0, 1, 1), run, None, None)


def _all(queue: ReadyQueue) -> str:
    return "".join(queue.popleft().run.task for _ in range(len(queue)))


def test_first_come_first_served_among_equals() -> None:
    queue = ReadyQueue()
    queue.extend([*map(_attempt, "abc")])
    assert _all(queue) == "abc"


def test_higher_priority_starts_first_whenever_it_arrives() -> None:
    queue = ReadyQueue()
    queue.extend([_attempt("n"), _attempt("l", priority=3)])
    queue.extend([_attempt("c", priority=0), _attempt("h", priority=1)])
    assert _all(queue) == "chnl"


def test_a_new_flow_starts_with_a_burst_before_round_robin() -> None:
    queue = ReadyQueue()
    queue.extend([_attempt("a", flow=1)] * 500)
    for _ in range(100):
        queue.popleft()
    queue.extend([_attempt("b", flow=2)] * 300)
    assert _all(queue) == "b" * 100 + "ab" * 200 + "a" * 200


def test_of_two_new_flows_the_first_starts_first() -> None:
    queue = ReadyQueue()
    queue.extend([_attempt("a", flow=1)] * 60)
    queue.extend([_attempt("b", flow=2)] * 200)
    assert _all(queue) == "a" * 60 + "b" * 200


def test_pop_removes_the_attempt_that_would_start_last() -> None:
    queue = ReadyQueue()
    queue.extend([_attempt("a", flow=1)] * 3)
    queue.extend([_attempt("b", flow=2), _attempt("c", priority=0)])
    assert [queue.pop().run.task for _ in range(2)] == ["b", "a"]
    assert _all(queue) == "caa"


def test_a_cleared_queue_is_empty() -> None:
    queue = ReadyQueue()
    queue.extend([_attempt("a")] * 3)
    queue.clear()
    assert len(queue) == 0
