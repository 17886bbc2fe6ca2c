"""Backs a data folder up into one file: a zip of PostgreSQL's dump, the admin key, and a manifest with checksums."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import IO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import msgspec

from tickwork.model.errors import Conflict, TickworkError
from tickwork.store.embedded.run_postgres_programs import output_of
from tickwork.store.embedded.server import DATABASE, EmbeddedPostgres, reached

FORMAT = 1
DUMP, MANIFEST = "database.dump", "manifest.json"
PIECE = 1024 * 1024
_TELL_EVERY = 2.0  # seconds
_OWNER_ONLY = 0o600 << 16  # where a zip stores the mode of a file

Tell = Callable[[str], None]
SchemaOf = Callable[[str], int]  # the last migration of the database at a URL


class Entry(msgspec.Struct, frozen=True):
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    tickwork: str
    schema: int  # the last migration
    created_at: datetime
    files: dict[str, Entry]


def back_up(
    folder: Path, key_file: str, file: Path, version: str, schema_of: SchemaOf, *, force: bool, tell: Tell
) -> Manifest:
    """Works with and without a running server. The file appears when it is complete, and only its owner may read it."""
    if file.exists() and not force:
        raise Conflict(f"{file} is there already: choose another name, or --force to replace it")
    with reached(folder) as postgres, _appearing(file, force=force) as out:
        began, schema = datetime.now(UTC), schema_of(postgres.url)
        with ZipFile(out, "w", ZIP_STORED) as archive:
            files = {
                DUMP: _store_dump(archive, postgres, tell),
                **_store_key(archive, folder / key_file, tell),
            }
            manifest = Manifest(format=FORMAT, tickwork=version, schema=schema, created_at=began, files=files)
            archive.writestr(_entry(MANIFEST), msgspec.json.encode(manifest))
    return manifest


def _store_dump(archive: ZipFile, postgres: EmbeddedPostgres, tell: Tell) -> Entry:
    """A consistent snapshot, whatever is written meanwhile."""
    options = ("--format=custom", "--dbname", DATABASE, "--no-password", *postgres.options())
    with output_of("pg_dump", *options) as source:
        return _store(archive, DUMP, source, tell)


def _store_key(archive: ZipFile, key: Path, tell: Tell) -> dict[str, Entry]:
    try:
        with key.open("rb") as source:
            return {key.name: _store(archive, key.name, source, tell)}
    except FileNotFoundError:
        tell(f"there is no {key}: this backup has no key")
        return {}


@contextmanager
def _appearing(file: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """A temporary file in the same folder, readable by its owner only, and renamed when it is on disk."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
    except OSError as error:
        raise TickworkError(
            f"cannot write to the folder {file.parent.absolute()} ({error.strerror})"
        ) from None
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        _move(draft, file, force=force)
    except OSError as error:
        raise TickworkError(f"cannot write {file}: {error.strerror}") from error
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
    sync_folder(file.parent)


def _move(draft: Path, file: Path, *, force: bool) -> None:
    if force:
        draft.replace(file)
        return
    try:
        file.hardlink_to(draft)  # unlike a rename, this does not replace a file that was created meanwhile
    except FileExistsError:
        raise Conflict(f"{file} was created by another process meanwhile") from None
    except OSError:  # some file systems have no hard links
        draft.rename(file)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _store(archive: ZipFile, name: str, source: IO[bytes], tell: Tell) -> Entry:
    progress = Progress(tell, f"{name}: {{}} MB written")
    digest, size = hashlib.sha256(), 0
    with archive.open(_entry(name), "w", force_zip64=True) as out:
        while piece := source.read(PIECE):
            out.write(piece)
            digest.update(piece)
            size += len(piece)
            progress.reached(size // PIECE)
    return Entry(size, digest.hexdigest())


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, datetime.now(UTC).timetuple()[:6])
    entry.external_attr = _OWNER_ONLY
    return entry


class Progress:
    """Reports progress every few seconds."""

    def __init__(self, tell: Tell, words: str) -> None:
        self._tell = tell
        self._words = words
        self._next = monotonic() + _TELL_EVERY

    def reached(self, amount: int) -> None:
        if monotonic() >= self._next:
            self._tell(self._words.format(amount))
            self._next = monotonic() + _TELL_EVERY
