"""`tickwork job create --command -- …` and the options of workers that run commands."""

import pytest

from support.sample_answers import JOB
from tickwork.cli.exit_codes import USAGE


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        (("--command", "--", "backup-db", "--full"), {"command": ["backup-db", "--full"]}),
        (("--command", "backup-db", "a b"), {"command": ["backup-db", "a b"]}),
        (
            ("--env", "A=1", "--env", "B=x=y", "--cwd", "/srv", "--stdin", "hi", "--command", "--", "b"),
            {"command": ["b"], "env": {"A": "1", "B": "x=y"}, "cwd": "/srv", "stdin": "hi"},
        ),
        (
            ("--success-code", "0", "--success-code", "1", "--final-code", "2", "--command", "--", "b"),
            {"command": ["b"], "exit_codes": {"success": [0, 1], "final": [2]}},
        ),
        (
            (
                "--max-memory",
                "1Gi",
                "--max-cpu-time",
                "60s",
                "--max-output",
                "1Mi",
                "--max-files",
                "64",
                "--command",
                "--",
                "b",
            ),
            {
                "command": ["b"],
                "process_limits": {"memory": "1Gi", "cpu_time": "60s", "output": "1Mi", "files": 64},
            },
        ),
        (("--task", "work", "--retries", "0"), {"task": "work", "retry": {"max_attempts": 1}}),
    ],
)
def test_asks_for_the_command_that_the_words_say(ask, server, words, fields):
    server.will_answer(JOB, 201)
    ask("job", "create", *words)
    assert server.asked[0].json == fields


def test_an_edit_takes_the_same(ask, server):
    server.will_answer(JOB)
    ask("job", "edit", "j1", "--command", "--", "backup-db", "--full")
    assert server.asked[0].json == {"command": ["backup-db", "--full"]}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--command",), "--command -- backup-db --full"),
        (("--task", "work", "--", "backup-db"), "write --command before the --"),
        (("--env", "A", "--command", "--", "b"), "NAME=VALUE"),
        (("--success-code", "256", "--command", "--", "b"), "0<=x<=255"),
    ],
)
def test_says_how_a_command_is_written(ask, server, words, hint):
    done = ask("job", "create", *words)
    assert (done.exit_code, hint in done.stderr, server.asked) == (USAGE, True, [])


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ((), "tasks:app, or --allow-command"),
        (("--allow-command", "a/b"), "absolute path"),
        (("--allow-command", ""), "name"),
    ],
)
def test_a_worker_needs_tasks_or_commands(ask, words, hint):
    done = ask("worker", "run", *words)
    assert (done.exit_code, hint in done.stderr) == (USAGE, True)
