"""`tickwork up` as a process: what it starts, and that nothing of it stays."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psutil
import pytest

from support.ready_cluster import copy_ready_cluster
from tickwork.client.find_server import find_server
from tickwork.client.sync_client import Client
from tickwork.store.embedded.server import EmbeddedPostgres

TASKS = """
import threading
from pathlib import Path
from tickwork import App

app = App()

@app.task
def hello(name: str) -> str:
    return f"hello {name}"

@app.task
def patient() -> str:
    Path("begun").touch()
    threading.Event().wait(1)
    return "done all the same"

@app.task
def broken() -> None:
    raise LookupError("nothing there")
"""

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("TICKWORK_URL", "TICKWORK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "tasks.py").write_text(TASKS)
    return tmp_path


@pytest.fixture
def used_before(folder: Path) -> None:
    """Its data folder has a database."""
    copy_ready_cluster(folder / ".tickwork")


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def start_up(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tickwork.cli", "up", *words, "--port", "0"]
        up = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        started.append(up)
        return up

    yield start_up
    for up in started:
        up.kill()
        up.wait()
        up.stderr.close()
    for cluster in folder.glob("*/postgres"):
        EmbeddedPostgres(cluster.parent).stop()


def lines_until(up: subprocess.Popen[str], text: str) -> list[str]:
    lines = []
    for line in up.stderr:
        lines.append(line)
        if text in line:
            return lines
    pytest.fail(f"{text!r} was never said, but: {''.join(lines)}")


def family(up: subprocess.Popen[str], folder: Path) -> list[psutil.Process]:
    postgres = int((folder / ".tickwork" / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    return [psutil.Process(postgres), *psutil.Process(up.pid).children(recursive=True)]


def test_a_first_job_runs_and_ctrl_c_leaves_nothing_behind(start, folder):
    up = start("tasks:app")
    lines_until(up, "worker  tasks:app")
    with Client() as client:
        job = client.create_job(task="tasks.hello", payload={"name": "you"})
        assert client.wait_for_job(job.id, timeout=30).result == "hello you"
    processes = family(up, folder)
    assert len(processes) >= 2
    os.killpg(up.pid, signal.SIGINT)  # as a terminal does
    assert up.wait(30) == 0
    assert psutil.wait_procs(processes, timeout=10)[1] == []
    assert not (folder / ".tickwork" / "server.json").exists()


@pytest.mark.usefixtures("used_before")
def test_a_failure_shows_its_traceback_in_the_terminal(start, monkeypatch):
    monkeypatch.setenv("TICKWORK_LOG_FORMAT", "console")
    up = start("tasks:app")
    lines_until(up, "worker  tasks:app")
    with Client() as client:
        client.create_job(task="tasks.broken", retry={"max_attempts": 1})
    told = "".join(lines_until(up, "attempt failed; dead letter"))
    assert "attempt failed" in told
    assert '    raise LookupError("nothing there")\nLookupError: nothing there\n' in told


@pytest.mark.usefixtures("used_before")
def test_what_runs_is_finished_before_it_stops(start, folder):
    up = start("tasks:app")
    lines_until(up, "worker  tasks:app")
    with Client() as client:
        job = client.create_job(task="tasks.patient")
        while not (folder / "begun").exists():
            client.get_job(job.id)
    up.send_signal(signal.SIGTERM)
    assert up.wait(30) == 0
    up = start("tasks:app")
    lines_until(up, "worker  tasks:app")
    with Client() as client:
        assert client.wait_for_job(job.id, timeout=30).result == "done all the same"


@pytest.mark.usefixtures("used_before")
def test_the_worker_does_not_outlive_a_killed_parent(start, folder):
    up = start("tasks:app")
    lines_until(up, "worker  tasks:app")
    workers = psutil.Process(up.pid).children(recursive=True)
    up.kill()
    assert psutil.wait_procs(workers, timeout=20)[1] == []


@pytest.mark.usefixtures("used_before")
def test_tasks_that_cannot_be_loaded_end_it_with_the_reason(start, folder):
    up = start("tasks:nope")
    lines = lines_until(up, "the worker ended by itself")
    assert "did you mean tasks:app?" in "".join(lines)
    assert up.wait(30) == 1


@pytest.mark.usefixtures("used_before")
def test_a_data_folder_is_used_by_one_at_a_time(start, folder):
    lines_until(start(), "Tickwork is up")
    second = start()
    lines_until(second, "is in use by another Tickwork")
    assert second.wait(30) == 1
    assert find_server(env={}).url


def test_commands_that_it_prints_work_elsewhere(start, folder):
    """Also for a data folder of one's own, in a shell that knows nothing of it."""
    up = start("--data-dir", "my data")
    lines = lines_until(up, "shell   export")
    prefix = re.search(r"start one with `(.*) tickwork worker MODULE:APP`", "".join(lines))[1]
    export = lines[-1].partition("shell")[2]
    (folder / "elsewhere").mkdir()
    for words in (prefix, export.partition("#")[0] + ";"):
        command = f"{words} {shlex.quote(sys.executable)} -m tickwork.cli job list -o jsonl"
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder / "elsewhere", capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
    up.send_signal(signal.SIGTERM)
    assert up.wait(30) == 0


@pytest.mark.usefixtures("used_before")
def test_it_prints_a_link_that_signs_a_browser_in_once(start, folder):
    lines = "".join(lines_until(start(), "  data "))
    url, token = re.search(r"open    (\S+)/sign-in#(\S+)", lines).groups()
    with httpx2.Client(base_url=url, trust_env=False) as browser:
        assert browser.post("/v1/session", json={"link": token}).json()["scopes"] == ["admin"]
        assert browser.get("/v1/me").json()["key"] == "k1"
        assert browser.post("/v1/session", json={"link": token}).status_code == 401
