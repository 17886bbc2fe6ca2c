"""Limits how often somebody may fail to sign in, by network address."""

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from time import monotonic

from tickwork.fixed_window_limit import FixedWindowLimit

MOST_FAILURES = 10
PERIOD = 60.0  # seconds
_MOST_ADDRESSES = 10_000


class SignInLimit:
    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._limit = FixedWindowLimit(MOST_FAILURES, PERIOD, _MOST_ADDRESSES, now)

    def wait(self, address: str) -> float:
        """Seconds until the address may try again; 0 if it may now."""
        return self._limit.wait(_group(address))

    def failed(self, address: str) -> None:
        self._limit.count(_group(address))


def _group(address: str) -> str:
    """One subscriber usually has a /64 of IPv6 addresses."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(parsed) if parsed.version == 4 else str(ip_network((parsed, 64), strict=False))  # noqa: PLR2004
