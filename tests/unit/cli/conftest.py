from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from support.recorded_server import RecordedServer
from tickwork.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch) -> Callable[..., Result]:
    """The command line in an empty folder, with no settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in ("URL", "API_KEY", "DATABASE_URL", "DATA_DIR", "PORT", "HOST"):
        monkeypatch.delenv(f"TICKWORK_{name}", raising=False)

    def invoke(*args: str, stdin: str | None = None, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(main, args, input=stdin, env=env)

    return invoke


@pytest.fixture
def ask(run, server: RecordedServer) -> Callable[..., Result]:
    """The command line, pointed at the recorded server."""
    env = {"TICKWORK_URL": server.url, "TICKWORK_API_KEY": "secret"}
    return lambda *args, stdin=None: run(*args, stdin=stdin, env=env)
