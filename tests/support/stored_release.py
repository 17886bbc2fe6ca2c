"""What `make freeze` has stored of each release, in tests/store/releases."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from support.docs_page import ROOT
from tickwork.store.migration_file import Migration

RELEASES = ROOT / "tests" / "store" / "releases"
NONE_YET = "nothing is released yet: `make freeze` stores the first release"


class Listed(msgspec.Struct, frozen=True):
    """What the API of a release has listed of its database, and what is to become of it."""

    at: datetime  # by the database's clock
    goes_on: dict[str, str]  # by the names of jobs: how their executions end
    lists: dict[str, list[list[Any]]]  # by path: id or name, and status


class StoredRelease(NamedTuple):
    version: str
    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "database.sql"

    @property
    def checksums(self) -> Path:
        """As `sha256sum --check` reads it."""
        return self.folder / "migrations.sha256"

    @property
    def listed(self) -> Listed:
        return msgspec.json.decode((self.folder / "listed.json").read_bytes(), type=Listed)

    def write_listed(self, listed: Listed) -> None:
        text = msgspec.json.format(msgspec.json.encode(listed), indent=1)
        (self.folder / "listed.json").write_bytes(text + b"\n")

    def write_checksums(self, migrations: Sequence[Migration]) -> None:
        self.checksums.write_text("".join(f"{each.checksum}  {each.name}\n" for each in migrations), "utf-8")

    def broken_promises(self, migrations: Sequence[Migration]) -> list[str]:
        """Which of its migrations are not what they were, and what to do about each."""
        now = {migration.name: migration for migration in migrations}
        released = [line.split("  ", 1) for line in self.checksums.read_text("utf-8").splitlines()]
        places = [migration.name for migration in migrations]
        restore = "restore it, and put the change into a new migration"
        found = []
        for place, (checksum, name) in enumerate(released):
            if name not in now:
                found.append(f"{name} was released with {self.version} and is gone: {restore}")
            elif now[name].checksum != checksum:
                found.append(f"{name} was released with {self.version} and has changed: {restore}")
            elif places[place] != name:
                found.append(
                    f"{name} was released with {self.version} as number {place + 1}: put it there again"
                )
        return found


def stored_releases(folder: Path = RELEASES) -> list[StoredRelease]:
    """Oldest first."""
    found = [StoredRelease(each.name, each) for each in folder.iterdir() if each.is_dir()]
    return sorted(found, key=lambda release: [int(part) for part in release.version.split(".")])
