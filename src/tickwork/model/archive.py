"""The archive: days of finished history as files, each day with a manifest that says what they must be."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from tickwork.model.field_types import Instant

FORMAT = 1
_REMOTE = "s3"
_BUCKET = re.compile(r"[A-Za-z0-9._-]{1,255}")

ArchiveTable = Literal["executions", "attempts", "logs", "checkpoints"]
ARCHIVE_TABLES: tuple[ArchiveTable, ...] = ("executions", "attempts", "logs", "checkpoints")


class ArchiveFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a part. Tables without rows have none."""

    table: ArchiveTable
    name: str
    rows: int
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a part of the archive consists of. It is written last: without it, there is no such part."""

    format: int = FORMAT
    label: str  # the day, such as 20260131; a month, such as 202601, for what ran again later
    number: int  # from 1; more than one if executions of that day ran again after it was archived
    generation: int
    begin: Instant
    end: Instant
    files: list[ArchiveFile]

    @property
    def part(self) -> str:
        return part_name(self.label, self.number)

    def rows(self, table: ArchiveTable) -> int:
        return sum(file.rows for file in self.files if file.table == table)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


class ArchivePart(NamedTuple):
    """What the database knows of a part."""

    label: str
    number: int
    begin: datetime
    end: datetime
    state: Literal["sealed", "archived", "dropped"]
    generation: int
    manifest: Manifest | None

    @property
    def name(self) -> str:
        return part_name(self.label, self.number)


class Purged(NamedTuple):
    """Jobs and tenants that the archive may still have something of."""

    jobs: Sequence[int]
    tenants: Sequence[int]

    def __bool__(self) -> bool:
        return bool(self.jobs or self.tenants)


class ArchiveView(msgspec.Struct, frozen=True, kw_only=True):
    """How far history is archived."""

    until: Instant | None  # executions that were due before are in the archive only
    waiting_days: int  # older than the history that is kept, and not archived yet
    problem: str | None  # why the next one cannot be archived
    problem_since: Instant | None


class ArchiveDamaged(Exception):
    """A file of the archive is not what its manifest says."""


def part_name(label: str, number: int) -> str:
    return f"{label}-{number}"


class ArchiveAddress(NamedTuple):
    is_remote: bool
    path: str  # a folder, or bucket/prefix


def parse_archive_url(text: str) -> ArchiveAddress:
    """A folder, a file: URL or s3://bucket/prefix. ValueError when it is none of them."""
    parts = urlsplit(text)
    if parts.scheme == _REMOTE:
        if not _BUCKET.fullmatch(parts.netloc) or parts.query or parts.fragment:
            raise ValueError(text)
        return ArchiveAddress(True, f"{parts.netloc}/{parts.path.strip('/')}".rstrip("/"))
    if parts.scheme == "file" and not parts.netloc and parts.path.startswith("/"):
        return ArchiveAddress(False, parts.path)
    if "://" in text or parts.scheme == "file" or not text.strip():
        raise ValueError(text)
    return ArchiveAddress(False, text)
