from tickwork.execute.attempt import Attempt
from tickwork.execute.ready_queue import ReadyQueue
from tickwork.model.worker_protocol import Run


def _attempt(name: str, priority: int = 2, flow: int = 0) -> Attempt:
    run = Run(1, 0, 1, 1, name, b"", 1.0, 0, None, priority, flow)
    return Attempt((1, 0, 1, 1), run, None, None)


def _all(line: ReadyQueue) -> str:
    return "".join(line.popleft().run.task for _ in range(len(line)))


def test_first_come_first_served_among_equals() -> None:
    line = ReadyQueue()
    line.extend([*map(_attempt, "abc")])
    assert _all(line) == "abc"


def test_the_more_urgent_go_first_whenever_they_come() -> None:
    line = ReadyQueue()
    line.extend([_attempt("n"), _attempt("l", priority=3)])
    line.extend([_attempt("c", priority=0), _attempt("h", priority=1)])
    assert _all(line) == "chnl"


def test_a_flow_that_comes_new_goes_ahead_and_then_takes_turns() -> None:
    line = ReadyQueue()
    line.extend([_attempt("a", flow=1)] * 500)
    for _ in range(100):
        line.popleft()
    line.extend([_attempt("b", flow=2)] * 300)
    assert _all(line) == "b" * 100 + "ab" * 200 + "a" * 200


def test_of_two_that_come_new_the_first_is_first() -> None:
    line = ReadyQueue()
    line.extend([_attempt("a", flow=1)] * 60)
    line.extend([_attempt("b", flow=2)] * 200)
    assert _all(line) == "a" * 60 + "b" * 200


def test_gives_back_the_least_urgent_of_the_flow_whose_turn_is_the_furthest_away() -> None:
    line = ReadyQueue()
    line.extend([_attempt("a", flow=1)] * 3)
    line.extend([_attempt("b", flow=2), _attempt("c", priority=0)])
    assert [line.pop().run.task for _ in range(2)] == ["b", "a"]
    assert _all(line) == "caa"


def test_a_cleared_line_is_empty() -> None:
    line = ReadyQueue()
    line.extend([_attempt("a")] * 3)
    line.clear()
    assert len(line) == 0
