"""Writes the files of a part, a bounded number of rows at a time, and reads them back."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa
from pyarrow import compute, parquet

from tickwork.model.archive import (
    ARCHIVE_TABLES,
    ArchiveDamaged,
    ArchiveFile,
    ArchiveTable,
    Manifest,
    Purged,
)
from tickwork.model.public_ids import job_id, parse_job_id
from tickwork.record.archive.archive_storage import HashingFile, Location
from tickwork.store.port.archive import ArchiveRow

_GROUP_ROWS = 50_000
_GROUP_BYTES = 32 << 20
_BATCH = 5_000  # rows that are read at once

_TIME = pa.timestamp("us", "UTC")
_TEXT = pa.string()
_NUMBER = pa.int32()
_IDENTITY = (
    ("tenant_id", _NUMBER), ("execution_id", _TEXT), ("job_id", _TEXT), ("scheduled_for", _TIME),
)  # fmt: skip
_ERROR = (("error_type", _TEXT), ("error_message", _TEXT), ("error_traceback", _TEXT))
SCHEMAS: dict[ArchiveTable, pa.Schema] = {
    "executions": pa.schema([
        *_IDENTITY, ("tenant", _TEXT), ("job_name", _TEXT), ("job_key", _TEXT), ("tags", pa.list_(_TEXT)),
        ("task", _TEXT), ("queue", _TEXT), ("status", _TEXT), ("trigger", _TEXT), ("priority", _NUMBER),
        ("due_at", _TIME), ("started_at", _TIME), ("finished_at", _TIME), ("attempt", _NUMBER),
        ("max_attempts", _NUMBER), ("worker", _TEXT), ("progress", _TEXT), ("result", _TEXT), ("reason", _TEXT),
        ("input", _TEXT), *_ERROR,
    ]),
    "attempts": pa.schema([
        *_IDENTITY, ("attempt", _NUMBER), ("outcome", _TEXT), ("worker", _TEXT), ("worker_name", _TEXT),
        ("started_at", _TIME), ("finished_at", _TIME), ("silent_for", pa.float64()),
        ("cpu_seconds", pa.float64()), ("peak_memory", pa.int64()), *_ERROR,
    ]),
    "logs": pa.schema([
        *_IDENTITY, ("attempt", _NUMBER), ("line", _NUMBER), ("at", _TIME), ("level", _TEXT), ("text", _TEXT),
    ]),
    "checkpoints": pa.schema([
        *_IDENTITY, ("attempt", _NUMBER), ("number", _NUMBER), ("stored_at", _TIME), ("took", pa.float32()),
        ("step", _TEXT), ("value", _TEXT),
    ]),
}  # fmt: skip


class Owner(NamedTuple):
    """Of a row."""

    tenant: int
    job: int


class _TableFile:
    """The file of one table. Rows are kept until they fill a row group."""

    def __init__(self, location: Location, table: ArchiveTable, path: str) -> None:
        self._table = table
        self._rows = 0
        self._kept: list[pa.Table] = []
        self._closing = ExitStack()
        self._file: HashingFile = self._closing.enter_context(location.create(path))
        sink = pa.PythonFile(self._file, mode="w")
        self._writer = parquet.ParquetWriter(sink, SCHEMAS[table], compression="zstd")

    def add(self, rows: pa.Table) -> None:
        self._kept.append(rows)
        self._rows += rows.num_rows
        if (
            sum(each.num_rows for each in self._kept) >= _GROUP_ROWS
            or sum(each.nbytes for each in self._kept) >= _GROUP_BYTES
        ):
            self._write_group()

    def _write_group(self) -> None:
        if self._kept:
            self._writer.write_table(pa.concat_tables(self._kept))
            self._kept = []

    def finish(self, name: str) -> ArchiveFile:
        self._write_group()
        self._writer.close()
        self._closing.close()
        file = self._file
        return ArchiveFile(
            table=self._table, name=name, rows=self._rows, bytes=file.size, sha256=file.checksum
        )

    def abandon(self, *error: Any) -> None:
        self._file.abandon()
        self._writer.close()
        self._closing.__exit__(*error)


class PartWriter:
    """A new generation of a part. Its methods block: call them in a thread."""

    def __init__(self, location: Location, part: str, generation: int) -> None:
        self._location = location
        self._part = part
        self._generation = generation
        self._open: dict[ArchiveTable, _TableFile] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._open.values():
            file.abandon(kind, error, trace)

    def add_rows(self, table: ArchiveTable, rows: Sequence[ArchiveRow]) -> None:
        if rows:
            self.add(table, pa.Table.from_pylist(rows, SCHEMAS[table]))

    def add(self, table: ArchiveTable, rows: pa.Table) -> None:
        if table not in self._open:
            path = self._location.path(self._part, self._generation, _name(table))
            self._open[table] = _TableFile(self._location, table, path)
        self._open[table].add(rows)

    def finish(self) -> list[ArchiveFile]:
        files = []
        for table in ARCHIVE_TABLES:
            if table in self._open:
                files.append(self._open[table].finish(_name(table)))
                del self._open[table]
        return files


def verify_files(location: Location, manifest: Manifest) -> None:
    """Read every file back. ArchiveDamaged names the first that is not what it must be."""
    for file in manifest.files:
        path = location.path(manifest.part, manifest.generation, file.name)
        try:
            size, checksum = location.checksum(path)
        except FileNotFoundError:
            raise ArchiveDamaged(f"{path} is missing") from None
        if (size, checksum) != (file.bytes, file.sha256):
            raise ArchiveDamaged(
                f"{path} is not what was written: it has {size} bytes with the checksum {checksum}, "
                f"and must have {file.bytes} with {file.sha256}"
            )
        with open_parquet(location, path) as opened:
            if opened.metadata.num_rows != file.rows:
                raise ArchiveDamaged(f"{path} has {opened.metadata.num_rows} rows, and must have {file.rows}")


def open_parquet(location: Location, path: str) -> parquet.ParquetFile:
    return parquet.ParquetFile(location.files.open_input_file(path), pre_buffer=False)


def read_tables(
    location: Location, manifest: Manifest, columns: list[str] | None = None
) -> Iterator[tuple[ArchiveTable, pa.Table]]:
    """The rows of a part, some thousand at a time."""
    for file in manifest.files:
        with open_parquet(location, location.path(manifest.part, manifest.generation, file.name)) as opened:
            for batch in opened.iter_batches(_BATCH, columns=columns):
                yield file.table, pa.Table.from_batches([batch])


def owners_of_rows(location: Location, manifest: Manifest, unwanted: Purged) -> Counter[Owner]:
    """The owners of executions that a part has of these jobs and tenants, with how many."""
    chosen, found = _Chosen(unwanted), Counter[Owner]()
    executions = [file for file in manifest.files if file.table == "executions"]
    for _, table in read_tables(location, _only(manifest, executions), ["tenant_id", "job_id"]):
        rows = table.filter(chosen.among(table))
        owners = zip(rows["tenant_id"].to_pylist(), rows["job_id"].to_pylist(), strict=True)
        found.update(Owner(tenant, parse_job_id(job)) for tenant, job in owners)
    return found


def copy_without(location: Location, manifest: Manifest, unwanted: Purged, generation: int) -> Manifest:
    """Write a part again without these jobs and tenants."""
    chosen = _Chosen(unwanted)
    with PartWriter(location, manifest.part, generation) as writer:
        for table, rows in read_tables(location, manifest):
            kept = rows.filter(compute.invert(chosen.among(rows)))
            if kept.num_rows:
                writer.add(table, kept)
        files = writer.finish()
    return _generation(manifest, generation, files)


class _Chosen:
    """Tells which rows belong to some jobs or tenants."""

    def __init__(self, owners: Purged) -> None:
        self._jobs = pa.array(sorted(map(job_id, owners.jobs)), _TEXT)
        self._tenants = pa.array(sorted(owners.tenants), _NUMBER)

    def among(self, rows: pa.Table) -> pa.ChunkedArray:
        return compute.or_(
            compute.is_in(rows["job_id"], value_set=self._jobs),
            compute.is_in(rows["tenant_id"], value_set=self._tenants),
        )


def _generation(manifest: Manifest, generation: int, files: list[ArchiveFile]) -> Manifest:
    return Manifest(
        label=manifest.label,
        number=manifest.number,
        generation=generation,
        begin=manifest.begin,
        end=manifest.end,
        files=files,
    )


def _only(manifest: Manifest, files: list[ArchiveFile]) -> Manifest:
    return _generation(manifest, manifest.generation, files)


def _name(table: ArchiveTable) -> str:
    return f"{table}.parquet"
