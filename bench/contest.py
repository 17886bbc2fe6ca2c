"""One peer: so many jobs enqueued while no worker runs, then drained by one worker process, and counted."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from store import postgres, redis
from tickwork.bench.ledger import LEDGER_FOLDER, Ledgers

BENCH = Path(__file__).parent
PYTHON = BENCH.parent / "build" / "bench-venv" / "bin" / "python"
_LOOK = 0.01
_SETTLE = 1.0  # seconds after the last, in which a doubled one would show
_WITHIN = 900.0


def measure(name: str, jobs: int, fsync: str = "always") -> dict[str, Any]:
    about = json.loads(_call(name, "about", env={}))
    with (
        tempfile.TemporaryDirectory(prefix="tickwork-bench-") as folder,
        _store(about, Path(folder), fsync) as store,
    ):
        ledgers = Path(folder, "ledgers")
        ledgers.mkdir()
        env = {**store, LEDGER_FOLDER: str(ledgers)}
        _call(name, "prepare", env=env)
        enqueued = json.loads(_call(name, "enqueue", str(jobs), env=env))["seconds"]
        drained = _drain(name, jobs, Ledgers(ledgers), env)
        counts = Ledgers(ledgers).counts(jobs)
    return {
        **about,
        "jobs": jobs,
        "durability": f"fsync {fsync}" if about["store"] == "redis" else "fsync on every commit",
        "enqueued_per_second": round(jobs / enqueued),
        "drained_per_second": round(jobs / drained),
        "lost": sum(found == 0 for found in counts),
        "doubled": sum(found - 1 for found in counts if found > 1),
    }


def _store(about: Mapping[str, str], folder: Path, fsync: str) -> AbstractContextManager[dict[str, str]]:
    return postgres(folder) if about["store"] == "postgres" else redis(folder, fsync)


def _call(*words: str, env: Mapping[str, str]) -> str:
    done = subprocess.run(
        [PYTHON, "-m", "peers", *words], cwd=BENCH, env={**os.environ, **env}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def _drain(name: str, jobs: int, ledgers: Ledgers, env: Mapping[str, str]) -> float:
    """Seconds from the first to the last."""
    with tempfile.TemporaryFile() as messages:
        worker = subprocess.Popen(
            [PYTHON, "-m", "peers", name, "work"], cwd=BENCH, env={**os.environ, **env}, start_new_session=True,
            stdout=messages, stderr=messages,
        )  # fmt: skip
        try:
            return _time(jobs, ledgers, worker)
        except RuntimeError:
            messages.seek(0)
            raise RuntimeError(
                f"{name} drained {ledgers.total()}:\n{messages.read()[-2000:].decode()}"
            ) from None
        finally:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def _time(jobs: int, ledgers: Ledgers, worker: subprocess.Popen[bytes]) -> float:
    begun, ends = None, time.monotonic() + _WITHIN
    while (ran := ledgers.total()) < jobs:
        if ran and begun is None:
            begun = time.monotonic()
        if worker.poll() is not None or time.monotonic() > ends:
            raise RuntimeError
        time.sleep(_LOOK)
    ended = time.monotonic()
    time.sleep(_SETTLE)
    return max(ended - (begun or ended), _LOOK)
