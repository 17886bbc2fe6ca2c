"""A file in the data folder that only takes space: deleted when the disk is full, it lets PostgreSQL go on at once."""

import os
from pathlib import Path
from shutil import disk_usage

from tickwork.model.errors import TickworkError
from tickwork.model.quantities import format_size

NAME = "reserve"
_SPARED = 2  # times its size must stay free


def make_reserve(data_folder: Path, size: int) -> Path:
    """Take the space, or replace a reserve of another size."""
    file = data_folder / NAME
    release_reserve(data_folder)
    free = disk_usage(data_folder).free
    if free < size * (1 + _SPARED):
        raise TickworkError(
            f"only {format_size(free)} are free: a reserve of {format_size(size)} must leave twice its size"
        )
    with file.open("wb") as out:
        os.posix_fallocate(out.fileno(), 0, size)
        os.fsync(out.fileno())
    return file


def release_reserve(data_folder: Path) -> int:
    """How many bytes are free again."""
    file = data_folder / NAME
    try:
        size = file.stat().st_size
    except FileNotFoundError:
        return 0
    file.unlink()
    return size
