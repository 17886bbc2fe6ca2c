"""What the harness needs of a peer, and what each of its tasks does."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# Only this file: Tickwork's dependencies are not installed in the environment of the peers.
sys.path.append(str(Path(__file__).parents[2] / "src" / "tickwork" / "bench"))
from run_ledger import LEDGER_FOLDER, Ledger

CORES = os.cpu_count() or 1
_ledger: list[Ledger] = []


class About(NamedTuple):
    """As its documentation says."""

    name: str
    package: str
    history: str  # the class: A none, B the final state, C the full record
    kept: str  # of a job that is done
    killed: str  # what happens to the jobs of a killed worker
    fast_path: str


class Peer(NamedTuple):
    about: About
    prepare: Callable[[], None]
    enqueue: Callable[[int], None]
    work: Callable[[], None]  # until killed
    processes: int = CORES  # how many workers to start; 1 if it starts one for each core itself


def count(number: int) -> None:
    """The whole task. The process that runs it opens the ledger."""
    if not _ledger:
        _ledger.append(Ledger.create(Path(os.environ[LEDGER_FOLDER])))
    _ledger[0].count(number)


def postgres_url() -> str:
    return os.environ["PEER_POSTGRES"]


def redis_url() -> str:
    return os.environ.get("PEER_REDIS", "redis://127.0.0.1:1/0")  # the tasks can be imported without Redis


def nothing() -> None:
    """Needs no preparation."""
