"""Backs a data folder up into one file, and restores it, completely or not at all.

The file is a zip of PostgreSQL's dump, the admin key, and a manifest with checksums. A restored database is built in a
temporary folder inside the data folder and renamed at the very end. Until then there is none, and the next attempt
starts from the beginning.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import IO
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import msgspec

from tickwork.model.errors import Conflict, Invalid, TickworkError, WrongSchema
from tickwork.store.embedded.private_access import create_private, own_folder
from tickwork.store.embedded.run_postgres_programs import binaries, call, output_of, run_watched, server_uid
from tickwork.store.embedded.server import DATABASE, EmbeddedPostgres, reached

FORMAT = 1
DUMP, MANIFEST = "database.dump", "manifest.json"
PIECE = 1024 * 1024
_TELL_EVERY = 2.0  # seconds
_OWNER_ONLY = 0o600 << 16  # where a zip stores the mode of a file

_PREFIX = "restore-"
_LONGEST_KEY = 4096
_LONGEST_MANIFEST = 64 * 1024
_JOBS = "2"
_OWN = frozenset({"lock", ".gitignore"})  # what `tickwork up` or an interrupted attempt may have left


Tell = Callable[[str], None]
SchemaOf = Callable[[str], int]  # the last migration of the database at a URL
NoteBackup = Callable[[str, datetime], None]  # in the database at a URL
Prepare = Callable[[str], None]  # the restored database at a URL


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
    folder: Path,
    key_file: str,
    file: Path,
    version: str,
    schema_of: SchemaOf,
    note_backup: NoteBackup,
    *,
    force: bool,
    tell: Tell,
) -> Manifest:
    """Works with and without a running server. The file appears when it is complete, and only its owner may read it."""
    if file.exists() and not force:
        raise Conflict(f"{file} is there already: choose another name, or --force to replace it")
    with reached(folder) as postgres:
        with _appearing(file, force=force) as out, ZipFile(out, "w", ZIP_STORED) as archive:
            began, schema = datetime.now(UTC), schema_of(postgres.url)
            files = {
                DUMP: _store_dump(archive, postgres, tell),
                **_store_key(archive, folder / key_file, tell),
            }
            manifest = Manifest(format=FORMAT, tickwork=version, schema=schema, created_at=began, files=files)
            archive.writestr(_entry(MANIFEST), msgspec.json.encode(manifest))
        note_backup(postgres.url, began)
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


def restore(
    file: Path, folder: Path, key_file: str, latest_schema: int, prepare: Prepare, *, tell: Tell
) -> Manifest:
    """Conflict when the folder is not empty or in use."""
    with _opened(file) as archive:
        manifest = _manifest(file, archive, latest_schema)
        key = _read_key(archive, manifest, key_file)
        own_folder(folder)
        with EmbeddedPostgres(folder).kept():
            _refuse_used(folder, key_file, key)
            draft = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
            try:
                _build(archive, manifest, draft, prepare, tell)
                (folder / ".gitignore").write_text("*\n")
                if key is not None:
                    _write_key(folder / key_file, key)
                (draft / "postgres").rename(folder / "postgres")
                sync_folder(folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    return manifest


@contextmanager
def _opened(file: Path) -> Iterator[ZipFile]:
    try:
        with ZipFile(file) as archive:
            yield archive
    except FileNotFoundError:
        raise Invalid.field("FILE", f"there is no {file}") from None
    except (BadZipFile, EOFError):
        raise _damaged(file.name) from None
    except (IsADirectoryError, PermissionError) as error:
        raise Invalid.field("FILE", f"{file} cannot be read: {error.strerror}") from None


def _damaged(name: str) -> TickworkError:
    return TickworkError(f"{name} is damaged or no backup of Tickwork: nothing was restored")


def _manifest(file: Path, archive: ZipFile, latest_schema: int) -> Manifest:
    try:
        with archive.open(MANIFEST) as source:
            manifest = msgspec.json.decode(source.read(_LONGEST_MANIFEST), type=Manifest)
    except (KeyError, msgspec.MsgspecError):
        raise _damaged(file.name) from None
    if manifest.format > FORMAT or manifest.schema > latest_schema:
        raise WrongSchema(
            f"{file} was made by Tickwork {manifest.tickwork}, which is newer than this one",
            "upgrade Tickwork first",
        )
    return manifest


def _read_key(archive: ZipFile, manifest: Manifest, key_file: str) -> bytes | None:
    entry = manifest.files.get(key_file)
    if entry is None:
        return None
    with archive.open(key_file) as source:
        key = source.read(_LONGEST_KEY)
    if hashlib.sha256(key).hexdigest() != entry.sha256:
        raise _damaged(key_file)
    return key


def _refuse_used(folder: Path, key_file: str, key: bytes | None) -> None:
    for found in sorted(folder.iterdir()):
        if found.name.startswith(_PREFIX):
            EmbeddedPostgres(found).stop()  # of an attempt that was killed
            shutil.rmtree(found, ignore_errors=True)
        elif found.name not in _OWN and not (found.name == key_file and found.read_bytes() == key):
            raise Conflict(
                f"{folder} is not empty ({found.name} is in it): restore into a new folder, or move this one away"
            )


def _build(archive: ZipFile, manifest: Manifest, draft: Path, prepare: Prepare, tell: Tell) -> None:
    dump = draft / DUMP
    _extract(archive, manifest.files.get(DUMP), dump, tell)
    postgres = EmbeddedPostgres(draft)
    try:
        postgres.start()
        where = ("--dbname", DATABASE, "--no-password", *postgres.options())
        listed = call(binaries() / "pg_restore", "--list", str(dump)).stdout.splitlines()
        total = sum(not line.startswith(";") for line in listed)
        progress = Progress(tell, f"database: {{}} of {total} parts restored")
        done = 0

        def count(line: str) -> None:
            nonlocal done
            done += "finished item" in line
            progress.reached(done)

        run_watched(
            "pg_restore", "--exit-on-error", "--verbose", "--jobs", _JOBS, *where, str(dump), line_said=count
        )
        prepare(postgres.url)
        run_watched("vacuumdb", "--analyze-only", "--jobs", _JOBS, *where, line_said=lambda _: None)
    finally:
        postgres.stop()


def _extract(archive: ZipFile, entry: Entry | None, to: Path, tell: Tell) -> None:
    if entry is None or DUMP not in archive.namelist():
        raise _damaged(DUMP)
    progress = Progress(tell, f"{DUMP}: {{}} of {entry.bytes // PIECE} MB read")
    digest, size = hashlib.sha256(), 0
    with archive.open(DUMP) as source, create_private(to) as out:
        os.fchown(out.fileno(), server_uid(), -1)
        while size <= entry.bytes and (piece := source.read(PIECE)):
            out.write(piece)
            digest.update(piece)
            size += len(piece)
            progress.reached(size // PIECE)
    if (size, digest.hexdigest()) != (entry.bytes, entry.sha256):
        raise _damaged(DUMP)


def _write_key(file: Path, key: bytes) -> None:
    file.unlink(missing_ok=True)  # the same key, from an interrupted attempt
    with create_private(file) as out:
        out.write(key)
        out.flush()
        os.fsync(out.fileno())
