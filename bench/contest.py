"""One turn of a peer: so many jobs enqueued while no worker runs, then drained by its workers, and counted."""

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

from store import Store, postgres, redis
from tickwork.bench.run_ledger import LEDGER_FOLDER, Ledgers

BENCH = Path(__file__).parent
PYTHON = BENCH.parent / "build" / "bench-venv" / "bin" / "python"
DURABILITY = {
    "": "fsync at every commit",
    "always": "fsync at every write",
    "everysec": "fsync every second",
}
_LOOK = 0.01
_SETTLE = 1.0  # seconds after the last, in which a doubled one would show
_STALLED = 30.0  # seconds without any, after which what is missing counts as lost
_WITHIN = 180.0


class Contest(NamedTuple):
    name: str
    fsync: str  # how Redis syncs its file; nothing for those on PostgreSQL
    pace: int  # about how many a second on two cores, so that all drain for about as long


CONTESTS = (
    Contest("tickwork", "", 35_000),
    Contest("pgqueuer", "", 10_000),
    Contest("procrastinate", "", 450),
    Contest("apscheduler", "", 160),
    Contest("dramatiq", "always", 2_000),
    Contest("dramatiq", "everysec", 3_000),
    Contest("huey", "always", 2_000),
    Contest("huey", "everysec", 3_500),
    Contest("celery", "always", 350),
    Contest("celery", "everysec", 600),
    Contest("rq", "always", 170),
    Contest("rq", "everysec", 350),
)


class Failed(Exception):
    pass


def measure(contest: Contest, jobs: int) -> dict[str, Any]:
    about = json.loads(_call(contest.name, "about", env={}))
    with (
        tempfile.TemporaryDirectory(prefix="tickwork-bench-") as folder,
        _store(contest, Path(folder)) as store,
    ):
        ledgers = Path(folder, "ledgers")
        ledgers.mkdir()
        env = {**store.environment, LEDGER_FOLDER: str(ledgers)}
        _call(contest.name, "prepare", env=env)
        enqueued = json.loads(_call(contest.name, "enqueue", str(jobs), env=env))["seconds"]
        drained = _drain(contest.name, about["processes"], jobs, Ledgers(ledgers), env)
        counts = Ledgers(ledgers).counts(jobs)
    lost = sum(found == 0 for found in counts)
    return {
        **about,
        "jobs": jobs,
        "store": store.about,
        "durability": DURABILITY[contest.fsync],
        "enqueued_per_second": round(jobs / enqueued),
        "drained_per_second": round((jobs - lost) / drained),
        "lost": lost,
        "doubled": sum(found - 1 for found in counts if found > 1),
    }


def _store(contest: Contest, folder: Path) -> AbstractContextManager[Store]:
    return redis(folder, contest.fsync) if contest.fsync else postgres(folder)


def _call(*words: str, env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [PYTHON, "-m", "peers", *words], cwd=BENCH, env={**os.environ, **env}, check=False,
            capture_output=True, text=True, timeout=_WITHIN,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(words)} took longer than {_WITHIN:.0f} s") from None
    if done.returncode:
        raise Failed(f"{' '.join(words)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def _drain(name: str, processes: int, jobs: int, ledgers: Ledgers, env: Mapping[str, str]) -> float:
    """Seconds from the first to the last."""
    with (
        tempfile.TemporaryFile() as messages,
        _workers(name, processes, env, messages) as workers,
    ):
        try:
            return _time(jobs, ledgers, workers)
        except Failed as error:
            messages.seek(0)
            said = messages.read()[-2000:].decode(errors="replace")
            raise Failed(f"{error}, after {ledgers.total():,} of {jobs:,} jobs:\n{said}") from None


@contextmanager
def _workers(
    name: str, processes: int, env: Mapping[str, str], messages: IO[bytes]
) -> Iterator[Sequence[subprocess.Popen[bytes]]]:
    """Each in a session of its own, so that its children end with it."""
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
            raise Failed("a worker ended")
        if now - started > _WITHIN:
            raise Failed(f"it drained for longer than {_WITHIN:.0f} s")
        time.sleep(_LOOK)
    return max(last - begun, _LOOK)
