"""The README's first five minutes and the tutorial, typed as they are written."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from support.docs_page import ROOT, Step, looks_like, section, steps
from tickwork.store.embedded.server import EmbeddedPostgres

END_OF_STEP = "----- end of step -----"
FIVE_MINUTES = section((ROOT / "README.md").read_text(), "The first five minutes")
TUTORIAL = (ROOT / "docs/tutorial/first-steps.md").read_text()

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(not shutil.which("make"), reason="this machine has no make"),
]


@pytest.fixture
def clone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As a fresh clone is once `make` has installed everything. The port is its own: 8080 may be taken. Not in
    pytest's folder, which other runs of pytest clean up."""
    for name in [name for name in os.environ if name.startswith("TICKWORK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TICKWORK_PORT", str(_free_port()))
    with tempfile.TemporaryDirectory(prefix="tickwork-readme-") as name:
        folder = Path(name)
        _lay_out(folder)
        yield folder
        EmbeddedPostgres(folder / ".tickwork").stop()


def _lay_out(folder: Path) -> None:
    (folder / "Makefile").symlink_to(ROOT / "Makefile")
    (folder / "requirements").mkdir()
    for name in ("pyproject.toml", "requirements/base.txt", "requirements/build.txt"):
        (folder / name).touch()
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.prefix) / "bin")
    (folder / ".venv" / "base").touch()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_all_that_is_typed_shows_what_the_page_shows(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One page after the other on the same data; the second on another port, given as the README says."""
    follow(clone, steps(FIVE_MINUTES))
    monkeypatch.delenv("TICKWORK_PORT")
    follow(clone, [on_port(_free_port(), step) for step in steps(TUTORIAL)])


def follow(clone: Path, todo: list[Step]) -> None:
    (up,) = (number for number, step in enumerate(todo) if step.typed.startswith("make up"))
    type_in(clone, todo[:up])
    with first_terminal(clone, todo[up]):
        type_in(clone, todo[up + 1 :])


def on_port(port: int, step: Step) -> Step:
    make_up = re.sub(r"^make up ARGS=(\S+)", rf'make up ARGS="\1 --port {port}"', step.typed)
    return Step(make_up, step.shown)


def test_the_tutorial_needs_nothing_of_the_readme(clone: Path) -> None:
    follow(clone, steps(TUTORIAL))


def type_in(folder: Path, todo: list[Step]) -> None:
    """All steps in one shell, as in one terminal."""
    script = "".join(f"{step.typed}\necho '{END_OF_STEP}'\n" for step in todo)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    *outputs, _ = done.stdout.split(f"{END_OF_STEP}\n")
    for step, output in zip(todo, outputs, strict=True):
        assert looks_like(output, step.shown), f"{step.typed}shows\n{output}instead of\n{step.shown}"


@contextmanager
def first_terminal(folder: Path, step: Step) -> Iterator[None]:
    """Where Tickwork runs. Ctrl-C ends it, and leaves no process of it."""
    up = subprocess.Popen(
        ["bash", "-c", f"exec {step.typed}"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert looks_like(_said_when_up(up, step.shown), step.shown)
        yield
        family = _family(up, folder)
        os.killpg(up.pid, signal.SIGINT)
        assert psutil.wait_procs(family, timeout=60)[1] == []
    finally:
        if up.poll() is None:
            os.killpg(up.pid, signal.SIGKILL)
        up.wait()
        up.stderr.close()


def _said_when_up(up: subprocess.Popen[str], shown: str) -> str:
    """From the first line that the page shows to the last, without the log, whose lines come whenever they do."""
    first, *_, last = shown.splitlines(keepends=True)
    said: list[str] = []
    for line in up.stderr:
        if not line.startswith("{"):
            said.append(line)
        if line == last:
            return "".join(said[said.index(first) :])
    pytest.fail(f"it ended before it was up: {''.join(said)}")


def _family(up: subprocess.Popen[str], folder: Path) -> list[psutil.Process]:
    postgres = int((folder / ".tickwork" / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    return [psutil.Process(postgres), *psutil.Process(up.pid).children(recursive=True)]
