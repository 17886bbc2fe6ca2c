"""`tickwork job`: what is asked of the server, what is printed, and how it exits."""

import json

import pytest

from support.sample_answers import COMPLETED, EXECUTION, JOB, NOON, changed, page
from tickwork.model.execution import AttemptError, ExecutionStatus
from tickwork.model.job_filter import JobCount, JobPage

PREVIEW = {"canonical": {}, "words": "w", "times": [{"at": NOON, "local": "l", "note": None}], "warnings": []}
FAILED = changed(
    EXECUTION, status=ExecutionStatus.FAILED, error=AttemptError("ValueError", "no good", "Trace\nback")
)


def test_creates_a_task_job_from_options(ask, server):
    server.will_answer(JOB, 201)
    server.will_answer(PREVIEW)
    done = ask(
        *("job", "create", "--task", "report", "--payload", '{"to": "a@b.c"}', "--schedule", "0 9 * * MON"),
        *(
            "--tz",
            "Europe/Paris",
            "--key",
            "weekly",
            "--if-exists",
            "keep",
            "--retries",
            "2",
            "--tag",
            "a",
            "--tag",
            "b",
        ),
    )
    assert done.exit_code == 0, done.output
    assert server.asked[0].json == {
        "task": "report",
        "payload": {"to": "a@b.c"},
        "schedule": "0 9 * * MON",
        "timezone": "Europe/Paris",
        "key": "weekly",
        "if_exists": "keep",
        "retry": {"max_attempts": 3},
        "tags": ["a", "b"],
    }


def test_says_what_the_schedule_was_understood_as_and_the_next_runs(ask, server):
    server.will_answer(JOB, 201)
    server.will_answer(PREVIEW)
    done = ask("job", "create", "--task", "report", "--schedule", "0 9 * * MON")
    assert "every Monday at 09:00 (UTC)" in done.stdout
    assert "next run" in done.stdout
    assert server.asked[1].json == {"schedule": JOB.schedule, "count": 3}


def test_creates_an_http_job_from_options(ask, server):
    server.will_answer(changed(JOB, next_run_at=None), 201)
    ask("job", "create", "--http", "https://x.y", "--method", "put", "--header", "A: 1", "--header", "B:2")
    assert server.asked[0].json == {
        "http": {"url": "https://x.y", "method": "PUT", "headers": {"A": "1", "B": "2"}}
    }


@pytest.mark.parametrize(
    ("options", "http"),
    [
        (
            ["--completion", "callback", "--target-heartbeat", "5m"],
            {"completion": "callback", "heartbeat": "5m"},
        ),
        (["--poll", "10s"], {"poll": {"every": "10s"}}),
        (["--poll", '{"url_from": "body.status"}'], {"poll": {"url_from": "body.status"}}),
    ],
)
def test_creates_an_http_job_that_finishes_later(ask, server, options, http):
    server.will_answer(changed(JOB, next_run_at=None), 201)
    ask("job", "create", "--http", "https://x.y", *options)
    assert server.asked[0].json == {"http": {"url": "https://x.y", **http}}


def test_reads_a_payload_from_a_file_or_from_stdin(ask, server, tmp_path):
    server.will_answer(changed(JOB, next_run_at=None), 201)
    (tmp_path / "p.json").write_text("[1]")
    ask("job", "create", "--task", "t", "--payload", "@p.json")
    ask("job", "create", "--task", "t", "--payload", "-", stdin="[2]")
    assert [asked.json["payload"] for asked in server.asked] == [[1], [2]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--payload", "{to: you}"], "not JSON"),
        (["--payload", "@missing.json"], "missing.json cannot be read"),
        (["--header", "nothing"], "write 'Name: value'"),
        (["--retries", "-1"], "-1 is not in the range"),
        (["--priority", "urgent"], "'urgent' is not one of"),
        (["--wait-timeout", "soon"], "'soon' is not a duration"),
        (["--pay", "1"], "No such option"),
    ],
)
def test_bad_options_are_usage_errors_and_nothing_is_sent(ask, server, options, said):
    done = ask("job", "create", "--task", "t", *options)
    assert done.exit_code == 2
    assert said in done.stderr
    assert server.asked == []


def test_every_bad_field_is_printed_with_its_hint(ask, server):
    errors = [
        {"path": "task", "message": "unknown", "hint": "did you mean 'a'?"},
        {"path": "tz", "message": "bad", "hint": None},
    ]
    server.will_refuse(422, "2 fields are wrong", errors)
    done = ask("job", "create", "--task", "b")
    assert done.exit_code == 2
    assert done.stderr == "error: task: unknown (did you mean 'a'?)\nerror: tz: bad\n"
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("status", "code"), [(404, 3), (409, 4), (412, 4), (401, 5), (403, 5), (500, 1), (422, 2)]
)
def test_each_refusal_has_its_exit_code(ask, server, status, code):
    server.will_refuse(status, "because")
    assert ask("job", "get", "j5").exit_code == code


