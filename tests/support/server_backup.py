"""Backs a PostgreSQL up as docs/operate/backup.md says: a base backup, and the WAL as it is written."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from support.stoppable_postgres import StoppablePostgres
from tickwork.store.embedded.run_postgres_programs import hand_over

_SLOT = "tickwork"
_CONFIGURATION = """
restore_command = 'cp {wal}/%f "%p" || cp {wal}/%f.partial "%p"'
"""


class ServerBackup:
    def __init__(self, primary: StoppablePostgres, folder: Path) -> None:
        self._primary = primary
        self._wal, self._base = folder / "wal", folder / "base"
        for each in (self._wal, self._base):
            each.mkdir(mode=0o700)
            hand_over(each)
        self._receiver: subprocess.Popen[bytes] | None = None

    def start_receiving(self) -> None:
        self._primary._run("pg_receivewal", *self._common(), "--create-slot", "--if-not-exists")
        user = "pgserver" if os.geteuid() == 0 else None
        self._receiver = subprocess.Popen(
            [str(self._primary._programs / "pg_receivewal"), *self._common(), "--synchronous", "--no-loop"],
            user=user, group=user, extra_groups=[] if user else None, cwd="/",
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def _common(self) -> list[str]:
        return ["--directory", str(self._wal), "--slot", _SLOT, "--dbname", self._primary.url]

    def take_base(self) -> None:
        arguments = ("--pgdata", str(self._base), "--checkpoint", "fast", "--wal-method", "none")
        self._primary._run("pg_basebackup", *arguments, "--dbname", self._primary.url)

    def stop_receiving(self) -> None:
        if self._receiver and self._receiver.poll() is None:
            self._receiver.send_signal(signal.SIGINT)
        if self._receiver:
            self._receiver.wait()

    def restore(self, to: StoppablePostgres) -> None:
        """Everything that was received."""
        to._folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self._base, to._cluster, symlinks=True)
        with (to._cluster / "postgresql.auto.conf").open("a") as configuration:
            configuration.write(_CONFIGURATION.format(wal=self._wal))
        (to._cluster / "recovery.signal").touch()
        for left in to._cluster.glob(".s.PGSQL*"):
            left.unlink()
        to._cluster.chmod(0o700)
        hand_over(to._cluster)
        to._prepare()
        to._launch()
