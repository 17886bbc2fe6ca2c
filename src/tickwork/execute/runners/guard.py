"""The only way from a URL to a socket.

A name is looked up once, every address it has is checked, and the connection goes to one of exactly these
addresses: there is no second look-up that could answer otherwise. aiohttp asks no resolver about an address
written in the URL, therefore each socket is checked once more before it connects.
"""

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from tickwork.execute.runners.address import AddressPolicy

_LOOK_UPS_AT_ONCE = 32  # each blocks a thread; our own ones, so that slow name servers hold up nothing else
_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV

AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]  # as getaddrinfo gives it


class AddressGuard(AbstractResolver):
    def __init__(self, policy: AddressPolicy, timeout: float) -> None:
        self._policy = policy
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(_LOOK_UPS_AT_ONCE, thread_name_prefix="look-up")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._look_up(host, port, family)
        for *_, address in found:
            self._policy.check(host, address[0])
        return [_resolved(host, info) for info in found]

    def open_socket(self, info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = info
        self._policy.check(address[0], address[0])
        return socket.socket(family, kind, protocol)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _look_up(self, host: str, port: int, family: int) -> Sequence[AddressInfo]:
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.get_running_loop().run_in_executor(
                    self._threads, _get_address_info, host, port, family
                )
        except TimeoutError:
            raise OSError(f"no answer within {self._timeout:g} s") from None


def _get_address_info(host: str, port: int, family: int) -> Sequence[AddressInfo]:
    return socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)


def _resolved(host: str, info: AddressInfo) -> ResolveResult:
    family, _, protocol, _, address = info
    return ResolveResult(
        hostname=host, host=address[0], port=address[1], family=family, proto=protocol, flags=_NUMERIC
    )