def test_waiting_prints_the_result_alone_and_exits_with_the_outcome(ask, server):
    server.will_answer(JOB, 201)
    server.will_answer(page(COMPLETED))
    done = ask("job", "create", "--task", "report", "--wait")
    assert (done.exit_code, done.stdout) == (0, '{"sent":1}\n')
    assert "e5-1 completed" in done.stderr


def test_a_failed_run_exits_with_1_and_tells_why(ask, server):
    server.will_answer(EXECUTION, 201)
    server.will_answer(FAILED)
    done = ask("job", "run", "j5", "--wait")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Trace\nback" in done.stderr


def test_a_wait_that_is_over_exits_with_124(ask, server):
    server.will_answer(EXECUTION, 201)
    done = ask("job", "run", "j5", "--wait", "--wait-timeout", "0s")
    assert done.exit_code == 124


def test_lists_as_a_table(ask, server):
    server.will_answer(page(JOB, next_cursor="more"))
    done = ask("job", "list", "--status", "active", "-q", "rep", "--limit", "1")
    head, row = done.stdout.splitlines()
    assert head.split() == ["ID", "NAME", "WHAT", "STATUS", "HEALTH", "SCHEDULE", "NEXT", "RUN"]
    assert row.split("  ")[:5] == ["j5", "weekly report", "report", "active", "unknown"]
    assert "every Monday" in row
    assert done.stderr == "there are more: add --cursor more\n"
    assert server.asked[0].query == {"status": ["active"], "q": ["rep"], "limit": ["1"]}


def test_lists_as_json_and_as_json_lines(ask, server):
    server.will_answer(page(JOB, JOB))
    as_json = ask("job", "list", "-o", "json")
    assert [item["id"] for item in json.loads(as_json.stdout)["items"]] == ["j5", "j5"]
    as_lines = ask("job", "list", "-o", "jsonl")
    assert [json.loads(line)["id"] for line in as_lines.stdout.splitlines()] == ["j5", "j5"]


def test_an_empty_list_prints_no_data(ask, server):
    server.will_answer(page())
    done = ask("job", "list")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "nothing found\n")


def test_prints_no_colours_where_nobody_looks(ask, server):
    server.will_answer(page(JOB))
    assert "\x1b" not in ask("job", "list").output


def test_what_others_wrote_cannot_steer_the_terminal(ask, server):
    server.will_answer(changed(JOB, name="\x1b]0;evil\x07\x1b[2J"))
    done = ask("job", "get", "j5")
    assert "\x1b" not in done.stdout
    assert r"\x1b]0;evil\x07\x1b[2J" in done.stdout


def test_edits_only_what_is_given(ask, server):
    server.will_answer(changed(JOB, next_run_at=None))
    assert ask("job", "edit", "j5", "--schedule", "every 5m", "--if-match", "3").exit_code == 0
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.json) == ("PATCH", "/v1/jobs/j5", {"schedule": "every 5m"})
    assert asked.headers["if-match"] == '"3"'


def test_an_edit_of_nothing_is_a_usage_error(ask, server):
    done = ask("job", "edit", "j5")
    assert done.exit_code == 2
    assert "nothing to change" in done.stderr


@pytest.mark.parametrize(
    ("verb", "method", "path"),
    [
        ("pause", "POST", "/pause"),
        ("resume", "POST", "/resume"),
        ("cancel", "DELETE", ""),
        ("get", "GET", ""),
    ],
)
def test_steers_a_job(ask, server, verb, method, path):
    server.will_answer(JOB)
    done = ask("job", verb, "j5", "-o", "json")
    assert json.loads(done.stdout)["id"] == "j5"
    assert (server.asked[0].method, server.asked[0].path) == (method, f"/v1/jobs/j5{path}")


def test_shows_the_next_runs(ask, server):
    server.will_answer(JOB)
    server.will_answer(PREVIEW)
    done = ask("job", "next", "j5", "-n", "2", "-o", "jsonl")
    assert json.loads(done.stdout)["at"] == "2026-11-15T12:00:00Z"


def test_says_how_to_start_a_server_when_there_is_none(run):
    done = run("job", "list")
    assert done.exit_code == 1
    assert "start one with `tickwork up`" in done.stderr


