"""What `tickwork up` leaves in its data folder, and where it listens."""

import os
import socket
import stat

import msgspec
import pytest

from tickwork.cli.admin_key_and_server_file import (
    create_data_folder,
    read_admin_key,
    save_admin_key,
    server_file,
)
from tickwork.cli.server_command import PortInUse, listen, url_of
from tickwork.cli.up_command import _listen_on_next_free_port
from tickwork.client.find_server import Address, find_server
from tickwork.model.errors import TickworkError


def test_clients_find_the_server_while_it_runs_and_not_after(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".tickwork"
    create_data_folder(folder)
    save_admin_key(folder, "tw_secret")
    with server_file(folder, "http://127.0.0.1:8080"):
        assert find_server(env={}) == Address("http://127.0.0.1:8080", "tw_secret")
        assert msgspec.json.decode((folder / "server.json").read_bytes())["pid"] == os.getpid()
    assert not (folder / "server.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="files have no such mode there")
def test_nobody_else_can_read_the_key(tmp_path):
    folder = tmp_path / "data"
    create_data_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "admin.key").write_text("an old one, open to all")
    (folder / "admin.key").chmod(0o644)
    assert stat.S_IMODE(save_admin_key(folder, "tw_secret").stat().st_mode) == 0o600
    assert read_admin_key(folder) == "tw_secret"
    assert (folder / "admin.key.old").read_text() == "an old one, open to all"


def test_the_data_folder_stays_out_of_repositories(tmp_path):
    create_data_folder(tmp_path / "data")
    assert (tmp_path / "data" / ".gitignore").read_text() == "*\n"


def test_a_lost_key_is_named(tmp_path):
    with pytest.raises(TickworkError, match=r"admin\.key"):
        read_admin_key(tmp_path)


def test_a_taken_port_is_said_and_the_next_free_one_used(capsys):
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"port {port} is in use"):
            listen("127.0.0.1", port)
        with _listen_on_next_free_port("127.0.0.1", port) as near:
            assert near.getsockname()[1] > port
        assert f"port {port} is in use; using " in capsys.readouterr().err


def test_an_address_that_is_not_here_is_named():
    with pytest.raises(TickworkError, match=r"cannot listen on 192\.0\.2\.1:80"):
        listen("192.0.2.1", 80)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 (free for the length of a test)
def test_says_where_it_is_reached_from_here(host):
    with listen(host, 0) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_an_ipv6_address_is_written_in_brackets():
    try:
        with listen("::1", 0) as listener:
            assert url_of(listener).startswith("http://[::1]:")
    except TickworkError:
        pytest.skip("no IPv6 here")
