"""The parent of one process, alone: without a worker, or with one that is deaf."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.command_bench import is_gone
from tickwork.execute.runners.contained import supervisor_main

SOON = 30.0


class Supervised:
    def __init__(self, *command: str, **settings: Any) -> None:
        self.worker, theirs = socket.socketpair()
        self.worker.settimeout(SOON)
        given = {
            "control": theirs.fileno(),
            "name": command[0],
            "memory": None,
            "cpu_time": None,
            "files": None,
            "processes": None,
            "time": 60.0,
            "grace": 0.2,
            "cgroup": None,
            **settings,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor_main.__file__, json.dumps(given), *command],
            pass_fds=(theirs.fileno(),),
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        theirs.close()

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.worker.makefile().readline())
        return found

    def close(self) -> None:
        self.worker.close()
        self.process.kill()
        self.process.wait(SOON)
        assert self.process.stdout
        self.process.stdout.close()


@pytest.fixture
def supervised() -> Iterator[Any]:
    started: list[Supervised] = []

    def start(*command: str, **settings: Any) -> Supervised:
        started.append(Supervised(*command, **settings))
        return started[-1]

    yield start
    for each in started:
        each.close()


def test_reports_how_the_process_ended(supervised: Any) -> None:
    assert supervised("/bin/sh", "-c", "exit 7").report()["status"] == 7
    assert supervised("/bin/sh", "-c", "kill -9 $$").report()["status"] == -signal.SIGKILL
    assert supervised("/no/such/program").report() == {"error": 2}


def test_ends_all_when_the_worker_is_gone(supervised: Any) -> None:
    deaf = supervised("/bin/sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done")
    pid = int(deaf.line())
    deaf.worker.close()
    assert deaf.process.wait(SOON) == 0
    assert is_gone(pid)


def test_ends_it_at_its_time_if_the_worker_does_not(supervised: Any) -> None:
    hung = supervised("/bin/sh", "-c", "echo $$; while :; do sleep 1; done", time=0.3)
    pid = int(hung.line())
    assert hung.report()["reason"] == "time"
    assert is_gone(pid)


def test_signals_to_itself_do_not_stop_it_and_are_not_inherited_as_ignored(supervised: Any) -> None:
    """A service manager may send SIGTERM to every process of a service: the worker decides what ends."""
    running = supervised("/bin/sh", "-c", "echo $$; while :; do sleep 0.1; done")
    pid = int(running.line())
    running.process.send_signal(signal.SIGTERM)
    os.kill(pid, 0)
    os.kill(pid, signal.SIGTERM)
    assert running.report()["status"] == -signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="finds descendants in /proc")
def test_finds_what_was_forked_again_and_again(supervised: Any, tmp_path: Path) -> None:
    """Each process starts two in sessions of their own, three times, and ends."""
    forks = tmp_path / "forks.sh"
    forks.write_text(
        f'echo $$ >>{tmp_path}/pids\n[ "$1" = 0 ] && exec sleep 600\n'
        f"setsid sh {forks} $(($1 - 1)) & setsid sh {forks} $(($1 - 1)) &\n"
        f'while [ "$1" = 3 ] && [ "$(wc -l <{tmp_path}/pids)" -lt 15 ]; do sleep 0.05; done\n'
    )
    bomb = supervised("/bin/sh", str(forks), "3")
    report = bomb.report()
    assert (report["status"], report["left"] >= 8) == (0, True)
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 15
    assert all(map(is_gone, pids))
