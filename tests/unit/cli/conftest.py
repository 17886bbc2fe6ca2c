import logging
from collections.abc import Callable, Iterator

import pytest
import structlog
from click.testing import CliRunner, Result

from support.recorded_server import RecordedServer
from tickwork.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch) -> Iterator[Callable[..., Result]]:
    """The command line in an empty folder, with no settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in ("URL", "API_KEY", "DATABASE_URL", "DATA_DIR", "PORT", "HOST"):
        monkeypatch.delenv(f"TICKWORK_{name}", raising=False)

    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # whatever a command sets up ends with the test

    def invoke(*args: str, stdin: str | None = None, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(main, args, input=stdin, env=env)

    yield invoke
    structlog.reset_defaults()


@pytest.fixture
def ask(run, server: RecordedServer) -> Callable[..., Result]:
    """The command line, pointed at the recorded server."""
    env = {"TICKWORK_URL": server.url, "TICKWORK_API_KEY": "secret"}
    return lambda *args, stdin=None: run(*args, stdin=stdin, env=env)
