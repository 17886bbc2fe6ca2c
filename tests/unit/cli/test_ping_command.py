"""`tickwork ping`."""

from support.sample_answers import NOON, PING, PING_RUN, changed, page
from tickwork.cli import ping_command
from tickwork.cli.exit_codes import NOT_FOUND, USAGE

URL = "https://tick.example.com/ping/twp_abcdefgh"
NOWHERE = {"url": None, "called_at": None, "answered_at": None, "error": None}


def test_lists_pings_with_their_latest_runs(ask, server):
    server.will_answer(page(PING))
    head, row = ask("ping", "list", "--status", "ok", "-q", "back").stdout.splitlines()
    assert head.split()[:4] == ["PING", "STATUS", "RUNS", "SCHEDULE"]
    assert row.split()[:3] == ["backup", "ok", "✗·✓"]
    assert server.asked[0].query == {"status": ["ok"], "q": ["back"]}


def test_shows_one_with_its_statistics(ask, server):
    server.will_answer(changed(PING, failing_since=NOON, failures_in_a_row=2))
    out = ask("ping", "get", "backup").stdout
    assert "33% of 3" in out
    assert "2 in a row since" in out
    assert "missing → ops" in out


def test_creates_one_and_prints_its_url_with_the_line_for_a_crontab(ask, server):
    server.will_refuse(404, "there is no ping backup")
    server.will_answer(changed(PING, url=URL))
    done = ask(
        *("ping", "set", "backup", "--schedule", "0 2 * * *", "--tz", "Europe/Paris", "--grace", "30m"),
        *("--notify", "missing,recovered=ops,mail"),
    )
    assert done.exit_code == 0
    assert server.asked[1].json == {
        "schedule": "0 2 * * *",
        "timezone": "Europe/Paris",
        "grace": "30m",
        "notify": [{"on": ["missing", "recovered"], "to": ["ops", "mail"]}],
    }
    assert URL in done.stdout
    assert f"curl -fsS --retry 5 {URL}/$?" in done.stderr


def test_set_changes_only_what_is_named(ask, server):
    server.will_answer(PING)
    server.will_answer(changed(PING, grace=60.0))
    assert ask("ping", "set", "backup", "--grace", "1m").exit_code == 0
    assert server.asked[1].json == {
        "schedule": PING.schedule,
        "grace": "1m",
        "notify": [{"on": ["missing"], "to": ["ops"]}],
    }


def test_tells_nobody_any_more(ask, server):
    server.will_answer(PING)
    server.will_answer(PING)
    ask("ping", "set", "backup", "--no-notify")
    assert server.asked[1].json["notify"] == []


def test_a_new_ping_needs_a_schedule(ask, server):
    server.will_refuse(404, "there is no ping backup")
    done = ask("ping", "set", "backup", "--grace", "1m")
    assert (done.exit_code, len(server.asked)) == (USAGE, 1)
    assert "give its --schedule" in done.stderr


def test_makes_another_url(ask, server):
    server.will_answer(PING)
    server.will_answer(PING)
    server.will_answer(changed(PING, url=URL))
    assert URL in ask("ping", "set", "backup", "--new-url").stdout
    assert (server.asked[2].method, server.asked[2].path) == ("POST", "/v1/pings/backup/token")


def test_says_what_a_notification_looks_like(ask, server):
    done = ask("ping", "set", "backup", "--notify", "exploded=ops")
    assert done.exit_code == USAGE
    assert "late, missing, failed, recovered, slow" in done.stderr


def test_deletes_one(ask, server):
    server.will_answer({"name": "backup"})
    assert "backup" in ask("ping", "delete", "backup").stdout
    assert server.asked[0].method == "DELETE"


def test_shows_the_history_with_the_end_of_the_logs(ask, server):
    server.will_answer(page(PING_RUN))
    head, row = ask("ping", "history", "backup", "--limit", "10").stdout.splitlines()
    assert "EXIT CODE" in head
    assert "28" in row
    assert row.endswith("disk full")
    assert server.asked[0].path == "/v1/pings/backup/history"


def test_says_when_there_is_no_such_ping(ask, server):
    server.will_refuse(404, "there is no ping backup")
    assert ask("ping", "get", "backup").exit_code == NOT_FOUND


def test_sets_up_the_outside_ping_in_one_command(ask, server):
    called = {**NOWHERE, "url": URL, "called_at": NOON, "answered_at": NOON}
    server.will_answer({**NOWHERE, "url": URL})
    server.will_answer(called)
    server.will_answer(called)
    done = ask("ping", "outside", URL)
    assert (server.asked[0].method, server.asked[0].json) == ("PUT", {"url": URL})
    assert "answered" in done.stdout


def test_says_when_no_node_calls_outside(ask, server, monkeypatch):
    monkeypatch.setattr(ping_command, "_FIRST_CALL_WITHIN", 0.0)
    for _ in range(3):
        server.will_answer({**NOWHERE, "url": URL})
    assert "no node has called it yet" in ask("ping", "outside", URL).stderr


def test_shows_and_ends_the_outside_ping(ask, server):
    server.will_answer(NOWHERE)
    assert "nobody outside would notice" in ask("ping", "outside").stdout
    server.will_answer(NOWHERE)
    server.will_answer(NOWHERE)
    ask("ping", "outside", "--off")
    assert [request.method for request in server.asked] == ["GET", "DELETE", "GET"]
    assert ask("ping", "outside", URL, "--off").exit_code == USAGE
