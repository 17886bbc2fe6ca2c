"""Fixtures for pytest, which loads them wherever Tickwork is installed. Fixtures that are not used import nothing."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tickwork.sdk.app import App
    from tickwork.testing.manual_server import AsyncManualServer, ManualServer
    from tickwork.testing.temporary_postgres import TemporaryPostgres

_APP_MISSING = """no App is given to the fixtures of Tickwork. Name it in the configuration of pytest:

    [tool.pytest.ini_options]
    tickwork_app = "myproject.tasks:app"

or give it in conftest.py:

    @pytest.fixture
    def tickwork_app():
        return app
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("tickwork_app", "the App whose tasks the tests run, as MODULE:NAME", default="")


@pytest.fixture(scope="session")
def tickwork_postgres() -> "Iterator[TemporaryPostgres]":
    """An embedded PostgreSQL for the whole run."""
    from tickwork.testing.loop_thread import LoopThread  # noqa: PLC0415 (only when it is used)
    from tickwork.testing.temporary_postgres import TemporaryPostgres  # noqa: PLC0415 (likewise)

    postgres = TemporaryPostgres()
    thread = LoopThread()
    thread.submit(postgres.start()).result()
    thread.close()
    yield postgres
    postgres.stop()


@pytest.fixture
def tickwork_database_url(tickwork_postgres: "TemporaryPostgres") -> Iterator[str]:
    """A new database for this test, with Tickwork's tables in it."""
    from tickwork.testing.loop_thread import LoopThread  # noqa: PLC0415 (only when it is used)

    thread = LoopThread()
    url = thread.submit(tickwork_postgres.create_database()).result()
    yield url
    thread.submit(tickwork_postgres.drop_database(url)).result()
    thread.close()


@pytest.fixture
def tickwork_app(pytestconfig: pytest.Config) -> "App":
    """The App whose tasks the tests run. Override it, or name the App in the configuration of pytest."""
    from tickwork.execute.load_app import load_app  # noqa: PLC0415 (only when it is used)
    from tickwork.sdk.app import App  # noqa: PLC0415 (likewise)

    path = str(pytestconfig.getini("tickwork_app"))
    if not path:
        pytest.fail(_APP_MISSING, pytrace=False)
    app = load_app(path)
    if not isinstance(app, App):
        pytest.fail(f"tickwork_app: {path} is not an App", pytrace=False)
    return app


@pytest.fixture
def tickwork_start_at() -> datetime | None:
    """The time at which each test begins; None means now. Override it to choose another."""
    return None


@pytest.fixture
def tickwork(
    tickwork_database_url: str, tickwork_app: "App", tickwork_start_at: datetime | None
) -> "Iterator[ManualServer]":
    """A server with a database of its own, which does nothing until the test calls it."""
    from tickwork.testing.manual_server import ManualServer  # noqa: PLC0415 (only when it is used)

    with ManualServer(tickwork_database_url, tickwork_app, start_at=tickwork_start_at) as server:
        yield server


@pytest.fixture
def async_tickwork(
    tickwork_database_url: str, tickwork_app: "App", tickwork_start_at: datetime | None
) -> "Iterator[AsyncManualServer]":
    """As `tickwork`, for async tests."""
    from tickwork.testing.manual_server import AsyncManualServer  # noqa: PLC0415 (only when it is used)

    server = AsyncManualServer(tickwork_database_url, tickwork_app, start_at=tickwork_start_at)
    server.start()
    yield server
    server.stop()
