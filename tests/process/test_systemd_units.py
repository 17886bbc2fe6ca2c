"""The commands of the units in deploy/systemd, run as systemd runs them: with a notify socket and a watchdog."""

import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.cluster import KEY, Cluster, Program, task_environment
from support.docs_page import ROOT
from support.waiting import eventually

UNITS = ROOT / "deploy" / "systemd"


class NotifySocket:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "notify"
        self._end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._end.bind(str(self.path))
        self._end.setblocking(False)
        self._heard: list[str] = []

    def heard(self) -> list[str]:
        while True:
            try:
                self._heard += self._end.recv(4096).decode().splitlines()
            except BlockingIOError:
                return self._heard

    def close(self) -> None:
        self._end.close()


@pytest.fixture
async def notified(tmp_path: Path) -> AsyncIterator[NotifySocket]:
    end = NotifySocket(tmp_path)
    yield end
    end.close()


def words_of(unit: str, **variables: str) -> list[str]:
    """What ExecStart runs after the program."""
    (command,) = re.findall(r"^ExecStart=(.*)$", (UNITS / unit).read_text(), re.MULTILINE)
    for name, value in variables.items():
        command = command.replace(name, value)
    program, *words = command.split()
    assert program == "/opt/tickwork/bin/tickwork"
    return words


async def test_a_server_is_ready_alive_and_stopping(
    database_url: str, tmp_path: Path, notified: NotifySocket
) -> None:
    settings = {
        "TICKWORK_DATABASE_URL": database_url,
        "TICKWORK_ADMIN_KEY": KEY,
        "TICKWORK_DATA_DIR": str(tmp_path / "state"),
        "TICKWORK_PORT": "0",
    }
    server = Program(
        "server",
        words_of("tickwork.service"),
        says="Tickwork answers on ",
        env={**settings, "NOTIFY_SOCKET": str(notified.path), "WATCHDOG_USEC": "200000"},
        folder=tmp_path,
    )
    try:
        await server.start()
        await eventually(lambda: notified.heard().count("WATCHDOG=1") > 2, within=20, what="signs of life")
        assert notified.heard()[0] == "STATUS=opening the database"
        assert f"MAINPID={server.pid}" in notified.heard()
        ready = notified.heard().index("READY=1")
        assert "WATCHDOG=1" not in notified.heard()[:ready]
        assert await server.stop() == 0
        assert "STOPPING=1" in notified.heard()
        assert '"event": "server started"' in server.log
        for told in ('"zone_data"', '"postgres"', '"off"', '"schema"', '"pooled": false'):
            assert told in server.log
        assert KEY not in server.log
    finally:
        server.clean_up()


async def test_a_worker_is_ready_once_a_server_has_accepted_it(
    database_url: str, tmp_path: Path, notified: NotifySocket
) -> None:
    cluster = Cluster(database_url, tmp_path)
    await cluster.add_server()
    variables = {"${TICKWORK_APP}": "support.ledger_tasks:app", "%H": "host", "%i": "mail"}
    worker = Program(
        "worker",
        words_of("tickwork-worker@.service", **variables),
        says='"event": "connected"',
        env={
            "TICKWORK_URL": cluster.urls[0],
            "TICKWORK_API_KEY": KEY,
            "NOTIFY_SOCKET": str(notified.path),
            **task_environment(cluster.ledger),
        },
        folder=tmp_path,
    )
    cluster.workers.append(worker)
    try:
        await worker.start()
        await eventually(lambda: "READY=1" in notified.heard(), within=10, what="READY=1")
        assert await worker.stop() == 0
        assert "STOPPING=1" in notified.heard()
    finally:
        cluster.clean_up()
