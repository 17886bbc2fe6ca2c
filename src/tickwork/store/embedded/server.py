"""The embedded PostgreSQL: a private server in the data folder, used when no database URL is given.

The binaries come with a dependency. This module starts and stops them, because that package's own manager shares a lock
file between users and opens folders to everyone.
"""

import asyncio
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import quote

import structlog

from tickwork.model.errors import TickworkError
from tickwork.store.embedded.private_access import admit, is_private, make_private_folder, own_folder
from tickwork.store.embedded.run_postgres_programs import binaries, call, hand_over, server_uid, user_names

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")

DATABASE = "tickwork"
_ROLE = "tickwork"
_PORT = 5432  # part of the socket's file name: the server does not listen on the network
_LONGEST_SOCKET_PATH = 100
_NOT_RUNNING = 3  # exit code of pg_ctl status
_LINE_OF_SOCKET_FOLDER = 4  # in postmaster.pid
# Sorts by code point, which is fast and the same on every machine, but knows the letters of all languages.
_LOCALE = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
_NO_NETWORK = "listen_addresses = ''\n"
_CONFIGURATION = """
max_connections = 100
shared_buffers = '256MB'
max_wal_size = '4GB'
checkpoint_timeout = '15min'
wal_compression = on
autovacuum_naptime = '10s'
autovacuum_vacuum_insert_scale_factor = 0.5
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
"""


class FolderInUse(TickworkError):
    pass


