"""Real processes, really killed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster import Cluster

LONG = os.environ.get("TICKWORK_CHAOS") == "long"
_PATIENCE = 7200  # seconds, with the long form of a test


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.chaos)
            if LONG:
                item.add_marker(pytest.mark.timeout(_PATIENCE))


@pytest.fixture
def long() -> bool:
    """The full form of a test, instead of the one that everybody has the time for."""
    return LONG


@pytest.fixture
def processes(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(database_url, tmp_path)
    yield cluster
    cluster.clean_up()
