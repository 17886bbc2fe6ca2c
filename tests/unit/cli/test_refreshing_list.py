"""Lists that are watched where no terminal is: what is new or changed, and nothing else."""

import json

import pytest

from support.sample_answers import EXECUTION, NOON, WORKER, changed, page
from tickwork.model.execution import ExecutionStatus

OTHER = changed(EXECUTION, id="e6-1")
RUNNING = changed(EXECUTION, status=ExecutionStatus.RUNNING)


@pytest.fixture
def three_looks(monkeypatch):
    """Ctrl-C instead of a fourth."""
    looks = iter(range(2))

    def pause(_seconds):
        if next(looks, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr("tickwork.cli.print_or_watch_answer.sleep", pause)


@pytest.mark.parametrize("output", ["json", "jsonl"])
def test_prints_what_changed_as_json_lines(ask, server, three_looks, output):
    for items in ([EXECUTION], [EXECUTION, OTHER], [RUNNING, OTHER]):
        server.will_answer(page(*items))
    done = ask("execution", "list", "--watch", "-o", output)
    assert done.exit_code == 0
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["id"], each["status"]) for each in told] == [
        ("e5-1", "pending"), ("e6-1", "pending"), ("e5-1", "running"),
    ]  # fmt: skip


def test_prints_rows_that_changed_under_one_heading(ask, server, three_looks):
    for items in ([EXECUTION], [EXECUTION], [RUNNING]):
        server.will_answer(page(*items))
    head, first, last = ask("execution", "list", "--watch", "5").stdout.splitlines()
    assert head.startswith("ID")
    assert ("pending" in first, "running" in last) == (True, True)


def test_a_sign_of_life_is_no_news(ask, server, three_looks):
    server.will_answer(page(WORKER))
    server.will_answer(page(changed(WORKER, heartbeat_at=NOON.replace(hour=13))))
    assert len(ask("worker", "list", "--watch").stdout.splitlines()) == 2


def test_goes_on_when_the_server_was_away_for_a_look(ask, server, three_looks):
    server.will_answer(page(EXECUTION))
    server.will_refuse(503, "away")
    server.will_refuse(503, "away")
    server.will_answer(page(RUNNING))
    assert "running" in ask("execution", "list", "--watch").stdout


@pytest.mark.parametrize("words", [["job"], ["queue"], ["dead-letter"], ["breaker"], ["worker"], ["task"]])
def test_every_list_can_be_watched(ask, server, three_looks, words):
    server.will_answer(page())
    done = ask(*words, "list", "--watch", "0.5")
    assert (done.exit_code, len(server.asked)) == (0, 3)
