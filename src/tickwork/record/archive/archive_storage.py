"""Where the archive is: a folder, or a bucket of an S3-compatible store.

20260131-1/            a part: a day, and which part of it
  000001/              a generation: never changed, only replaced by a later one
    executions.parquet
    manifest.json      written last
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec
import pyarrow as pa
from pyarrow import fs

from tickwork.model.archive import ArchiveDamaged, Manifest, parse_archive_url

_MANIFEST = "manifest.json"
_CHUNK = 1 << 20  # bytes read at once
_ENDPOINT = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_LARGEST_MANIFEST = 1 << 20  # bytes


class _Stream(Protocol):
    def write(self, data: Any) -> Any: ...


class HashingFile:
    """Passes on what is written, and knows its size and its checksum."""

    closed = False

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream
        self._sha256 = sha256()
        self.size = 0

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self._sha256.update(view)
        self._stream.write(view)
        self.size += view.nbytes
        return view.nbytes

    def abandon(self) -> None:
        """What is still written goes nowhere."""
        self._stream = BytesIO()

    def flush(self) -> None:
        """Its stream is flushed when it is closed."""

    def tell(self) -> int:
        return self.size

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Its stream is closed by who opened it."""

    @property
    def checksum(self) -> str:
        return self._sha256.hexdigest()


class Location:
    """All of its methods block: call them in a thread."""

    def __init__(self, files: fs.FileSystem, root: str) -> None:
        self.files = files
        self.root = root

    def path(self, part: str, generation: int, name: str) -> str:
        return f"{self._generation(part, generation)}/{name}"

    def parts(self) -> list[str]:
        return sorted(name for name in self._folders(self.root) if "-" in name)

    def generations(self, part: str) -> list[int]:
        names = self._folders(f"{self.root}/{part}")
        return sorted(int(name) for name in names if name.isdigit())

    def manifest(self, part: str, generation: int) -> Manifest | None:
        """None if there is none yet. ArchiveDamaged if it cannot be read."""
        path = self.path(part, generation, _MANIFEST)
        if self.files.get_file_info(path).type != fs.FileType.File:
            return None
        with self.files.open_input_file(path) as file:
            text = file.read(_LARGEST_MANIFEST)
        try:
            manifest = msgspec.json.decode(text, type=Manifest)
        except msgspec.DecodeError as error:
            raise ArchiveDamaged(f"{path} is no manifest: {error}") from None
        if (manifest.part, manifest.generation) != (part, generation):
            raise ArchiveDamaged(f"{path} is the manifest of {manifest.part}/{manifest.generation}")
        return manifest

    def newest_manifest(self, part: str) -> Manifest | None:
        """What was written without a manifest was never finished."""
        manifests = (self.manifest(part, generation) for generation in reversed(self.generations(part)))
        return next((manifest for manifest in manifests if manifest), None)

    def write_manifest(self, manifest: Manifest) -> None:
        path = self.path(manifest.part, manifest.generation, _MANIFEST)
        with self.create(path) as file:
            file.write(msgspec.json.format(msgspec.json.encode(manifest)))

    def checksum(self, path: str) -> tuple[int, str]:
        """The size and the checksum of a file as it is stored."""
        size, digest = 0, sha256()
        with self.files.open_input_file(path) as file:
            while data := file.read(_CHUNK):
                size += len(data)
                digest.update(data)
        return size, digest.hexdigest()

    def delete_generation(self, part: str, generation: int) -> None:
        """The manifest goes first: what is left of it afterwards is no part of the archive."""
        manifest = self.path(part, generation, _MANIFEST)
        if self.files.get_file_info(manifest).type == fs.FileType.File:
            self.files.delete_file(manifest)
        self.files.delete_dir(self._generation(part, generation))

    @contextmanager
    def create(self, path: str) -> Iterator[HashingFile]:
        """A new file. If this fails there is none, or a part of it without a manifest."""
        with self.files.open_output_stream(path) as stream:
            yield HashingFile(stream)

    def _generation(self, part: str, generation: int) -> str:
        return f"{self.root}/{part}/{generation:06d}"

    def _folders(self, path: str) -> list[str]:
        found = self.files.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return [info.base_name for info in found if info.type == fs.FileType.Directory]


class FolderLocation(Location):
    """A folder of this machine. What was written is on the disk when `create` ends."""

    def __init__(self, folder: Path) -> None:
        super().__init__(fs.LocalFileSystem(), str(folder.absolute()))

    @contextmanager
    def create(self, path: str) -> Iterator[HashingFile]:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.draft")
        with draft.open("wb") as stream:
            yield HashingFile(stream)
            _sync(stream)
        draft.replace(file)
        for folder in list(file.parents)[:3]:  # the generation, the part, the archive
            _sync_folder(folder)


def open_location(url: str, environment: Mapping[str, str]) -> Location:
    address = parse_archive_url(url)
    if not address.is_remote:
        return FolderLocation(Path(address.path))
    endpoint = next((environment[name] for name in _ENDPOINT if environment.get(name)), None)
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    return Location(fs.S3FileSystem(endpoint_override=endpoint, region=region), address.path)


def failures() -> tuple[type[Exception], ...]:
    """What the methods of a location raise when the store cannot be reached, or refuses."""
    return OSError, pa.ArrowException, ArchiveDamaged


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
