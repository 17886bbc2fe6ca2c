"""`tickwork preview` needs no server."""

import json


def test_says_when_a_schedule_is_due(run):
    done = run("preview", "0 9 * * *", "--after", "2026-06-01T00:00Z", "-n", "2", "-o", "json")
    assert done.exit_code == 0, done.output
    assert [time["at"] for time in json.loads(done.stdout)["times"]] == [
        "2026-06-01T09:00:00Z",
        "2026-06-02T09:00:00Z",
    ]


def test_the_zone_counts(run):
    done = run(
        "preview",
        "0 9 * * *",
        "--tz",
        "Europe/Paris",
        "--after",
        "2026-06-01T00:00Z",
        "-n",
        "1",
        "-o",
        "json",
    )
    assert json.loads(done.stdout)["times"][0]["at"] == "2026-06-01T07:00:00Z"


def test_prints_a_table_of_the_times(run):
    done = run("preview", "every 5m", "-n", "3")
    assert "every 5" in done.stdout
    assert len(done.stdout.splitlines()) == 2 + 1 + 3


def test_a_schedule_that_is_none_is_a_usage_error(run):
    done = run("preview", "now and then")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: schedule")


def test_says_its_warnings(run):
    done = run("preview", "0 0 12 ? * 2-6", "--after", "2026-06-01T00:00Z", "-n", "1")
    assert "warning: days of the week are numbered from 0, Sunday" in done.output


def test_refuses_times_that_there_are_not(run):
    for after in ("9999-12-31T23:59:59-12:00", "0001-01-01T00:00+12:00", "2100-01-01T00:00Z"):
        done = run("preview", "@daily", "--after", after)
        assert done.exit_code == 2, done.output
        assert "Traceback" not in done.output
