"""The checker is proven by bugs that it must find. Without them it finds nothing: see test_simulation."""

import re

import pytest

from simulation.planted_bugs import BUGS, Bug
from simulation.simulation_runner import SimulationRunner, open_runner
from support.docs_page import ROOT
from support.invariant import violations

_SEEDS = 200


@pytest.mark.timeout(300)
@pytest.mark.parametrize("bug", BUGS, ids=[bug.name.replace(" ", "-") for bug in BUGS])
async def test_a_planted_bug_is_found(bug: Bug, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_runner(database_url) as runner:
        if bug.schema:
            await runner.alter(bug.schema)
        bug.plant(monkeypatch)
        seed = await _seed_that_breaks(runner, bug)
    assert seed is not None
    print(f"{bug.name}: shown by the history of seed {seed}")  # noqa: T201


async def _seed_that_breaks(runner: SimulationRunner, bug: Bug) -> int | None:
    for seed in sorted(range(_SEEDS), key=lambda seed: seed != bug.seed):
        history = await runner.play(seed)
        if any(found.invariant == bug.invariant for found in violations(history.observed)):
            return seed
    return None


def test_the_bugs_are_told_of_in_the_documentation() -> None:
    page = (ROOT / "docs/explanation/testing.md").read_text("utf-8")
    told = re.findall(r"^\| .+ \| I\d+ \|$", page, re.MULTILINE)
    assert told == [f"| {bug.name} | {bug.invariant} |" for bug in BUGS]
