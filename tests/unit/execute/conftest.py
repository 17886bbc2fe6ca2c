import pytest

from support.worker_clock import WorkerClock


@pytest.fixture
def time() -> WorkerClock:
    return WorkerClock()
