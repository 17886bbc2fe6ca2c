"""What the demo cannot show by itself: a worker and a node that fall silent, a cluster that is paused; and when its
circuit breaker is open."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep

import httpx2

from support.dashboard_server import DashboardServer
from tickwork import Client
from tickwork.store.embedded.server import EmbeddedPostgres

_PATIENCE = 240.0  # seconds


def wait_for_the_open_breaker(server: DashboardServer) -> None:
    """The labels of the demo's parcels are due a minute and a half after the week that it tells of."""
    with Client(server.url, server.key) as client:
        _wait(lambda: any(breaker.state == "open" for breaker in client.list_breakers().items))


@contextmanager
def a_worker_is_silent(server: DashboardServer) -> Iterator[None]:
    """One that registered and sends no heartbeats. It counts as silent for six seconds, until its lease ends."""
    body = {"name": "night-shift", "tasks": ["orders.pack"], "slots": 8}
    headers = {"authorization": f"Bearer {server.key}"}
    httpx2.post(f"{server.url}/v1/workers", json=body, headers=headers).raise_for_status()
    with Client(server.url, server.key) as client:
        _wait(lambda: client.get_overview().silent)
    yield


@contextmanager
def the_cluster_is_paused(server: DashboardServer) -> Iterator[None]:
    with Client(server.url, server.key) as client:
        client.pause_cluster(reason="the warehouse moves its database")
        yield
        client.resume_cluster()


@contextmanager
def a_node_is_silent(server: DashboardServer) -> Iterator[None]:
    """A second server on the same database, which is killed."""
    url = EmbeddedPostgres(server.folder / "data").url
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TICKWORK_")}
    command = [sys.executable, "-m", "tickwork.cli", "server", "--database-url", url, "--port", "0"]
    with (server.folder / "second.log").open("w") as log, Client(server.url, server.key) as client:
        second = subprocess.Popen(command, cwd=server.folder, env=clean, stdout=log, stderr=log)
        try:
            _wait(lambda: len(client.get_cluster().nodes) > 1)
        finally:
            second.send_signal(signal.SIGKILL)
            second.wait()
        _wait(lambda: any(node.status == "silent" for node in client.get_cluster().nodes))
        yield


def _wait(holds: Callable[[], object]) -> None:
    """Looks every second."""
    deadline = monotonic() + _PATIENCE
    while not holds():
        if monotonic() > deadline:
            raise TimeoutError
        sleep(1)
