"""Which addresses HTTP jobs may call: the public internet, and private networks opened on purpose.

The table is our own, because `ipaddress.is_global` counts several addresses that lead into a private network as global.
It has every block of the IANA special-purpose registries, even the few that are reachable, because no service is there.
"""

import asyncio
import socket
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_interface, ip_network
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LOOPBACK: tuple[Network, ...] = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))

_SPECIAL_IPV4 = {
    IPv4Network("0.0.0.0/8"): "an address of this machine",
    IPv4Network("10.0.0.0/8"): "a private address",
    IPv4Network("100.64.0.0/10"): "a shared provider address",
    IPv4Network("127.0.0.0/8"): "a loopback address",
    IPv4Network("168.63.129.16/32"): "the platform address of a cloud",
    IPv4Network("169.254.0.0/16"): "a link-local address",
    IPv4Network("172.16.0.0/12"): "a private address",
    IPv4Network("192.0.0.0/24"): "a protocol address",
    IPv4Network("192.0.2.0/24"): "a documentation address",
    IPv4Network("192.31.196.0/24"): "a protocol address",
    IPv4Network("192.52.193.0/24"): "a protocol address",
    IPv4Network("192.88.99.0/24"): "a 6to4 relay address",
    IPv4Network("192.168.0.0/16"): "a private address",
    IPv4Network("192.175.48.0/24"): "a protocol address",
    IPv4Network("198.18.0.0/15"): "a benchmarking address",
    IPv4Network("198.51.100.0/24"): "a documentation address",
    IPv4Network("203.0.113.0/24"): "a documentation address",
    IPv4Network("224.0.0.0/4"): "a multicast address",
    IPv4Network("240.0.0.0/4"): "a reserved address",
}
_SPECIAL_IPV6 = {
    IPv6Network("::/128"): "an address of this machine",
    IPv6Network("::1/128"): "a loopback address",
    IPv6Network("::/96"): "an IPv4-compatible address",
    IPv6Network("::ffff:0:0:0/96"): "an IPv4-translated address",
    IPv6Network("64:ff9b:1::/48"): "a local NAT64 address",
    IPv6Network("100::/64"): "a discard address",
    IPv6Network("100:0:0:1::/64"): "a discard address",
    IPv6Network("2001::/32"): "a Teredo address",
    IPv6Network("2001::/23"): "a protocol address",
    IPv6Network("2001:db8::/32"): "a documentation address",
    IPv6Network("2002::/16"): "a 6to4 address",
    IPv6Network("2620:4f:8000::/48"): "a protocol address",
    IPv6Network("3fff::/20"): "a documentation address",
    IPv6Network("5f00::/16"): "a segment routing address",
    IPv6Network("fc00::/7"): "a private address",
    IPv6Network("fe80::/10"): "a link-local address",
    IPv6Network("fec0::/10"): "a site-local address",
    IPv6Network("ff00::/8"): "a multicast address",
}
_PUBLIC_IPV6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_METADATA = frozenset(
    map(
        ip_address,
        (
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure
            "169.254.169.254",  # AWS, Azure, Google, Oracle and many more
            "169.254.170.2",  # AWS containers
            "169.254.170.23",  # AWS pods
            "192.0.0.192",  # Oracle, old
            "fd00:ec2::23",  # AWS pods
            "fd00:ec2::254",  # AWS
            "fd20:ce::254",  # Google
            "fe80::a9fe:a9fe",  # OpenStack
        ),
    )
)


class AddressDenied(Exception):
    """HTTP jobs must not call this address."""


@dataclass(frozen=True)
class AddressPolicy:
    allow: tuple[Network, ...] = ()

    @classmethod
    def of(cls, networks: Iterable[str], *, loopback: bool = False) -> "AddressPolicy":
        """From the items of TICKWORK_HTTP_ALLOW; ValueError names the bad one."""
        return cls(tuple(map(parse_network, networks)) + (LOOPBACK if loopback else ()))

    def permits(self, address: Address) -> bool:
        return self.denial(address) is None

    def denial(self, address: Address) -> str | None:
        """Why the address must not be called, to follow the word "is"; None when it may."""
        target = _translate(address)
        if self._allows(target):
            return None
        if target in _METADATA:
            return f"a cloud's metadata service (opened only by naming it alone: {ip_network(target)})"
        return _special_use(target)

    def check(self, host: str, address: str) -> None:
        reason = self.denial(ip_address(address.partition("%")[0]))
        if reason:
            where = address if host == address else f"{host} leads to {address}, which"
            raise AddressDenied(f"{where} is {reason}; TICKWORK_HTTP_ALLOW does not let HTTP jobs call it")

    def _allows(self, address: Address) -> bool:
        """Allowing a network does not allow a metadata service in it: that must be named by itself."""
        if address in _METADATA:
            return ip_network(address) in self.allow
        return any(address in network for network in self.allow)


def parse_network(text: str) -> Network:
    try:
        return ip_network(text.strip())
    except ValueError:
        raise ValueError(f"{text.strip()!r} is not a network: {_correction(text.strip())}") from None


def _correction(text: str) -> str:
    try:
        return f"did you mean {ip_interface(text).network}?"
    except ValueError:
        return "write it as 10.0.0.0/8 or fd00::/8"


def _translate(address: Address) -> Address:
    """The IPv4 address that the system or a NAT64 gateway translates an IPv6 address to."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address


def _special_use(address: Address) -> str | None:
    table = _SPECIAL_IPV4 if isinstance(address, IPv4Address) else _SPECIAL_IPV6
    for network, use in table.items():
        if address in network:
            return use
    if isinstance(address, IPv6Address) and address not in _PUBLIC_IPV6:
        return "a reserved address"
    return None


_LOOK_UPS_AT_ONCE = (
    32  # each blocks a thread; the pool is our own, so that slow name servers delay nothing else
)
_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV

AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]  # as getaddrinfo returns it


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
