"""`pytest tests/simulation --seed 1234` plays one history again; TICKWORK_SEEDS says how many there are."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, help="the only history to simulate")
