"""Processor time of PostgreSQL counts all its processes, also those that came and went in between."""

import subprocess
import sys
from pathlib import Path

import pytest

from tickwork.bench.resource_meter import POSTGRES, Meter

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell")
_PARENT = """
import subprocess, sys
busy = "import time\\nwhile time.process_time() < 0.3: pass"
for line in sys.stdin:
    subprocess.run([sys.executable, "-c", busy], check=True)
    print("done", flush=True)
"""


def test_children_that_have_ended_are_counted(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        postmaster = tmp_path / "postmaster.pid"
        postmaster.write_text(f"{parent.pid}\n/some/where\n")
        meter = Meter(postmaster)
        before = meter.seconds()[POSTGRES]
        parent.stdin.write("\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "done\n"
        assert meter.seconds()[POSTGRES] - before > 0.2  # counted in ticks, a hundredth of a second each
        parent.stdin.close()


def test_without_a_postmaster_there_is_nothing_to_count(tmp_path):
    assert Meter(tmp_path / "none").seconds() == {POSTGRES: 0.0}
