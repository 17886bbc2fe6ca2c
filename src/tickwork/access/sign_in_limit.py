"""Limits how often somebody may fail to sign in, by network address."""

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from time import monotonic

MOST_FAILURES = 10
PERIOD = 60.0  # seconds
_MOST_ADDRESSES = 10_000


class SignInLimit:
    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._failures: dict[str, tuple[float, int]] = {}  # the end of the period, and how many in it

    def wait(self, address: str) -> float:
        """Seconds until the address may try again; 0 if it may now."""
        until, count = self._failures.get(_group(address), (0.0, 0))
        return max(0.0, until - self._now()) if count >= MOST_FAILURES else 0.0

    def failed(self, address: str) -> None:
        group, now = _group(address), self._now()
        until, count = self._failures.get(group, (0.0, 0))
        self._failures[group] = (until, count + 1) if now < until else (now + PERIOD, 1)
        if len(self._failures) > _MOST_ADDRESSES:
            self._failures = {key: each for key, each in self._failures.items() if each[0] > now}
        if len(self._failures) > _MOST_ADDRESSES:
            self._failures.pop(next(iter(self._failures)))


def _group(address: str) -> str:
    """One subscriber usually has a /64 of IPv6 addresses."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(parsed) if parsed.version == 4 else str(ip_network((parsed, 64), strict=False))  # noqa: PLR2004
