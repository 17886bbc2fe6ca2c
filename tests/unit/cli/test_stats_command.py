"""`tickwork stats`."""

import json
from datetime import timedelta

import pytest

from support.sample_answers import NOON
from tickwork.cli.exit_codes import USAGE
from tickwork.cli.stats_command import sparkline
from tickwork.model.statistics import Counted, Counts, StatisticsSeries, point_of

MINUTE = timedelta(minutes=1)
RANGE = ("--since", "2026-01-31T12:00Z", "--until", "2026-01-31T12:05Z")


def series(*completed: int, task: str | None = None) -> StatisticsSeries:
    """One point a minute from noon on, without those in which nothing happened."""
    begin = NOON.replace(year=2026, month=1, day=31, hour=12, minute=0, second=0, microsecond=0)
    points = [
        Counted(
            begin + number * MINUTE,
            task,
            None,
            Counts(fired=count, completed=count, skipped_by_reason={"overlap": 1}, run_times={40: count}),
        )
        for number, count in enumerate(completed)
        if count
    ]
    return StatisticsSeries([point_of(point, MINUTE) for point in points])


def test_draws_a_line_for_each_count_and_percentile(ask, server):
    server.will_answer(series(8, 0, 4, 1))
    done = ask("stats", *RANGE)
    lines = {line[:16].strip(): line[16:] for line in done.stdout.splitlines()}
    assert lines["completed"] == "█ ▅▂   13"
    assert lines["failed"].strip() == "0"
    assert lines["skipped"].strip().endswith("3")
    assert "up to" in lines["run time p99"]
    assert "retried" not in lines
    asked = server.asked[0]
    assert (asked.path, asked.query["step"]) == ("/v1/stats", ["1m"])
    assert asked.query["from"][0].startswith("2026-01-31T12:00")


def test_draws_a_chart_for_each_task(ask, server):
    server.will_answer(StatisticsSeries([*series(1, task="a").items, *series(0, 2, task="b").items]))
    done = ask("stats", *RANGE, "--by", "task")
    assert [line for line in done.stdout.splitlines() if line in ("a", "b")] == ["a", "b"]


def test_prints_what_the_server_said(ask, server):
    server.will_answer(series(8, 0, 4))
    items = [json.loads(line) for line in ask("stats", *RANGE, "-o", "jsonl").stdout.splitlines()]
    assert [item["completed"] for item in items] == [8, 4]


def test_says_when_nothing_happened(ask, server):
    server.will_answer(StatisticsSeries([]))
    assert "nothing happened" in ask("stats", *RANGE).stderr


def test_refuses_a_step_that_there_is_not(ask):
    assert ask("stats", "--step", "2m").exit_code == USAGE


@pytest.mark.parametrize(
    ("values", "bars"), [([0, 1, 2, 8], " ▂▃█"), ([None, 0.5], " █"), ([0, 0], "  "), ([], "")]
)
def test_a_bar_is_as_high_as_its_share_of_the_highest(values, bars):
    assert sparkline(values) == bars
