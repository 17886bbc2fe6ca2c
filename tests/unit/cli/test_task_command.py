"""`tickwork task` and the filters of `tickwork worker list`."""

import pytest

from support.sample_answers import JOB, MAIL_QUEUE, WORKER, changed, page
from tickwork.cli.exit_codes import USAGE
from tickwork.model.task import TaskView
from tickwork.model.worker import WorkerLoad

TASK = TaskView(name="mail.send", parameters={}, description=None, workers=[])


def test_declares_a_task(ask, server):
    server.will_answer(TASK)
    schema, defaults = '{"type": "object"}', '{"queue": "mail"}'
    ask("task", "declare", "mail.send", "--parameters", schema, "--defaults", defaults)
    (put,) = server.asked
    assert (put.method, put.path) == ("PUT", "/v1/tasks/mail.send")
    assert put.json == {"parameters": {"type": "object"}, "defaults": {"queue": "mail"}}


def test_disables_with_a_reason_and_shows_who_did(ask, server):
    server.will_answer(changed(TASK, state="disabled", disabled_by="ops", disabled_reason="broken"))
    shown = ask("task", "disable", "mail.send", "--reason", "broken").stdout
    assert (server.asked[0].path, server.asked[0].json) == (
        "/v1/tasks/mail.send/disable",
        {"reason": "broken"},
    )
    assert "disabled" in shown
    assert "ops" in shown


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ([], {"jobs": "keep"}),
        (["--replacement", "new", "--jobs", "cancel"], {"replacement": "new", "jobs": "cancel"}),
        (["--undo"], {"jobs": "keep", "undo": True}),
    ],
)
def test_retires_a_task(ask, server, options, body):
    server.will_answer(changed(TASK, state="retired"))
    assert ask("task", "retire", "mail.send", *options).exit_code == 0
    assert server.asked[0].json == body


def test_taking_back_goes_alone(ask, server):
    assert ask("task", "retire", "mail.send", "--undo", "--jobs", "cancel").exit_code == USAGE


def test_enables_and_shows_a_task(ask, server):
    server.will_answer(TASK)
    server.will_answer(TASK)
    ask("task", "enable", "mail.send")
    ask("task", "get", "mail.send")
    assert [each.path for each in server.asked] == ["/v1/tasks/mail.send/enable", "/v1/tasks/mail.send"]


def test_filters_workers_and_shows_their_load(ask, server):
    load = WorkerLoad(cpu=0.42, memory_used=1, memory_total=4, process_cpu=1.5, process_memory=1024)
    server.will_answer(page(changed(WORKER, load=load)))
    options = [
        "--status",
        "online",
        "--label",
        "region=eu",
        "--label",
        "gpu",
        "--search",
        "box",
        "--sort",
        "name",
    ]
    shown = ask("worker", "list", *options).stdout
    assert "cpu 42%, memory 25%" in shown
    (asked,) = server.asked
    assert asked.query == {
        "status": ["online"],
        "label": ["region=eu", "gpu"],
        "q": ["box"],
        "sort": ["name"],
    }


def test_sets_the_priority_and_the_workers_of_a_queue(ask, server):
    server.will_answer(MAIL_QUEUE)
    server.will_answer(changed(MAIL_QUEUE, priority="high", max_workers=2))
    shown = ask("queue", "set", "mail", "--priority", "high", "--max-workers", "2").stdout
    assert server.asked[1].json == {
        "max_running": 10, "rate": "100/1m", "max_backlog": 1000, "max_workers": 2, "priority": "high",
    }  # fmt: skip
    assert "high" in shown


def test_a_job_names_its_worker_and_waits_for_its_task(ask, server):
    server.will_answer(JOB, status=201)
    ask("job", "create", "--task", "mail.send", "--worker", "box-1", "--unknown-task", "wait")
    assert server.asked[0].json == {
        "task": "mail.send", "unknown_task": "wait", "requires": {"worker": "box-1"},
    }  # fmt: skip
