"""What the harness asks of a peer, and what each of its tasks does."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# The file alone: Tickwork's own dependencies are not installed beside the peers.
sys.path.append(str(Path(__file__).parents[2] / "src" / "tickwork" / "bench"))
from run_ledger import LEDGER_FOLDER, Ledger

CORES = os.cpu_count() or 1
_ledger: list[Ledger] = []


class About(NamedTuple):
    """As its documentation tells it."""

    name: str
    package: str
    history: str  # the class: A none, B the final state, C the full record
    kept: str  # of a job that is done
    killed: str  # what becomes of the jobs that a killed worker held
    fast_path: str


class Peer(NamedTuple):
    about: About
    prepare: Callable[[], None]
    enqueue: Callable[[int], None]
    work: Callable[[], None]  # until killed
    processes: int = CORES  # how many do that; 1 if it starts one for each core by itself


def count(number: int) -> None:
    """The whole of the task; the ledger is opened by the process that runs it."""
    if not _ledger:
        _ledger.append(Ledger.create(Path(os.environ[LEDGER_FOLDER])))
    _ledger[0].count(number)


def postgres_url() -> str:
    return os.environ["PEER_POSTGRES"]


def redis_url() -> str:
    return os.environ.get("PEER_REDIS", "redis://127.0.0.1:1/0")  # tasks may be imported without one


def nothing() -> None:
    """Needs no preparation."""
