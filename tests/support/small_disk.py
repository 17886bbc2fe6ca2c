"""A disk that a test can fill."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_ROOM = 65_536  # bytes that are left on a full disk: somebody may write while it becomes full


class SmallDisk:
    """A file system of its own, which becomes full by being made as small as what is on it."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self._size = size

    def mount(self) -> bool:
        """Whether this may be done here."""
        self.folder.mkdir()
        return self._mount(f"size={self._size},mode=0777")

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        while not self._mount(f"remount,size={self._used() + _ROOM}"):
            pass  # more has been written meanwhile
        yield
        self._mount(f"remount,size={self._size}")

    def _used(self) -> int:
        state = os.statvfs(self.folder)
        return (state.f_blocks - state.f_bfree) * state.f_frsize

    def _mount(self, options: str) -> bool:
        words = ["mount", "-t", "tmpfs", "-o", options, "tickwork-test", str(self.folder)]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0


@contextmanager
def mounted_disk(folder: Path, size: int) -> Iterator[Path]:
    """Empty, of so many bytes. Skips the test where none may be mounted."""
    disk = SmallDisk(folder, size)
    if not disk.mount():
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    disk.unmount()
