"""Hosts that say nothing."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

_MORE_THAN_IT_TAKES = 8


@contextmanager
def silent_port() -> Iterator[int]:
    """Takes connections, and never answers on them."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@contextmanager
def deaf_port() -> Iterator[int]:
    """Does not even take a connection: as many as it lets wait are waiting already."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        waiting = [socket.socket() for _ in range(_MORE_THAN_IT_TAKES)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
        for each in waiting:
            each.close()