class EmbeddedPostgres:
    """One cluster in one folder, durable as any other: fsync and synchronous_commit stay on.

    With other `programs` than the embedded ones, the cluster has their default settings.
    """

    def __init__(self, folder: Path, programs: Path | None = None) -> None:
        self._folder = folder.absolute()
        self._programs = programs or binaries()
        self._is_stock = programs is not None
        self._cluster = self._folder / "postgres"
        self._lock: IO[str] | None = None
        self._short_folder: Path | None = None  # of the socket, when the path of the cluster is too long

    def start(self) -> str:
        """Start the server, and create the cluster on first use. Returns the URL of its database."""
        own_folder(self._folder)
        self._take_folder()
        try:
            self._prepare()
            if not self._running():
                self._launch()
            self._make_database()
        except BaseException:
            self._release_folder()
            raise
        return self.url

    @property
    def url(self) -> str:
        return f"postgresql://{_ROLE}@/{DATABASE}?host={quote(str(self._socket_folder()))}&port={_PORT}"

    def options(self) -> tuple[str, ...]:
        """Connection options for PostgreSQL's own programs."""
        return "-h", str(self._socket_folder()), "-p", str(_PORT), "-U", _ROLE

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Lock the folder, so that no other process uses it."""
        self._take_folder()
        try:
            yield
        finally:
            self._release_folder()

    async def keep_alive(self) -> bool:
        """Start the server again if it has died. Returns False: there is never more to do."""
        if not self._answers():
            await asyncio.to_thread(self._revive)
        return False

    def stop(self) -> None:
        if self._cluster.exists():
            hand_over(self._cluster)  # its parent folders may have been closed since
        if self._running():
            socket_folder = self._socket_folder()
            self._pg_ctl("stop", "-m", "fast")
            if socket_folder != self._cluster:
                with suppress(OSError):
                    socket_folder.rmdir()
        self._release_folder()

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as end:
            try:
                end.connect(str(self._socket_folder() / f".s.PGSQL.{_PORT}"))
            except OSError:
                return False
        return True

    def _revive(self) -> None:
        if not self._running():
            _log.warning("the embedded PostgreSQL has died; starting it again")
            self._launch()

    def _launch(self) -> None:
        folder = shlex.quote(str(self._socket_folder()))
        options = f"-k {folder} -p {_PORT} -c unix_socket_permissions=0700"  # PGPORT may say otherwise
        self._pg_ctl("start", "-l", str(self._cluster / "server.log"), "-o", options)

    def _take_folder(self) -> None:
        if sys.platform == "win32":
            return
        import fcntl  # noqa: PLC0415 (not on Windows)

        self._lock = (self._folder / "lock").open("a+")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise FolderInUse(
                f"the data folder {self._folder} is in use by another Tickwork: "
                "stop that one, or choose another --data-dir"
            ) from None

    def _release_folder(self) -> None:
        if self._lock:
            self._lock.close()

    def _prepare(self) -> None:
        if not (self._cluster / "PG_VERSION").exists():
            self._make_cluster()
        hand_over(self._cluster)
        if admit(self._cluster, user_names(), _ROLE, server_uid()) and self._running():
            self._pg_ctl("reload")

    def _make_cluster(self) -> None:
        """Create the cluster in another folder and rename it when it is complete: a first start may be killed."""
        for left_over in self._folder.glob("postgres-*"):
            shutil.rmtree(left_over, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix="postgres-", dir=self._folder))
        hand_over(draft)
        locale = ("--locale=C.UTF-8",) if self._is_stock else _LOCALE
        self._run("initdb", "--auth=peer", "--encoding=utf8", *locale, "-U", _ROLE, "-D", str(draft))
        with (draft / "postgresql.conf").open("a") as configuration:
            configuration.write(_NO_NETWORK if self._is_stock else _NO_NETWORK + _CONFIGURATION)
        draft.rename(self._cluster)

    def _make_database(self) -> None:
        databases = self._run(
            "psql", *self.options(), "-d", "postgres", "-Atc", "SELECT datname FROM pg_database"
        )
        if DATABASE not in databases.split():
            self._run("createdb", *self.options(), DATABASE)

    def _socket_folder(self) -> Path:
        """The folder of the cluster, which only its owner may enter, unless its path is too long for a socket."""
        if _is_short_enough(self._cluster):
            return self._cluster
        if self._short_folder is None or not is_private(self._short_folder, server_uid()):
            self._short_folder = self._short_folder_in_use() or self._make_short_folder()
        return self._short_folder

    def _short_folder_in_use(self) -> Path | None:
        """The socket folder of a server that is still running. TickworkError when it is not private any more."""
        try:
            lines = (self._cluster / "postmaster.pid").read_text().splitlines()
        except OSError:
            return None
        stated = lines[_LINE_OF_SOCKET_FOLDER] if len(lines) > _LINE_OF_SOCKET_FOLDER else ""
        folder = Path(stated)
        if stated and is_private(folder, server_uid()):
            return folder
        if self._running():
            raise TickworkError(
                f"the embedded PostgreSQL runs with its socket in {stated}, which is not private any more: "
                f"stop it with `kill {lines[0]}` and start again"
            )
        return None

    def _make_short_folder(self) -> Path:
        folder = make_private_folder("tickwork-", server_uid())
        if not _is_short_enough(folder):
            folder.rmdir()
            raise TickworkError(
                f"both {self._cluster} and {folder} are too long for a socket: choose a shorter --data-dir"
            )
        return folder

    def _running(self) -> bool:
        if not (self._cluster / "postmaster.pid").exists():
            return False
        status = call(self._programs / "pg_ctl", "status", "-D", str(self._cluster))
        if status.returncode not in (0, _NOT_RUNNING):
            raise TickworkError(f"the status of the embedded PostgreSQL is unknown: {status.stdout}".rstrip())
        return status.returncode == 0

    def _pg_ctl(self, verb: str, *arguments: str) -> None:
        self._run("pg_ctl", verb, "-w", "-t", "60", "-D", str(self._cluster), *arguments)

    def _run(self, program: str, *arguments: str) -> str:
        done = call(self._programs / program, *arguments)
        if done.returncode:
            log = self._cluster / "server.log"
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:]) if log.exists() else ""
            raise TickworkError(
                f"the embedded PostgreSQL could not {program}:\n{done.stdout}{done.stderr}{tail}".rstrip()
            )
        return done.stdout


def _is_short_enough(folder: Path) -> bool:
    return len(str(folder)) < _LONGEST_SOCKET_PATH - len(f"/.s.PGSQL.{_PORT}.lock")


@contextmanager
def reached(folder: Path) -> Iterator[EmbeddedPostgres]:
    """The database in a data folder, started for the time of this block if it does not run."""
    if not (folder / "postgres").exists():
        raise TickworkError(f"there is no database in {folder.absolute()}: name its folder with --data-dir")
    postgres = EmbeddedPostgres(folder)
    try:
        postgres.start()
    except FolderInUse:
        yield postgres
        return
    try:
        yield postgres
    finally:
        postgres.stop()
