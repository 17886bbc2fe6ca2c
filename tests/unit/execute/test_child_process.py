"""A child process whose worker has died."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tickwork.execute.runners.child_protocol import LENGTH_BYTES, Begin
from tickwork.model.checkpoint import NOTHING_STORED
from tickwork.model.worker_protocol import Run

_TASKS = """
from threading import Event

from tickwork import App

app = App()


@app.task(name="endless", process=True)
def endless() -> None:
    Event().wait()
"""


@pytest.mark.parametrize("sent", [0, 1], ids=["idle", "with a run"])
def test_a_child_exits_when_its_worker_has_died(tmp_path: Path, sent: int) -> None:
    (tmp_path / "orphan_tasks.py").write_text(_TASKS)
    run = msgspec.msgpack.encode(Begin(Run(1, 1, 1, 1, "endless", b"{}", 60.0, 0), NOTHING_STORED))
    child = [
        sys.executable,
        "-m",
        "tickwork.execute.runners.child_main",
        "orphan_tasks:app",
        "text",
        "info",
    ]
    ended = subprocess.run(
        child,
        input=(len(run).to_bytes(LENGTH_BYTES) + run) * sent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == sent
