"""What `tickwork execution get`, `checkpoint` and `retry --fresh` say and do about a checkpoint."""

import json
from datetime import timedelta

from support.sample_answers import COMPLETED, EXECUTION, NOON, changed
from tickwork.cli.describe_checkpoint import checkpoint_paragraphs
from tickwork.cli.describe_execution import describe_execution, next_steps
from tickwork.model.checkpoint import EMPTY_CHECKPOINT, CheckpointView, StepView
from tickwork.model.execution import ExecutionStatus


def step(name: str, attempt: int = 1, took: float | None = 0.012, result: object = None) -> StepView:
    return StepView(name=name, attempt=attempt, stored_at=NOON, took=took, result=result)


STORED = CheckpointView(
    state={"page": 4},
    state_attempt=2,
    state_at=NOON,
    steps=[step("pay", took=3.2, result={"receipt": 7}), step("ship to customer", 2, None)],
)


def test_the_story_has_the_steps_that_are_done_and_the_latest_state():
    told = describe_execution(
        changed(EXECUTION, attempt=2), [], NOON + timedelta(minutes=1), checkpoint=STORED
    )
    at = NOON.astimezone().isoformat(" ", "seconds")
    assert told.split("\n\n")[2:] == [
        """\
Steps that are done:
    pay               attempt 1    3.2s  {"receipt":7}
    ship to customer  attempt 2          null""",
        f'State, stored by attempt 2 at {at}:\n    {{"page":4}}',
    ]


def test_without_a_checkpoint_it_has_nothing_of_it():
    assert list(checkpoint_paragraphs(EMPTY_CHECKPOINT)) == []


def test_of_many_steps_it_shows_the_last_and_of_long_results_the_beginning():
    many = changed(
        STORED, state_attempt=None, steps=[step(f"step {place}", result="x" * 100) for place in range(25)]
    )
    (told,) = checkpoint_paragraphs(many)
    _, hidden, first, *_, last = told.splitlines()
    assert hidden.strip() == "(5 before these)"
    assert first.split()[:2] == ["step", "5"]
    assert last.endswith("x…")
    (in_full,) = checkpoint_paragraphs(many, in_full=True)
    assert len(in_full.splitlines()) == 26
    assert in_full.endswith('x"')


def test_control_characters_of_a_worker_do_not_reach_the_terminal():
    (told,) = checkpoint_paragraphs(
        changed(STORED, state_attempt=None, steps=[step("\x1b[31m", result="\x1b")])
    )
    assert "\x1b" not in told


def test_a_failed_execution_can_go_on_or_start_afresh():
    failed = changed(EXECUTION, status=ExecutionStatus.FAILED)
    assert "--fresh" not in next_steps(failed)
    told = next_steps(failed, goes_on=True)
    assert "retry e5-1          run it again, from its checkpoint" in told
    assert "retry --fresh e5-1  run it again, from the beginning" in told


def test_checkpoint_shows_everything(ask, server):
    for answer in (STORED, STORED, EMPTY_CHECKPOINT):
        server.will_answer(answer)
    assert "ship to customer" in ask("execution", "checkpoint", "e5-1").stdout
    assert json.loads(ask("execution", "checkpoint", "e5-1", "-o", "json").stdout)["state"] == {"page": 4}
    done = ask("execution", "checkpoint", "e5-1")
    assert (done.stdout, done.stderr.strip()) == ("", "nothing was stored")


def test_retry_goes_on_unless_it_is_to_start_afresh(ask, server):
    for answer in (COMPLETED, EMPTY_CHECKPOINT, COMPLETED):
        server.will_answer(answer)
    ask("execution", "retry", "e5-1")
    ask("execution", "retry", "e5-1", "--fresh")
    assert [(asked.method, asked.path) for asked in server.asked] == [
        ("POST", "/v1/executions/e5-1/retry"),
        ("DELETE", "/v1/executions/e5-1/checkpoint"),
        ("POST", "/v1/executions/e5-1/retry"),
    ]
