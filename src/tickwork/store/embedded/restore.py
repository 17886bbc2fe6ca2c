"""Restores a backup into a data folder, completely or not at all.

The database is built in a temporary folder inside and renamed at the very end. Until then there is none, and the next
attempt starts from the beginning.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import msgspec

from tickwork.model.errors import Conflict, Invalid, TickworkError, WrongSchema
from tickwork.store.embedded.backup import (
    DUMP,
    FORMAT,
    MANIFEST,
    PIECE,
    Entry,
    Manifest,
    Progress,
    Tell,
    sync_folder,
)
from tickwork.store.embedded.private_access import create_private, own_folder
from tickwork.store.embedded.run_postgres_programs import binaries, call, run_watched, server_uid
from tickwork.store.embedded.server import DATABASE, EmbeddedPostgres

_PREFIX = "restore-"
_LONGEST_KEY = 4096
_LONGEST_MANIFEST = 64 * 1024
_JOBS = "2"
_OWN = frozenset({"lock", ".gitignore"})  # what `tickwork up` or an interrupted attempt may have left


def restore(file: Path, folder: Path, key_file: str, latest_schema: int, *, tell: Tell) -> Manifest:
    """Conflict when the folder is not empty or in use."""
    with _opened(file) as archive:
        manifest = _manifest(file, archive, latest_schema)
        key = _read_key(archive, manifest, key_file)
        own_folder(folder)
        with EmbeddedPostgres(folder).kept():
            _refuse_used(folder, key_file, key)
            draft = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
            try:
                _build(archive, manifest, draft, tell)
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


def _build(archive: ZipFile, manifest: Manifest, draft: Path, tell: Tell) -> None:
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