def test_a_server_that_does_not_answer_is_named(run, server):
    env = {"TICKWORK_URL": "http://127.0.0.1:1", "TICKWORK_API_KEY": "k"}
    done = run("job", "list", env=env)
    assert done.exit_code == 1
    assert "no answer from http://127.0.0.1:1" in done.stderr


def test_every_filter_of_the_list_is_asked_for(ask, server):
    server.will_answer(JobPage([JOB], count=JobCount(12_345, "estimate")))
    words = (
        "--status paused --health failing --task reports.* --queue mail --priority low --tag eu --tag billing "
        "--owner team-a -q invoice --created-after 2026-01-01T00:00Z --due-before 2026-02-01T00:00Z --one-time "
        "--sort health --count estimate"
    )
    answer = ask("job", "list", *words.split())
    assert answer.exit_code == 0, answer.stderr
    assert "12,345 in total (estimate)" in answer.stderr
    assert server.asked[0].query == {
        "status": ["paused"],
        "health": ["failing"],
        "task": ["reports.*"],
        "queue": ["mail"],
        "priority": ["low"],
        "tag": ["eu", "billing"],
        "owner": ["team-a"],
        "q": ["invoice"],
        "created_after": ["2026-01-01T00:00:00+00:00"],
        "due_before": ["2026-02-01T00:00:00+00:00"],
        "recurring": ["false"],
        "sort": ["health"],
        "count": ["estimate"],
    }


def test_the_time_after_which_it_is_slow_is_sent_and_shown(ask, server):
    server.will_answer(changed(JOB, warn_after=120.0), 201)
    server.will_answer(PREVIEW)
    answer = ask("job", "create", "--task", "hello", "--warn-after", "2m")
    assert server.asked[0].json["warn_after"] == "2m"
    assert "warns after 2m" in " ".join(answer.stdout.split())


def test_the_time_to_start_within_is_sent_and_shown(ask, server):
    server.will_answer(changed(JOB, start_within=3600.0), 201)
    server.will_answer(PREVIEW)
    answer = ask("job", "create", "--task", "hello", "--start-within", "1h")
    assert server.asked[0].json["start_within"] == "1h"
    assert "starts within 1h" in " ".join(answer.stdout.split())


@pytest.mark.parametrize(
    ("given", "answered", "shown"), [("06:00", "06:00", "06:00"), ("2h", 7200.0, "2h after the due time")]
)
def test_a_deadline_is_sent_and_shown(ask, server, given, answered, shown):
    server.will_answer(changed(JOB, deadline=answered), 201)
    server.will_answer(PREVIEW)
    answer = ask("job", "create", "--task", "hello", "--deadline", given)
    assert server.asked[0].json["deadline"] == given
    assert f"deadline {shown}" in " ".join(answer.stdout.split())


def test_how_much_is_kept_is_sent_and_shown(ask, server):
    server.will_answer(changed(JOB, retention={"age": 604_800.0, "last": 100}), 201)
    server.will_answer(PREVIEW)
    answer = ask("job", "create", "--task", "hello", "--keep-for", "7d", "--keep-last", "100")
    assert server.asked[0].json["retention"] == {"age": "7d", "last": 100}
    assert "keeps 7d, at most the last 100" in " ".join(answer.stdout.split())


def test_keeping_the_last_of_a_one_time_job_is_said_to_change_nothing(ask, server):
    last = {"age": None, "last": 100}
    server.will_answer(changed(JOB, retention=last, execution_id="e5-1", next_run_at=None), 201)
    server.will_answer(changed(JOB, retention=last), 201)
    server.will_answer(PREVIEW)
    words = ("job", "create", "--task", "hello", "--keep-last", "100")
    assert "--keep-for is for both" in ask(*words).stderr
    assert ask(*words, "--schedule", "every 1h").stderr == ""


def test_a_heartbeat_url_is_sent_and_shown(ask, server):
    url = "https://example.com/beat"
    server.will_answer(changed(JOB, heartbeat_url=url), 201)
    server.will_answer(PREVIEW)
    answer = ask("job", "create", "--task", "hello", "--heartbeat-url", url)
    assert server.asked[0].json["heartbeat_url"] == url
    assert url in answer.stdout


def test_a_description_and_an_owner_are_sent_and_shown(ask, server):
    server.will_answer(changed(JOB, description="Sends invoices", owner="team-a"), 201)
    server.will_answer(PREVIEW)
    answer = ask("job", "create", "--task", "hello", "--description", "Sends invoices", "--owner", "team-a")
    assert (server.asked[0].json["description"], server.asked[0].json["owner"]) == (
        "Sends invoices",
        "team-a",
    )
    assert "Sends invoices" in answer.stdout
    assert "team-a" in answer.stdout
