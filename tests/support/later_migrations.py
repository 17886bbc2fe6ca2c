"""Migrations of a later version, for a test to bring along."""

import pytest

from tickwork.store import migrate
from tickwork.store.migration_file import Migration, migrations, read_migration


class LaterMigrations:
    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def __call__(self, **statements: str) -> list[str]:
        """By their names, with two underscores for a dot. Gives the names of the files."""
        made = [
            read_migration(name[1:].replace("__", ".") + ".sql", sql.encode())
            for name, sql in statements.items()
        ]
        known: list[Migration] = [*migrations(), *made]
        self._patch.setattr(migrate, "migrations", lambda: known)
        return [migration.name for migration in made]
