"""The smaller groups: worker, key, config, db, server, doctor."""

import json
import os
import sys

import msgspec
import pytest

from support.sample_answers import KEY, NOON, WORKER, page
from support.silent_port import silent_port
from tickwork.cli.server_command import listen

TASKS = {"name": "report", "parameters": {}, "description": None, "workers": ["w1"]}
NODE = {
    "id": "n1", "status": "ready", "host": "blue", "pid": 7, "version": "0.1.0", "address": None,
    "started_at": NOON, "seen_at": NOON, "clock_skew": 0.0, "database_latency": 0.002, "problems": [], "answers": True,
}  # fmt: skip
DATABASE = {
    "version": "18.0", "embedded": False, "size_bytes": 1, "connections_used": 1, "connections_allowed": 9,
    "latency": 0.002, "is_replica": False, "replicas": 0,
}  # fmt: skip
CLUSTER = {
    "nodes": [NODE], "database": DATABASE, "partitions_until": NOON, "zone_data": None, "schema_version": 1,
    "disk": None,
}  # fmt: skip


def test_lists_workers(ask, server):
    server.will_answer(page(WORKER))
    done = ask("worker", "list")
    assert done.stdout.splitlines()[1].split()[:8] == [
        "w1", "box-1", "online", "2/10", "cpu=1/4", "region=eu", "default", "report",
    ]  # fmt: skip


def test_shows_one_worker(ask, server):
    server.will_answer(WORKER)
    assert "region=eu" in ask("worker", "get", "w1").stdout


def test_drains_a_worker(ask, server):
    server.will_answer(WORKER)
    assert "box-1" in ask("worker", "drain", "w1").stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--resource", "cpu"), "write NAME=AMOUNT, such as cpu=4 or memory=8Gi"),
        (("--resource", "memory=8Gx"), "'8Gx' is not a size"),
        (("--resource", "cpu=-1"), "'-1' is not a size"),
        (("--queue", "mail=lots"), "write QUEUE=WEIGHT, the weight from 0.01 to 1000"),
        (("--queue", "mail=0"), "write QUEUE=WEIGHT"),
        (("--queue", "=2"), "write QUEUE=WEIGHT"),
        (("--label", "region"), "write NAME=VALUE"),
    ],
)
def test_a_worker_is_told_what_it_says_wrongly_of_itself(ask, words, told):
    done = ask("worker", "tasks:app", *words)
    assert done.exit_code == 2
    assert told in " ".join(done.stderr.split())


@pytest.mark.parametrize("words", [("tasks:app",), ("run", "tasks:app"), ("--slots", "5", "tasks:app")])
def test_a_module_after_worker_means_to_run_it(ask, words):
    done = ask("worker", *words)
    assert done.exit_code == 2
    assert "there is no module 'tasks'" in done.stderr


def test_a_worker_needs_to_know_where_its_app_is(ask):
    done = ask("worker", "tasks")
    assert done.exit_code == 2
    assert "such as tasks:app" in done.stderr


def test_code_that_cannot_be_imported_is_shown_without_our_own_frames(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "broken_tasks.py").write_text("def f():\n    raise ValueError('boom')\nf()\n")
    done = ask("worker", "broken_tasks:app")
    assert done.exit_code == 1
    assert "ValueError: boom" in done.stderr
    assert "broken_tasks.py" in done.stderr
    assert "click" not in done.stderr


@pytest.mark.parametrize("options", [("--label", "region"), ("--slots", "none")])
def test_bad_worker_options_are_usage_errors(ask, options):
    assert ask("worker", "tasks:app", *options).exit_code == 2


def test_makes_a_key_and_prints_its_secret_once(ask, server):
    server.will_answer({**msgspec.structs.asdict(KEY), "secret": "tw_abc"}, 201)
    done = ask("key", "create", "deploy", "--scope", "write", "--scope", "worker")
    assert server.asked[0].json == {"name": "deploy", "scopes": ["write", "worker"]}
    assert "tw_abc" in done.stdout
    assert "cannot be shown again" in done.stderr


def test_a_key_needs_a_scope(ask, server):
    done = ask("key", "create", "deploy")
    assert done.exit_code == 2
    assert "'--scope'" in done.stderr


def test_lists_and_revokes_keys(ask, server):
    server.will_answer(page(KEY))
    assert "deploy" in ask("key", "list").stdout
    server.will_answer(msgspec.structs.replace(KEY, revoked_at=NOON))
    ask("key", "list")
    ask("key", "revoke", "k1")
    assert (server.asked[-1].method, server.asked[-1].path) == ("DELETE", "/v1/keys/k1")


def test_shows_every_setting_with_its_source_and_no_secret(run, tmp_path):
    (tmp_path / "tickwork.toml").write_text("slots = 7\n")
    done = run("config", "show", "-o", "jsonl", env={"TICKWORK_API_KEY": "hunter2", "TICKWORK_PORT": "81"})
    shown = {item["name"]: item for item in map(json.loads, done.stdout.splitlines())}
    assert shown["slots"] == {"name": "slots", "value": "7", "source": "tickwork.toml"}
    assert shown["port"]["source"] == "TICKWORK_PORT"
    assert shown["host"]["source"] == "default"
    assert "hunter2" not in done.output


