"""Which server, without being told."""

import os
from pathlib import Path

import pytest

from tickwork.client.find_server import Address, find_server
from tickwork.model.errors import Invalid, NotAllowed, Unavailable


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def leave_traces(data_dir: Path, url: str = "http://127.0.0.1:8080", key: str = "local") -> None:
    data_dir.mkdir()
    (data_dir / "server.json").write_text(f'{{"url": "{url}", "pid": 1}}')
    (data_dir / "admin.key").write_text(f"{key}\n")


def test_what_is_given_comes_before_the_environment(folder):
    env = {"TICKWORK_URL": "http://env", "TICKWORK_API_KEY": "env"}
    assert find_server("http://given", "given", env=env) == Address("http://given", "given")
    assert find_server(env=env) == Address("http://env", "env")


def test_the_environment_comes_before_the_data_folder(folder):
    leave_traces(folder / ".tickwork")
    env = {"TICKWORK_URL": "http://env", "TICKWORK_API_KEY": "env"}
    assert find_server(env=env) == Address("http://env", "env")


def test_finds_the_server_of_a_folder_above(folder, monkeypatch):
    leave_traces(folder / ".tickwork")
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert find_server(env={}) == Address("http://127.0.0.1:8080", "local")


def test_finds_a_data_folder_of_another_name(folder):
    leave_traces(folder / "elsewhere")
    expected = Address("http://127.0.0.1:8080", "local")
    assert find_server(env={"TICKWORK_DATA_DIR": "elsewhere"}) == expected
    assert find_server(data_dir=folder / "elsewhere", env={}) == expected


def test_a_key_from_the_environment_is_used_with_the_local_server(folder):
    leave_traces(folder / ".tickwork")
    assert find_server(env={"TICKWORK_API_KEY": "env"}).key == "env"


def test_says_what_to_do_when_there_is_no_server(folder):
    with pytest.raises(Unavailable, match="`tickwork up`, or set TICKWORK_URL and TICKWORK_API_KEY"):
        find_server(env={})


def test_the_local_key_is_not_sent_to_a_server_elsewhere(folder):
    leave_traces(folder / ".tickwork")
    with pytest.raises(NotAllowed, match="set TICKWORK_API_KEY"):
        find_server(env={"TICKWORK_URL": "http://elsewhere"})


def test_an_address_without_a_scheme_is_refused(folder):
    with pytest.raises(Invalid, match=r"127\.0\.0\.1:8080"):
        find_server("127.0.0.1:8080", "key", env={})


def test_a_key_that_no_header_can_carry_is_refused(folder):
    with pytest.raises(NotAllowed, match="characters that no key has"):
        find_server("http://127.0.0.1:8080", "tw_schlüssel", env={})


def test_a_missing_key_file_says_so(folder):
    leave_traces(folder / ".tickwork")
    (folder / ".tickwork" / "admin.key").unlink()
    with pytest.raises(NotAllowed, match=r"admin\.key cannot be read"):
        find_server(env={})


@pytest.mark.skipif(os.name == "nt", reason="files have no such owner there")
def test_passes_by_a_data_folder_of_somebody_else(folder, monkeypatch):
    leave_traces(folder / ".tickwork")
    somebody = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: somebody)
    if (folder / ".tickwork" / "server.json").stat().st_uid == 0:
        os.chown(folder / ".tickwork" / "server.json", somebody + 1, -1)
    with pytest.raises(Unavailable):
        find_server(env={})
