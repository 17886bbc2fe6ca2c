"""A host of its own on this machine, at the other end of a cable: what is lost there is lost as on a real network."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Direction = Literal["input", "output"]


class NetworkNamespace:
    def __init__(self) -> None:
        number = os.getpid() % 12_000
        self.name = f"tickwork-{number}"
        self._network = f"10.{201 + number // 240}.{number % 240}"

    @staticmethod
    def missing() -> str | None:
        """What this machine lacks for one."""
        if os.geteuid():
            return "root"
        return next((f"the program {name}" for name in ("ip", "nft") if not shutil.which(name)), None)

    @property
    def outside(self) -> str:
        """The address at this end of the cable."""
        return f"{self._network}.1"

    @property
    def prefix(self) -> list[str]:
        """Before the words of a command that is to run there."""
        return ["ip", "netns", "exec", self.name]

    def open(self) -> None:
        cable = f"tw{self.name.rpartition('-')[2]}"
        _run("ip", "netns", "add", self.name)
        _run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        _run("ip", "address", "add", f"{self.outside}/30", "dev", cable)
        _run("ip", "link", "set", cable, "up")
        _run("ip", "-n", self.name, "address", "add", f"{self._network}.2/30", "dev", "eth0")
        _run("ip", "-n", self.name, "link", "set", "eth0", "up")
        _run("ip", "-n", self.name, "link", "set", "lo", "up")

    def close(self) -> None:
        """The cable goes with it."""
        _run("ip", "netns", "delete", self.name)

    @contextmanager
    def cut(self, *directions: Direction) -> Iterator[None]:
        """Nothing comes in or goes out, and nobody is told."""
        for direction in directions:
            chain = f"{{ type filter hook {direction} priority 0; policy drop; }}"
            _run(*self.prefix, "nft", f"add table inet cut; add chain inet cut {direction} {chain}")
        yield
        _run(*self.prefix, "nft", "delete table inet cut")


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
