"""Measures one run of a peer: jobs are enqueued while no worker runs, then its workers drain them."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from peer_store import Store, postgres, redis

from tickwork.bench.run_ledger import LEDGER_FOLDER, Ledgers

BENCH = Path(__file__).parent
PYTHON = BENCH.parent / "build" / "bench-venv" / "bin" / "python"
DURABILITY = {
    "": "fsync at every commit",
    "always": "fsync at every write",
    "everysec": "fsync every second",
}
_POLL_INTERVAL = 0.01
_SETTLE = 1.0  # seconds after the last job, in which a doubled run would show
_STALLED = 30.0  # seconds without a run, after which the missing jobs count as lost
_TIMEOUT = 180.0


class PeerSetup(NamedTuple):
    name: str
    fsync: str  # how Redis syncs its file; empty for peers on PostgreSQL
    pace: int  # jobs per second on two cores, about: all peers should drain for about the same time


PEER_SETUPS = (
    PeerSetup("tickwork", "", 35_000),
    PeerSetup("pgqueuer", "", 10_000),
    PeerSetup("procrastinate", "", 450),
    PeerSetup("apscheduler", "", 160),
    PeerSetup("dramatiq", "always", 2_000),
    PeerSetup("dramatiq", "everysec", 3_000),
    PeerSetup("huey", "always", 2_000),
    PeerSetup("huey", "everysec", 3_500),
    PeerSetup("celery", "always", 350),
    PeerSetup("celery", "everysec", 600),
    PeerSetup("rq", "always", 170),
    PeerSetup("rq", "everysec", 350),
)


class MeasurementFailed(Exception):
    pass


def measure(setup: PeerSetup, jobs: int) -> dict[str, Any]:
    about = json.loads(_call(setup.name, "about", env={}))
    with (
        tempfile.TemporaryDirectory(prefix="tickwork-bench-") as folder,
        _store(setup, Path(folder)) as store,
    ):
        ledgers = Path(folder, "ledgers")
        ledgers.mkdir()
        env = {**store.environment, LEDGER_FOLDER: str(ledgers)}
        _call(setup.name, "prepare", env=env)
        enqueued = json.loads(_call(setup.name, "enqueue", str(jobs), env=env))["seconds"]
        drained = _drain(setup.name, about["processes"], jobs, Ledgers(ledgers), env)
        counts = Ledgers(ledgers).counts(jobs)
    lost = sum(found == 0 for found in counts)
    return {
        **about,
        "jobs": jobs,
        "store": store.about,
        "durability": DURABILITY[setup.fsync],
        "enqueued_per_second": round(jobs / enqueued),
        "drained_per_second": round((jobs - lost) / drained),
        "lost": lost,
        "doubled": sum(found - 1 for found in counts if found > 1),
    }


def _store(setup: PeerSetup, folder: Path) -> AbstractContextManager[Store]:
    return redis(folder, setup.fsync) if setup.fsync else postgres(folder)


def _call(*words: str, env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [PYTHON, "-m", "peers", *words], cwd=BENCH, env={**os.environ, **env}, check=False,
            capture_output=True, text=True, timeout=_TIMEOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise MeasurementFailed(f"{' '.join(words)} took longer than {_TIMEOUT:.0f} s") from None
    if done.returncode:
        raise MeasurementFailed(f"{' '.join(words)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def _drain(name: str, processes: int, jobs: int, ledgers: Ledgers, env: Mapping[str, str]) -> float:
    """Seconds from the first run to the last."""
    with (
        tempfile.TemporaryFile() as messages,
        _workers(name, processes, env, messages) as workers,
    ):
        try:
            return _time(jobs, ledgers, workers)
        except MeasurementFailed as error:
            messages.seek(0)
            said = messages.read()[-2000:].decode(errors="replace")
            raise MeasurementFailed(f"{error}, after {ledgers.total():,} of {jobs:,} jobs:\n{said}") from None


@contextmanager
def _workers(
    name: str, processes: int, env: Mapping[str, str], messages: IO[bytes]
) -> Iterator[Sequence[subprocess.Popen[bytes]]]:
    """Each worker has its own session, so that its children end with it."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(processes):
            started.append(_worker(name, env, messages))  # noqa: PERF401 (ended if the next one fails)
        yield started
    finally:
        for worker in started:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def _worker(name: str, env: Mapping[str, str], messages: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [PYTHON, "-m", "peers", name, "work"], cwd=BENCH, env={**os.environ, **env},
        start_new_session=True, stdout=messages, stderr=messages,
    )  # fmt: skip


def _time(jobs: int, ledgers: Ledgers, workers: Sequence[subprocess.Popen[bytes]]) -> float:
    started = begun = last = time.monotonic()
    seen = 0
    while (now := time.monotonic()) - last < (_SETTLE if seen >= jobs else _STALLED):
        if (ran := ledgers.total()) > seen:
            begun, last, seen = begun if seen else now, now, ran
        if any(worker.poll() is not None for worker in workers):
            raise MeasurementFailed("a worker ended")
        if now - started > _TIMEOUT:
            raise MeasurementFailed(f"it drained for longer than {_TIMEOUT:.0f} s")
        time.sleep(_POLL_INTERVAL)
    return max(last - begun, _POLL_INTERVAL)
