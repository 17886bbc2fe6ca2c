"""A data folder comes back from its backup, whole or not at all."""

import asyncio
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import asyncpg
import msgspec
import pytest

from support.run_command import tickwork
from support.up_process import Up
from tickwork.model.errors import TickworkError
from tickwork.store.embedded.run_postgres_programs import output_of
from tickwork.store.embedded.server import EmbeddedPostgres
from tickwork.store.migrate import upgrade

KEY = "tw_a-key-that-nobody-guesses\n"


def done(*words: str | Path) -> str:
    run = tickwork(*words)
    assert run.returncode == 0, run.stderr
    return run.stderr


@pytest.fixture
def starts_up(tmp_path: Path) -> Iterator[list[Up]]:
    started: list[Up] = []
    yield started
    for up in started:
        up.kill()


def test_what_was_backed_up_while_it_ran_goes_on_from_there(tmp_path, starts_up):
    starts_up.append(Up(tmp_path / "data"))
    with starts_up[0].client() as client:
        once = client.create_job(task="tasks.hello", payload={"name": "you"})
        assert client.wait_for_job(once.id, timeout=30).result == "hello you"
        paused = client.create_job(
            task="tasks.hello", payload={"name": "again"}, schedule="every 1h", key="k"
        )
        secret = {"url": "https://a.example/", "headers": {"Authorization": "Bearer abcdef"}}
        client.create_job(http=secret, schedule="every 1h", key="http")
    done("db", "backup", tmp_path / "backup", "--data-dir", tmp_path / "data")
    with starts_up[0].client() as client:
        client.create_job(task="tasks.hello", payload={"name": "too late"})
    starts_up[0].stop()
    done("db", "restore", tmp_path / "backup", "--data-dir", tmp_path / "restored")
    starts_up.append(Up(tmp_path / "restored"))
    with starts_up[1].client() as client:
        assert client.get_cluster().paused
        assert client.resume_cluster().resumed
        assert [job.id for job in client.list_jobs().items] == ["j3", paused.id, once.id]
        (execution,) = client.list_executions(job=once.id).items
        assert execution.result == "hello you"
        run = client.run_job(paused.id)
        assert client.wait_for_execution(run.id, timeout=30).result == "hello again"
        new = client.create_job(task="tasks.hello", payload={"name": "new"})
        assert client.wait_for_job(new.id, timeout=30).result == "hello new"
    starts_up[1].stop()
    key = (tmp_path / "restored" / "admin.key").stat()
    assert stat.S_IMODE(key.st_mode) == 0o600


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """A data folder that nobody uses."""
    with tempfile.TemporaryDirectory(prefix="tickwork-test-") as folder:
        data = Path(folder) / "data"
        postgres = EmbeddedPostgres(data)
        asyncio.run(upgrade(postgres.start()))
        postgres.stop()
        (data / "admin.key").write_text(KEY)
        yield data


@pytest.fixture(scope="module")
def whole(data: Path) -> Path:
    """A backup of it."""
    file = data.parent / "whole"
    done("db", "backup", file, "--data-dir", data)
    return file


def test_a_backup_is_for_its_owner_and_replaces_nothing_unasked(data, whole):
    assert stat.S_IMODE(whole.stat().st_mode) == 0o600
    before = whole.read_bytes()
    again = tickwork("db", "backup", whole, "--data-dir", data)
    assert again.returncode == 4
    assert "is there already" in again.stderr
    assert whole.read_bytes() == before
    done("db", "backup", whole, "--data-dir", data, "--force")
    assert whole.read_bytes() != before
    assert sorted(path.name for path in data.parent.iterdir()) == ["data", "whole"]


def test_a_backup_that_fails_leaves_no_file(data, tmp_path):
    shutil.copytree(data / "postgres", tmp_path / "data" / "postgres", symlinks=True)
    (tmp_path / "data" / "admin.key").mkdir()
    run = tickwork("db", "backup", tmp_path / "backup", "--data-dir", tmp_path / "data")
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_program_that_fails_is_told_with_its_words():
    with (
        pytest.raises(TickworkError, match="unrecognized option"),
        output_of("pg_dump", "--nonsense") as source,
    ):
        source.read()


