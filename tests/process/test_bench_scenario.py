"""Scenarios of the bench from end to end, in their small form: real database, server and worker processes."""

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("name", "smaller"),
    [
        ("throughput-recurring", ("--rate", "50", "--schedules", "600", "--seconds", "2")),
        ("throughput-oneoff", ("--jobs", "500")),
        ("http", ("--rate", "20", "--seconds", "2")),
    ],
)
def test_a_scenario_prints_one_line_of_json_and_keeps_the_rest(name, smaller, tmp_path):
    words = ("bench", name, "--quick", "--json", "--out", str(tmp_path), *smaller)
    done = subprocess.run(
        [sys.executable, "-m", "tickwork.cli", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    figure = json.loads(line)
    assert figure["scenario"] == name
    assert (figure["lost"], figure["doubled"]) == (0, 0)
    assert figure["details"]["ran"] == figure["details"]["due"] > 0
    kept = json.loads((tmp_path / f"{name}.json").read_text())
    assert kept["value"] == figure["value"]
    assert kept["machine"]["cores"]
    assert kept["series"]
    assert "<polyline" in (tmp_path / f"{name}.svg").read_text()
    assert f"held equal: {kept['held_equal']}" in done.stderr


def test_every_search_is_measured_and_finds_something_where_there_is_something(tmp_path):
    sizes = ("--jobs", "1500", "--executions", "3000", "--requests", "1")
    words = ("bench", "search", "--quick", "--json", "--out", str(tmp_path), *sizes)
    done = subprocess.run(
        [sys.executable, "-m", "tickwork.cli", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    details = json.loads(done.stdout)["details"]
    assert details["jobs"] == 1500
    assert details["executions"] > 1500
    for name in (
        "jobs, a common word",
        "jobs, status completed",
        "jobs, by next run",
        "executions, status failed",
    ):
        assert not details[name].endswith(" 0 found"), name
    assert details["jobs, two tags that no job has both"].endswith(" 0 found")
