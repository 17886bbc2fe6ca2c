"""The README's first five minutes and the tutorial, typed as they are written."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import psutil
import pytest

from support.page import ROOT, Step, looks_like, section, steps
from tickwork.store.embedded import EmbeddedPostgres

LIMIT = 120  # seconds for each terminal
END_OF_STEP = "----- end of step -----"
FIVE_MINUTES = section((ROOT / "README.md").read_text(), "The first five minutes")
TUTORIAL = (ROOT / "docs/tutorial/first-steps.md").read_text()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh clone whose dependencies are installed; a port of its own, as 8080 may be taken."""
    for name in [name for name in os.environ if name.startswith("TICKWORK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TICKWORK_PORT", str(_free_port()))
    for name in ("Makefile", "pyproject.toml", "requirements"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.prefix) / "bin")
    (tmp_path / ".venv" / "base").touch()
    yield tmp_path
    EmbeddedPostgres(tmp_path / ".tickwork").stop()


@pytest.mark.skipif(not shutil.which("make"), reason="this machine has no make")
@pytest.mark.parametrize("page", [FIVE_MINUTES, TUTORIAL], ids=["README", "tutorial"])
def test_everything_that_is_typed_shows_what_the_page_shows(clone: Path, page: str) -> None:
    todo = steps(page)
    (up,) = [number for number, step in enumerate(todo) if step.typed.startswith("make up")]
    type_in(clone, todo[:up])
    with first_terminal(clone, todo[up]):
        type_in(clone, todo[up + 1 :])


def type_in(folder: Path, todo: list[Step]) -> None:
    """All steps in one shell, one after the other, as in a terminal."""
    script = "".join(f"{step.typed}\necho '{END_OF_STEP}'\n" for step in todo)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    outputs = done.stdout.split(f"{END_OF_STEP}\n")[:-1]
    for step, output in zip(todo, outputs, strict=True):
        shown = step.shown or ""
        assert looks_like(output, shown), f"{step.typed}\nshows\n{output}\ninstead of\n{shown}"


@contextmanager
def first_terminal(folder: Path, step: Step) -> Iterator[None]:
    """Runs `make up` until it says that it is up, and Ctrl-C at the end leaves nothing of it."""
    up = subprocess.Popen(
        ["bash", "-c", f"exec {step.typed}"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    watchdog = Timer(2 * LIMIT, os.killpg, (up.pid, signal.SIGKILL))
    watchdog.start()
    try:
        assert looks_like(_said_when_up(up, step), step.shown or "")
        yield
        family = _family(up, folder)
        os.killpg(up.pid, signal.SIGINT)
        alive = psutil.wait_procs(family, timeout=30)[1]
        if alive:
            os.set_blocking(up.stderr.fileno(), False)
            print("STDERR", up.stderr.read())
            print((folder / ".tickwork/postgres/server.log").read_text()[-2000:])
            print(up.poll(), [ (p, p.status()) for p in family if p.is_running()])
        assert not alive
    finally:
        watchdog.cancel()
        if up.poll() is None:
            os.killpg(up.pid, signal.SIGKILL)
        up.wait()
        up.stderr.close()


def _said_when_up(up: subprocess.Popen[str], step: Step) -> str:
    """Without the log lines before it."""
    first, *_, last = (step.shown or "").splitlines()
    lines: list[str] = []
    for line in up.stderr:
        lines.append(line)
        if line.startswith(last[:9]):
            return "".join(lines[[line.strip() for line in lines].index(first) :])
    pytest.fail(f"`{step.typed}` ended: {''.join(lines)}")


def _family(up: subprocess.Popen[str], folder: Path) -> list[psutil.Process]:
    postgres = int((folder / ".tickwork" / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    return [psutil.Process(postgres), *psutil.Process(up.pid).children(recursive=True)]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
