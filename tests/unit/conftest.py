from collections.abc import Iterator

import pytest

from support.recorded_server import RecordedServer


@pytest.fixture
def server() -> Iterator[RecordedServer]:
    with RecordedServer() as running:
        yield running