def test_a_bad_setting_stops_every_command_with_a_usage_error(run):
    done = run("job", "list", env={"TICKWORK_PORT": "eighty"})
    assert done.exit_code == 2
    assert "error: port: 'eighty' in TICKWORK_PORT must be a port" in done.stderr


@pytest.mark.parametrize("words", [("server",), ("db", "status"), ("db", "upgrade")])
def test_what_needs_a_database_says_so(run, words):
    done = run(*words)
    assert done.exit_code == 2
    assert "give --database-url or set TICKWORK_DATABASE_URL" in done.stderr


@pytest.mark.parametrize("words", [("server", "--port", "0"), ("db", "status"), ("db", "upgrade")])
def test_a_database_that_is_not_there_is_no_crash(run, words):
    done = run(*words, "--database-url", "postgresql://127.0.0.1:1/nothing")
    assert done.exit_code == 1
    assert "the database cannot be reached" in done.stderr


@pytest.mark.parametrize(
    "words", [("server", "--port", "0"), ("db", "status"), ("db", "upgrade"), ("doctor",)]
)
def test_a_silent_database_is_told_with_its_reason(run, words):
    with silent_port() as port:
        done = run(*words, "--database-url", f"postgresql://x@127.0.0.1:{port}/x?connect_timeout=1")
    assert done.exit_code == 1
    assert "the database does not answer in time: no answer within 1 s" in " ".join(done.output.split())


def test_a_silent_database_of_the_outbox_is_told_with_its_reason(run):
    with silent_port() as port:
        done = run("outbox", "list", "--database-url", f"postgresql://x@127.0.0.1:{port}/x")
    assert done.exit_code == 1
    assert "the database does not answer in time: no answer in time" in done.stderr


@pytest.mark.parametrize("command", ["up", "server"])
@pytest.mark.parametrize("by", ["flag", "variable"])
def test_a_port_that_was_asked_for_and_is_taken_ends_it(run, command, by):
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        words, env = (("--port", port), {}) if by == "flag" else ((), {"TICKWORK_PORT": port})
        done = run(command, *words, env={"TICKWORK_DATABASE_URL": "postgresql://127.0.0.1:1/nothing", **env})
    assert done.exit_code == 1
    assert f"port {port} is in use by another program; choose another with --port" in done.stderr


def test_doctor_tells_of_a_loop_that_fails(ask, server):
    server.will_answer(page(TASKS))
    server.will_answer(page(KEY))
    server.will_refuse(503, "not ready: loop claim failed 5 times in a row, last with ValueError")
    done = ask("doctor", "-o", "jsonl")
    findings = {item["what"]: item for item in map(json.loads, done.stdout.splitlines())}
    assert done.exit_code == 1
    assert findings["readiness"]["status"] == "fail"
    assert "loop claim failed 5 times" in findings["readiness"]["found"]
    assert "step failed" in findings["readiness"]["fix"]


def test_doctor_finds_nothing_wrong_with_a_good_server(ask, server):
    server.will_answer(page(TASKS))
    server.will_answer(page(KEY))
    server.will_answer({"ready": True, "checks": {}})
    server.will_answer(CLUSTER)
    done = ask("doctor", "-o", "jsonl")
    findings = {item["what"]: item for item in map(json.loads, done.stdout.splitlines())}
    assert done.exit_code == 0
    assert findings["server"]["status"] == "ok"
    assert "admin" in findings["server"]["found"]
    assert findings["node"]["status"] == "ok"
    assert "blue (pid 7, 0.1.0), 2 ms" in findings["node"]["found"]


def test_doctor_fails_for_a_refused_key_and_names_the_fix(ask, server):
    server.will_refuse(401, "the key was revoked")
    done = ask("doctor")
    assert done.exit_code == 1
    assert "the key was revoked" in done.stdout
    assert "set TICKWORK_API_KEY" in done.stdout


def test_doctor_fails_for_a_database_that_is_not_there(run):
    done = run("doctor", "--database-url", "postgresql://127.0.0.1:1/nothing")
    assert done.exit_code == 1
    assert "check --database-url" in done.stdout


def test_doctor_warns_of_a_variable_that_is_no_setting(run):
    done = run("doctor", env={"TICKWORK_DATABSE_URL": "x"})
    assert done.exit_code == 0
    assert "did you mean TICKWORK_DATABASE_URL?" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="files have no such mode there")
def test_doctor_fails_for_a_key_that_others_can_read(run, tmp_path):
    (tmp_path / ".tickwork").mkdir()
    (tmp_path / ".tickwork" / "admin.key").write_text("k")
    (tmp_path / ".tickwork" / "admin.key").chmod(0o644)
    done = run("doctor")
    assert done.exit_code == 1
    assert "chmod 600" in done.stdout


def test_login_prints_a_link_whose_secret_no_proxy_logs(ask, server):
    server.will_answer({"token": "abc", "expires_at": NOON}, 201)
    done = ask("login")
    assert done.stdout == f"{server.url}/sign-in#abc\n"


def test_logout_says_how_many_it_signed_out(ask, server):
    server.will_answer({"ended": 2})
    assert "2 signed out" in ask("logout").stderr
    assert (server.asked[0].method, server.asked[0].path) == ("DELETE", "/v1/session")
