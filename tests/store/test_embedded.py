"""The embedded PostgreSQL among other users of the machine: none of them gets in, or gets between."""

import asyncio
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from tickwork.model.errors import TickworkError
from tickwork.store.embedded.private_access import admit, own_folder
from tickwork.store.embedded.run_postgres_programs import binaries, server_uid
from tickwork.store.embedded.server import EmbeddedPostgres

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
WHO_TRUSTS = "SELECT count(*) FROM pg_hba_file_rules WHERE auth_method <> 'peer'"


@pytest.fixture
def long_folder(tmp_path: Path) -> Path:
    """Too long for a socket."""
    folder = tmp_path / ("long-" * 20)
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    postgres = EmbeddedPostgres(tmp_path)
    yield postgres
    postgres.stop()


@pytest.fixture
def distant(long_folder: Path) -> Iterator[EmbeddedPostgres]:
    postgres = EmbeddedPostgres(long_folder)
    yield postgres
    postgres.stop()


def enter_as_nobody(url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(binaries() / "psql"), url, "-Atc", "SELECT 'inside'"],
        user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip


async def ask(url: str, question: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()


def socket_folder(url: str) -> Path:
    return Path(url.partition("host=")[2].partition("&")[0])


@as_root
def test_a_folder_that_another_user_made_beforehand_is_not_used(distant, long_folder):
    digest = hashlib.sha256(str(long_folder / "postgres").encode()).hexdigest()[:16]
    trap = Path(tempfile.gettempdir()) / f"tickwork-{os.geteuid()}-{digest}"
    trap.mkdir()
    try:
        trap.chmod(0o777)
        os.chown(trap, NOBODY, NOBODY)
        url = distant.start()
        assert socket_folder(url) != trap
        assert list(trap.iterdir()) == []
        assert "inside" not in enter_as_nobody(url).stdout
        assert asyncio.run(ask(url, "SELECT 1")) == 1
    finally:
        shutil.rmtree(trap)


def test_the_folder_of_a_distant_socket_is_private_and_goes_with_the_server(distant):
    folder = socket_folder(distant.start())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folder.stat().st_uid == server_uid()
    distant.stop()
    assert not folder.exists()


def test_a_server_that_was_left_behind_is_found_where_its_socket_is(distant, long_folder):
    url = distant.start()
    distant._release_folder()  # as if Tickwork had been killed, and PostgreSQL not
    second = EmbeddedPostgres(long_folder)
    assert second.start() == url
    second._release_folder()


def test_a_socket_folder_that_was_opened_to_others_is_refused(distant, long_folder):
    folder = socket_folder(distant.start())
    distant._release_folder()
    folder.chmod(0o755)
    with pytest.raises(TickworkError, match="not private any more"):
        EmbeddedPostgres(long_folder).start()
    folder.chmod(0o700)


def test_a_shared_folder_in_which_all_may_rename_is_refused(distant, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    with pytest.raises(TickworkError, match="sticky"):
        distant.start()


@as_root
def test_another_user_is_refused_even_when_every_folder_is_open(postgres, tmp_path):
    url = postgres.start()
    for opened in (tmp_path, tmp_path / "postgres", tmp_path / "postgres" / ".s.PGSQL.5432"):
        opened.chmod(0o777)
    answer = enter_as_nobody(url)
    assert answer.returncode != 0
    assert "Peer authentication failed" in answer.stderr


def test_a_cluster_that_trusted_everybody_does_so_no_more(postgres, tmp_path):
    url = postgres.start()
    rules = tmp_path / "postgres" / "pg_hba.conf"
    rules.write_text("local all all trust\n")
    postgres._pg_ctl("reload")
    postgres._release_folder()
    postgres.start()
    assert asyncio.run(ask(url, WHO_TRUSTS)) == 0
    postgres.stop()
    rules.write_text("local all all trust\n")
    assert asyncio.run(ask(postgres.start(), WHO_TRUSTS)) == 0


def test_nothing_listens_on_the_network(postgres):
    assert asyncio.run(ask(postgres.start(), "SHOW listen_addresses")) == ""


@as_root
def test_a_data_folder_of_another_user_is_refused(tmp_path):
    os.chown(tmp_path, NOBODY, NOBODY)
    with pytest.raises(TickworkError, match=f"belongs to user {NOBODY}"):
        EmbeddedPostgres(tmp_path).start()


@as_root
def test_a_data_folder_behind_a_link_of_another_user_is_refused(tmp_path):
    (tmp_path / "mine").mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "mine")
    own_folder(link)
    os.lchown(link, NOBODY, NOBODY)
    with pytest.raises(TickworkError, match="belongs to user"):
        own_folder(link)


def test_a_data_folder_that_others_may_write_to_is_closed(tmp_path):
    tmp_path.chmod(0o777)
    own_folder(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@as_root
def test_a_cluster_that_came_from_another_user_is_taken_over(postgres, tmp_path):
    postgres.start()
    postgres.stop()
    for place, folders, files in os.walk(tmp_path / "postgres"):
        for name in (".", *folders, *files):
            os.lchown(Path(place) / name, NOBODY, NOBODY)
    assert asyncio.run(ask(postgres.start(), "SELECT 1")) == 1


@as_root
def test_root_gives_away_no_file_that_lies_elsewhere_too(tmp_path):
    cluster = tmp_path / "postgres"
    cluster.mkdir()
    (cluster / "PG_VERSION").write_text("18\n")
    secret = tmp_path / "of-root"
    secret.write_text("secret")
    os.link(secret, cluster / "planted")
    os.chown(cluster, NOBODY, NOBODY)
    with pytest.raises(TickworkError, match="second name"):
        EmbeddedPostgres(tmp_path).start()
    assert secret.stat().st_uid == 0


def test_rules_are_written_beside_a_link_and_not_through_it(tmp_path):
    target = tmp_path / "precious"
    target.write_text("precious")
    (tmp_path / "pg_hba.conf").symlink_to(target)
    admit(tmp_path, ['o"brien'], "tickwork", os.geteuid())
    assert target.read_text() == "precious"
    assert 'tickwork "o""brien" "tickwork"' in (tmp_path / "pg_ident.conf").read_text()


async def test_variables_for_another_postgresql_do_not_keep_it_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGHOST": "db.example.com", "PGPORT": "6543", "PGDATABASE": "other"}.items():
        monkeypatch.setenv(name, value)
    postgres = EmbeddedPostgres(tmp_path)
    try:
        connection = await asyncpg.connect(await asyncio.to_thread(postgres.start))
        assert await connection.fetchval("SHOW port") == "5432"
        await connection.close()
    finally:
        await asyncio.to_thread(postgres.stop)


_ASK_FOR_USER = """
import sys
from tickwork.store.embedded import run_postgres_programs as programs

programs._SYSTEM_USER = sys.argv[1]
print(programs.server_uid())
"""


@as_root
def test_processes_that_start_at_once_on_a_new_machine_create_one_system_user() -> None:
    name = f"tickwork-test-{os.getpid()}"
    asking = [
        subprocess.Popen(
            [sys.executable, "-c", _ASK_FOR_USER, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    try:
        answers = [each.communicate(timeout=60) for each in asking]
    finally:
        subprocess.run(["userdel", name], check=False, capture_output=True)
    assert [error for _, error in answers if error] == []
    assert {uid for uid, _ in answers} == {answers[0][0]}
