"""Every promise, over many histories. Any of them can be played again by its seed."""

import os

import pytest

from simulation.simulate import Simulated
from simulation.simulation_runner import open_runner
from support.invariant import violations

_SEEDS = int(os.environ.get("TICKWORK_SEEDS", "100"))
_BATCH = 50  # histories on one database
_SHOWN = 40  # events before the end of a history that failed


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "batch" in metafunc.fixturenames:
        only = metafunc.config.getoption("--seed", default=None)
        batches = [range(first, min(first + _BATCH, _SEEDS)) for first in range(0, _SEEDS, _BATCH)]
        chosen = batches if only is None else [range(only, only + 1)]
        metafunc.parametrize("batch", chosen, ids=[f"{each.start}-{each.stop - 1}" for each in chosen])


@pytest.mark.timeout(600)
async def test_no_history_breaks_a_promise(batch: range, database_url: str) -> None:
    async with open_runner(database_url) as runner:
        for seed in batch:
            history = await runner.play(seed)
            broken = [*map(str, violations(history.observed)), *history.crashes]
            if broken:
                pytest.fail(_report(history, broken), pytrace=False)


async def test_a_seed_has_one_history(database_url: str) -> None:
    async with open_runner(database_url) as runner:
        for seed in (3, 4, 5):
            first = (await runner.play(seed)).text()
            await runner.play(seed + 1000)
            assert (await runner.play(seed)).text() == first


async def test_histories_are_full_of_faults(database_url: str) -> None:
    async with open_runner(database_url) as runner:
        histories = [await runner.play(seed) for seed in range(20)]
    assert min(history.faults for history in histories) >= 5
    outcomes = {row.outcome for history in histories for row in history.observed.attempts.values()}
    assert outcomes >= {"failed", "lost", "snoozed", "returned"}
    statuses = {each.after.status for history in histories for each in history.observed.transitions}
    assert statuses == {"pending", "running", "completed", "failed", "cancelled", "skipped"}


def _report(history: Simulated, broken: list[str]) -> str:
    return "\n".join(
        [
            f"seed {history.seed} breaks promises; play it again with",
            f"    pytest tests/simulation --seed {history.seed}",
            *broken,
            "how it came to that:",
            *[f"    {line}" for line in _until_the_end_of_faults(history.journal)],
        ]
    )


def _until_the_end_of_faults(journal: list[str]) -> list[str]:
    end = next((number for number, line in enumerate(journal) if line.endswith("all is well")), len(journal))
    return journal[max(end - _SHOWN, 0) : end]
