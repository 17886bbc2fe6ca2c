"""A cluster of PostgreSQL as a first start leaves it, for tests of something else: it is made once, and copied."""

import asyncio
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from tickwork.store.embedded.server import EmbeddedPostgres
from tickwork.store.migrate import upgrade

_made: list[Path] = []


def copy_ready_cluster(data: Path, programs: Path | None = None) -> None:
    """Into a data folder. It has Tickwork's tables and no key. `programs`: as for EmbeddedPostgres."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copytree(_ready_data(programs) / "postgres", data / "postgres")


def remove_ready_clusters() -> None:
    for folder in _made:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _ready_data(programs: Path | None) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tickwork-test-"))
    _made.append(folder)
    postgres = EmbeddedPostgres(folder, programs)
    with ThreadPoolExecutor() as thread:  # a loop may run in this one
        thread.submit(asyncio.run, upgrade(postgres.start())).result()
    postgres.stop()
    return folder
