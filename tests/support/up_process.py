"""`tickwork up` as a process, in a folder of its own, with a worker."""

import signal
import subprocess
import sys
from pathlib import Path

from tickwork.client.find_server import find_server
from tickwork.client.sync_client import Client
from tickwork.store.embedded.server import EmbeddedPostgres

_TASKS = """
from time import sleep
from tickwork import App

app = App()

@app.task
def hello(name: str) -> str:
    return f"hello {name}"

@app.task
def slow(seconds: float) -> str:
    sleep(seconds)
    return "at last"
"""


class Up:
    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        (folder.parent / "tasks.py").write_text(_TASKS)
        words = ["up", "tasks:app", "--port", "0", "--data-dir", str(folder), *options]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tickwork.cli", *words],
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder.parent,
        )
        assert any("worker  tasks:app" in line for line in self._process.stderr)

    def client(self) -> Client:
        return Client(*find_server(data_dir=self.folder, env={}))

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        for _ in self._process.stderr:
            pass
        self._process.stderr.close()
        assert self._process.wait(30) == 0

    def kill(self) -> None:
        """As a power cut would, with its database."""
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()
        EmbeddedPostgres(self.folder).stop()
