"""What systemd is told, on a socket like its own."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tickwork.cli.systemd_notify import SystemdNotifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(tmp_path / "notify"))
        end.setblocking(False)
        yield end


def heard(systemd: socket.socket) -> list[str]:
    lines: list[str] = []
    while True:
        try:
            lines += systemd.recv(4096).decode().splitlines()
        except BlockingIOError:
            return lines


async def test_tells_that_it_is_ready_and_then_that_it_is_alive(systemd, tmp_path):
    env = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "20000"}
    notifier = SystemdNotifier(env)
    assert notifier.watchdog_interval == 0.01
    notifier.starting("opening the database")
    told: list[str] = []
    async with notifier.ready("answers", lambda: True):
        while told.count("WATCHDOG=1") < 3:
            told += heard(systemd)
            await asyncio.sleep(0)
    notifier.stopping()
    told += heard(systemd)
    assert told[:3] == ["STATUS=opening the database", "READY=1", "STATUS=answers"]
    assert told[-2:] == ["STOPPING=1", "STATUS=stopping"]


async def test_tells_nothing_while_a_loop_hangs(systemd, tmp_path):
    env = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "2000"}
    asked = 0

    def is_well() -> bool:
        nonlocal asked
        asked += 1
        return False

    async with SystemdNotifier(env).ready("answers", is_well):
        while asked < 3:  # noqa: ASYNC110 (there is no event)
            await asyncio.sleep(0)
    assert "WATCHDOG=1" not in heard(systemd)


@pytest.mark.parametrize(
    ("env", "interval"),
    [
        ({}, 0),
        ({"WATCHDOG_USEC": "90000000"}, 45),
        ({"WATCHDOG_USEC": "90000000", "WATCHDOG_PID": "7"}, 45),
        ({"WATCHDOG_USEC": "90000000", "WATCHDOG_PID": "8"}, 0),
        ({"WATCHDOG_USEC": "nonsense"}, 0),
    ],
)
def test_the_watchdog_is_for_the_process_that_systemd_means(env, interval):
    assert SystemdNotifier(env, pid=7).watchdog_interval == interval


def test_without_systemd_and_without_a_listener_nothing_happens(tmp_path):
    SystemdNotifier({}).tell("READY=1")
    SystemdNotifier({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).tell("READY=1")


def test_an_abstract_socket_is_found_by_its_name():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind("\0tickwork-test-notify")
        SystemdNotifier({"NOTIFY_SOCKET": "@tickwork-test-notify"}).tell("READY=1")
        assert end.recv(100) == b"READY=1"
