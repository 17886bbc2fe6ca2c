"""The checker is proven by bugs that it must find. Without them it finds nothing: see test_simulation."""

import re

import pytest

from simulation.bug import BUGS, Bug
from simulation.stage import Stage, open_stage
from support.invariant import violations
from support.page import ROOT

_SEEDS = 50


@pytest.mark.timeout(300)
@pytest.mark.parametrize("bug", BUGS, ids=[bug.name.replace(" ", "-") for bug in BUGS])
async def test_a_planted_bug_is_found(bug: Bug, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_stage(database_url) as stage:
        if bug.schema:
            await stage.alter(bug.schema)
        bug.plant(monkeypatch)
        assert await _seed_that_breaks(stage, bug.invariant) is not None


async def _seed_that_breaks(stage: Stage, invariant: str) -> int | None:
    for seed in range(_SEEDS):
        history = await stage.play(seed)
        if any(found.invariant == invariant for found in violations(history.evidence)):
            return seed
    return None


def test_the_bugs_are_told_of_in_the_documentation() -> None:
    page = (ROOT / "docs/explanation/testing.md").read_text("utf-8")
    told = re.findall(r"^\| .+ \| I\d+ \|$", page, re.MULTILINE)
    assert told == [f"| {bug.name} | {bug.invariant} |" for bug in BUGS]