def damaged(whole: Path, to: Path, name: str) -> None:
    """One byte of a member is another one, and the zip itself knows nothing of it."""
    with ZipFile(whole) as source, ZipFile(to, "w") as target:
        for member in source.namelist():
            content = bytearray(source.read(member))
            if member == name:
                content[len(content) // 2] ^= 1
            target.writestr(member, bytes(content))


@pytest.mark.parametrize("part", ["database.dump", "admin.key", "manifest.json", "end", "middle"])
def test_nothing_is_restored_from_a_damaged_backup(whole, tmp_path, part):
    bad = tmp_path / "bad"
    if part == "end":
        bad.write_bytes(whole.read_bytes()[:-1000])
    elif part == "middle":
        content = bytearray(whole.read_bytes())
        content[len(content) // 2] ^= 1
        bad.write_bytes(content)
    else:
        damaged(whole, bad, part)
    run = tickwork("db", "restore", bad, "--data-dir", tmp_path / "restored")
    assert run.returncode == 1
    assert "damaged" in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "restored" / "postgres").exists()
    assert not (tmp_path / "restored" / "admin.key").exists()


def test_after_a_try_that_was_killed_the_next_one_begins_anew(whole, tmp_path):
    folder = tmp_path / "restored"
    left_behind = EmbeddedPostgres(folder / "restore-killed")
    left_behind.start()
    left_behind._release_folder()
    (folder / "admin.key").write_text(KEY)
    done("db", "restore", whole, "--data-dir", folder)
    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", "admin.key", "lock", "postgres"]
    assert (folder / "admin.key").read_text() == KEY
    postgres = EmbeddedPostgres(folder)
    assert asyncio.run(_migrations(postgres.start())) > 0
    postgres.stop()


async def _migrations(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval("SELECT count(*) FROM tickwork.migration")
    finally:
        await connection.close()


def test_a_folder_that_is_used_is_left_alone(data, whole, tmp_path):
    (tmp_path / "admin.key").write_text("of another database")
    run = tickwork("db", "restore", whole, "--data-dir", tmp_path)
    assert run.returncode == 4
    assert "is not empty (admin.key is in it)" in run.stderr
    assert (tmp_path / "admin.key").read_text() == "of another database"
    assert tickwork("db", "restore", whole, "--data-dir", data).returncode == 4
    with EmbeddedPostgres(data).kept():
        assert "in use by another Tickwork" in tickwork("db", "restore", whole, "--data-dir", data).stderr


def test_a_backup_of_a_newer_version_is_refused(whole, tmp_path):
    with ZipFile(whole) as source, ZipFile(tmp_path / "newer", "w") as target:
        manifest = msgspec.json.decode(source.read("manifest.json"))
        target.writestr("manifest.json", msgspec.json.encode({**manifest, "schema": 9999, "tickwork": "9.9"}))
    run = tickwork("db", "restore", tmp_path / "newer", "--data-dir", tmp_path / "restored")
    assert run.returncode == 1
    assert "was made by Tickwork 9.9" in run.stderr
    assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize(
    ("words", "env", "code", "told"),
    [
        (["backup", "x"], {"TICKWORK_DATABASE_URL": "postgresql://host/name"}, 2, "use pg_dump"),
        (["restore", "x"], {"TICKWORK_DATABASE_URL": "postgresql://host/name"}, 2, "use pg_restore"),
        (["backup", "x", "--data-dir", "nowhere"], {}, 1, "there is no database in"),
        (["restore", "nothing", "--data-dir", "nowhere"], {}, 2, "there is no nothing"),
    ],
)
def test_what_cannot_be_is_said(words, env, code, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = tickwork("db", *words, **env)
    assert (run.returncode, told in run.stderr) == (code, True), run.stderr
    assert list(tmp_path.iterdir()) == []
