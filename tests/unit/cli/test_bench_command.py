"""`tickwork bench`: every scenario is there, says what it does, and refuses nonsense."""

import pytest

from tickwork.bench.scenario_types import SCENARIOS, scenario


def test_scenarios_are_listed_with_what_they_measure(ask):
    shown = ask("bench", "--help").stdout
    assert all(name in shown for name in SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_can_be_asked_for(ask, name):
    done = ask("bench", name, "--help")
    assert done.exit_code == 0
    assert all(option in done.stdout for option in ("--seconds", "--quick", "--runs", "--json", "--out"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_has_a_small_form(name):
    chosen = scenario(name)
    assert type(chosen.quick) is type(chosen.plan)
    assert chosen.quick != chosen.plan


def test_an_unknown_scenario_is_a_usage_error(ask):
    done = ask("bench", "throughput")
    assert done.exit_code == 2
    assert "throughput-recurring" in done.stderr


@pytest.mark.parametrize("options", [("--rate", "0"), ("--seconds", "-1"), ("--runs", "0")])
def test_options_that_make_no_sense_are_refused(ask, options):
    assert ask("bench", "cost", *options).exit_code == 2
