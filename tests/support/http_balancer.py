"""HAProxy in front of servers, with the configuration that deploy/haproxy ships, but on loopback and without TLS."""

import asyncio
import re
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from support.docs_page import ROOT
from support.free_port import free_port
from support.waiting import eventually

PROGRAM = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
_SHIPPED = ROOT / "deploy" / "haproxy" / "tickwork-http.cfg"
_START_WITHIN = 60.0


class HttpBalancer:
    def __init__(self, servers: Sequence[str], folder: Path) -> None:
        """`servers`: their URLs."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._control = folder / "haproxy.sock"
        self._configuration = folder / "haproxy.cfg"
        self._configuration.write_text(self._text(servers))
        self._process: subprocess.Popen[bytes] | None = None

    def _text(self, servers: Sequence[str]) -> str:
        text = _SHIPPED.read_text()
        text = re.sub(r"^ +bind :443 .*$", f"    bind 127.0.0.1:{self.port}", text, flags=re.MULTILINE)
        text = re.sub(r"^ +(bind :80|http-request redirect .*)\n", "", text, flags=re.MULTILINE)
        text = text.replace("global\n", f"global\n    stats socket {self._control} level operator\n", 1)
        for number, url in enumerate(servers, start=1):
            text = text.replace(f"tickwork-{number}.example.com:8080", urlsplit(url).netloc)
        assert "example.com:8080" not in text
        return text

    async def start(self) -> None:
        assert PROGRAM
        self._process = subprocess.Popen(  # noqa: ASYNC220 (it is ended by its own process id)
            [PROGRAM, "-db", "-f", str(self._configuration)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await eventually(self._control.exists, within=_START_WITHIN, what="HAProxy")
        await self.until_up(1)
        await self.until_up(2)

    async def until_up(self, server: int) -> None:
        await eventually(
            lambda: self.status(server) == "UP", within=_START_WITHIN, what=f"server {server} behind HAProxy"
        )

    def status(self, server: int) -> str:
        """UP, DOWN, or a sentence in between."""
        with socket.socket(socket.AF_UNIX) as end:
            end.connect(str(self._control))
            end.sendall(b"show stat\n")
            answer = b"".join(iter(lambda: end.recv(65536), b"")).decode()
        heads, *rows = [line.split(",") for line in answer.splitlines() if line]
        place = heads.index("status")
        return next(row[place] for row in rows if row[1] == f"server-{server}")

    async def stop(self) -> None:
        if self._process:
            self._process.terminate()
            await asyncio.to_thread(self._process.wait)
