"""PgBouncer in front of a PostgreSQL, where a machine has it."""

import asyncio
import os
import shutil
import signal
import subprocess
from pathlib import Path

from support.cluster import die_with_parent
from support.waiting import eventually

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
_LISTENS_WITHIN = 30.0


class PgBouncer:
    """Hands out connections for a transaction at a time."""

    def __init__(self, folder: Path, port: int, database_socket: str) -> None:
        self.port = port
        self._configuration = folder / "pgbouncer.ini"
        self._log = folder / "pgbouncer.log"
        host = str(Path(database_socket).parent)
        self._configuration.write_text(
            f"[databases]\ntickwork = host={host} port=5432 dbname=tickwork user=tickwork\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\npool_mode = transaction\n"
            "default_pool_size = 25\nmax_client_conn = 200\nunix_socket_dir =\nserver_login_retry = 1\n"
        )
        self._process: subprocess.Popen[bytes]

    async def start(self) -> None:
        """It refuses to run as root, as PostgreSQL does."""
        run_as = ["--user", "pgserver"] if os.geteuid() == 0 else []
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: ASYNC220 (it does not wait for anything)
                [PGBOUNCER, *run_as, str(self._configuration)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 (calls nothing but the system)
            )  # fmt: skip
        await eventually(self._listens, within=_LISTENS_WITHIN, what="the start of PgBouncer")

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True
