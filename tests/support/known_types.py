"""Asks each PostgreSQL only once for its types.

asyncpg asks on every new connection, and a test opens several. All databases of a run are copies of one, so that their
types have the same numbers.
"""

from typing import Any

import asyncpg

_known: dict[tuple[str, frozenset[int]], Any] = {}  # by the socket of a server, and the numbers of types
_ask = asyncpg.Connection._introspect_types  # type: ignore[attr-defined]


def ask_once_for_types() -> None:
    asyncpg.Connection._introspect_types = _introspect_types  # type: ignore[attr-defined]


async def _introspect_types(connection: Any, numbers: set[int], timeout: float) -> Any:  # noqa: ASYNC109 (as asyncpg has it)
    if not isinstance(connection._addr, str):  # a port may be that of another server the next time
        return await _ask(connection, numbers, timeout)
    key = connection._addr, frozenset(numbers)
    if key not in _known:
        _known[key] = await _ask(connection, numbers, timeout)
    return _known[key]
