"""A file that keeps space for the embedded PostgreSQL."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tickwork.cli import main
from tickwork.store.embedded import disk_reserve_file


def _run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.output


def test_takes_the_space_and_gives_it_back(tmp_path: Path) -> None:
    code, said = _run("db", "reserve", "1MB", "--data-dir", str(tmp_path))
    assert code == 0, said
    file = tmp_path / disk_reserve_file.NAME
    assert file.stat().st_size == 1_000_000
    assert file.stat().st_blocks * 512 >= 1_000_000
    code, said = _run("db", "release", "--data-dir", str(tmp_path))
    assert code == 0, said
    assert not file.exists()


def test_says_so_when_there_is_nothing_to_release(tmp_path: Path) -> None:
    code, said = _run("db", "release", "--data-dir", str(tmp_path))
    assert code != 0
    assert "has no reserve file" in said


def test_explains_a_size_that_is_none(tmp_path: Path) -> None:
    code, said = _run("db", "reserve", "plenty", "--data-dir", str(tmp_path))
    assert code != 0
    assert "512MB" in said


def test_does_not_take_what_others_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_reserve_file, "_SPARED", 10**9)
    code, said = _run("db", "reserve", "1MB", "--data-dir", str(tmp_path))
    assert code != 0
    assert "are free" in said
    assert not (tmp_path / disk_reserve_file.NAME).exists()
