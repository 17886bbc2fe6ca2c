import pytest

from support.worker_time import WorkerTime


@pytest.fixture
def time() -> WorkerTime:
    return WorkerTime()
