"""Where a request came from: from its connection, or from the headers of a proxy that the operator trusts."""

import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import NamedTuple

_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_FORWARDED = frozenset({b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-forwarded-prefix"})
_HOST = re.compile(r"[A-Za-z0-9.:\[\]_-]{1,255}")


class RequestOrigin(NamedTuple):
    address: str  # of the client
    scheme: str  # http or https
    host: str  # as the client addressed it, with the port if it has one
    prefix: str  # the path below which a proxy serves us, without a slash at the end; usually empty


UNKNOWN_ORIGIN = RequestOrigin("", "http", "", "")


class TrustedProxies:
    def __init__(self, networks: Sequence[str]) -> None:
        self._networks = [ip_network(network) for network in networks]

    def origin(self, peer: str, scheme: str, headers: Mapping[bytes, bytes]) -> RequestOrigin:
        host = _text(headers, b"host")
        if _FORWARDED.isdisjoint(headers) or not self._trusts(peer):
            return RequestOrigin(peer, scheme, host, "")
        prefix = _text(headers, b"x-forwarded-prefix").rstrip("/")
        forwarded_host = _first(_text(headers, b"x-forwarded-host"))
        return RequestOrigin(
            self._client(peer, _text(headers, b"x-forwarded-for")),
            "https" if _first(_text(headers, b"x-forwarded-proto")).lower() == "https" else scheme,
            forwarded_host if _HOST.fullmatch(forwarded_host) else host,
            prefix if _PREFIX.fullmatch(prefix) else "",
        )

    def _client(self, peer: str, forwarded_for: str) -> str:
        """Each proxy appends the address that it was called from: the last one that is no proxy of ours counts."""
        client = peer
        for address in reversed(forwarded_for.split(",")):
            if not self._trusts(client) or not address.strip():
                break
            client = address.strip()
        return client

    def _trusts(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)


def _text(headers: Mapping[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1").strip()


def _first(text: str) -> str:
    return text.partition(",")[0].strip()
