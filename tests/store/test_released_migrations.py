"""From its release on, a migration never changes: it was applied to databases that we do not know."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.stored_release import NONE_YET, StoredRelease, stored_releases
from tickwork.store.migration_file import Migration, migrations, read_migration

RELEASED = stored_releases()
FIRST = read_migration("0001_initial.sql", b"CREATE TABLE job ();")
SECOND = read_migration("0002_add_color.sql", b"ALTER TABLE job ADD color text;")
Check = Callable[..., list[str]]


@pytest.mark.skipif(not RELEASED, reason=NONE_YET)
def test_released_migrations_are_what_they_were() -> None:
    broken = [promise for release in RELEASED for promise in release.broken_promises(migrations())]
    assert broken == []


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """What is wrong with these migrations after a release with the first two."""
    release = StoredRelease("1.0.0", tmp_path)
    release.write_checksums([FIRST, SECOND])

    def check(*now: Migration) -> list[str]:
        return release.broken_promises(now)

    return check


def test_more_migrations_are_welcome(check: Check) -> None:
    assert check(FIRST, SECOND) == []
    assert check(FIRST, SECOND, read_migration("0003_drop_color.needs_0002.sql", b"")) == []


def test_a_change_is_noticed_and_the_way_out_told(check: Check) -> None:
    changed = read_migration(FIRST.name, b"CREATE TABLE job (id int);")
    assert check(changed, SECOND) == [
        "0001_initial.sql was released with 1.0.0 and has changed: restore it, and put the change into a new migration"
    ]


def test_a_removal_is_noticed(check: Check) -> None:
    (found,) = check(FIRST)
    assert found.startswith("0002_add_color.sql was released with 1.0.0 and is gone: restore it")


def test_another_name_is_a_removal(check: Check) -> None:
    renamed = read_migration("0002_add_colour.sql", SECOND.sql.encode())
    (found,) = check(FIRST, renamed)
    assert found.startswith("0002_add_color.sql was released with 1.0.0 and is gone")


def test_another_order_is_noticed(check: Check) -> None:
    between = read_migration("0001_more.sql", b"")
    assert check(FIRST, between, SECOND) == [
        "0002_add_color.sql was released with 1.0.0 as number 2: put it there again"
    ]


def test_releases_are_in_the_order_of_their_versions(tmp_path: Path) -> None:
    for version in ("0.10.0", "0.9.0", "1.0.0"):
        (tmp_path / version).mkdir()
    assert [release.version for release in stored_releases(tmp_path)] == ["0.9.0", "0.10.0", "1.0.0"]
