"""`tickwork upcoming`."""

import json
from datetime import UTC, datetime, timedelta

from support.sample_answers import NOON
from tickwork.model.upcoming import DueTime, DueTimeCount, DueTimeCounts, DueTimePage

DUE = DueTime(at=NOON, job_id="j5", name="digest", task="mail.digest", queue="mail")


def test_lists_what_is_due_and_how_far_the_list_is_complete(ask, server):
    server.will_answer(DueTimePage([DUE], "next", NOON))
    done = ask("upcoming", "--from", "2h", "--until", "2026-01-31T09:00Z")
    head, row = done.stdout.splitlines()
    assert head.split() == ["DUE", "AT", "JOB", "NAME", "TASK", "QUEUE"]
    assert row.endswith("j5   digest  mail.digest  mail")
    assert "add --cursor next" in done.stderr
    assert "complete up to" in done.stderr
    (asked,) = server.asked
    assert asked.path == "/v1/upcoming"
    ahead = datetime.fromisoformat(asked.query["from"][0]) - datetime.now(UTC)
    assert timedelta(hours=1) < ahead <= timedelta(hours=2)
    assert datetime.fromisoformat(asked.query["until"][0]) == datetime(2026, 1, 31, 9, tzinfo=UTC)


def test_draws_the_number_of_due_times_in_each_step(ask, server):
    hour = timedelta(hours=1)
    server.will_answer(DueTimeCounts([DueTimeCount(NOON, 2000), DueTimeCount(NOON + hour, 1)], estimate=True))
    done = ask("upcoming", "--step", "1h")
    _, first, second = done.stdout.splitlines()
    assert first.endswith("2,000  " + "█" * 40)
    assert second.endswith("1      █")
    assert "these numbers are estimates" in done.stderr
    assert server.asked[0].query["step"] == ["3600.000000"]


def test_gives_json(ask, server):
    server.will_answer(DueTimePage([DUE]))
    assert json.loads(ask("upcoming", "-o", "json").stdout)["items"][0]["job_id"] == "j5"


def test_a_time_that_is_none_is_a_usage_error(ask, server):
    done = ask("upcoming", "--until", "tomorrow")
    assert done.exit_code == 2
    assert "is not a time such as" in done.stderr
