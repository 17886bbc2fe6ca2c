"""What is only for terminals: waiting with a view, lists that redraw themselves, the whole screen."""

import pytest

from support.sample_answers import CLUSTER, EXECUTION, MAIL_QUEUE, NOON, WORKER, changed, page
from support.terminal import on_terminal
from tickwork.model.execution import ExecutionStatus, Progress
from tickwork.model.why_waiting import Why

RUNNING = changed(
    EXECUTION, status=ExecutionStatus.RUNNING, started_at=NOON, progress=Progress(0.6, "sorting"), worker="w1"
)
COMPLETED = changed(RUNNING, status=ExecutionStatus.COMPLETED, finished_at=NOON, result={"sent": 1})
WAIT = ("execution", "wait", "e5-1")


@pytest.fixture
def env(server, tmp_path):
    return {"TICKWORK_URL": server.url, "TICKWORK_API_KEY": "secret", "TICKWORK_DATA_DIR": str(tmp_path)}


@pytest.fixture
def busy(server):
    server.will_always_answer("/v1/cluster", CLUSTER)
    server.will_always_answer("/v1/workers", page(WORKER))
    server.will_always_answer("/v1/queues", page(MAIL_QUEUE))
    server.will_always_answer("/v1/dead-letters", page())
    server.will_always_answer("/v1/breakers", page())
    server.will_always_answer("/v1/jobs", page())
    server.will_always_answer("/v1/executions", page(RUNNING))


def test_waiting_shows_how_far_it_has_come(server, env):
    server.will_always_answer("/v1/executions/e5-1", RUNNING)
    with on_terminal(*WAIT, env=env) as terminal:
        terminal.until("60%")
        terminal.until("sorting")
        server.will_always_answer("/v1/executions/e5-1", COMPLETED)
        assert terminal.ended() == 0
        assert '{"sent":1}' in terminal.shown


def test_waiting_says_after_a_while_why(server, env):
    server.will_always_answer("/v1/executions/e5-1", EXECUTION)
    why = Why(
        status=ExecutionStatus.PENDING,
        summary="Queue mail is paused.",
        causes=[],
        expected_start=None,
        expected_start_reason="when it is resumed",
    )
    server.will_always_answer("/v1/executions/e5-1/why", why)
    with on_terminal(*WAIT, env=env) as terminal:
        terminal.until("Queue mail is paused.")
        server.will_always_answer("/v1/executions/e5-1", COMPLETED)
        assert terminal.ended() == 0


def test_nothing_of_that_is_shown_elsewhere(ask, server):
    server.will_answer(RUNNING)
    server.will_answer(COMPLETED)
    done = ask(*WAIT)
    assert done.exit_code == 0
    assert done.stderr == "e5-1 completed in 1ms\n"
    assert len(server.asked) == 2


def test_a_watched_list_is_drawn_anew_until_ctrl_c(server, env, busy):
    with on_terminal("execution", "list", "--watch", "0.2", env=env) as terminal:
        terminal.until("60% sorting")
        server.will_always_answer("/v1/executions", page(changed(RUNNING, progress=Progress(0.9, "writing"))))
        terminal.until("90% writing")
        terminal.interrupt()
        assert terminal.ended() == 0


def test_the_whole_screen_shows_what_goes_on_and_q_ends_it(env, busy):
    with on_terminal("top", env=env) as terminal:
        terminal.until("q quits")
        for shown in ("e5-1", "60% sorting", "mail", "box-1", "slots: 2/10", "running: 10"):
            terminal.until(shown)
        terminal.press("q")
        assert terminal.ended() == 0


def test_a_small_screen_shows_what_fits(env, busy, server):
    server.will_always_answer("/v1/executions", page(*(changed(RUNNING, id=f"e{n}-1") for n in range(90))))
    with on_terminal("top", env=env, columns=40, lines=12) as terminal:
        terminal.until("more")
        terminal.until("q quits")
        terminal.press("q")
        assert terminal.ended() == 0
    assert "e30-1" not in terminal.shown


def test_the_whole_screen_goes_on_while_the_server_is_away(env, busy, server):
    server.will_refuse(503, "the database is away")
    server._always.pop("/v1/queues")
    with on_terminal("top", "--every", "0.2", env=env) as terminal:
        terminal.until("the database is away")
        server.will_always_answer("/v1/queues", page(MAIL_QUEUE))
        terminal.until("60% sorting")
        terminal.press("q")
        assert terminal.ended() == 0


def test_without_a_terminal_the_whole_screen_names_what_works(ask):
    done = ask("top")
    assert done.exit_code == 2
    assert "tickwork status" in done.stderr
