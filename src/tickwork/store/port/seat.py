"""Where a worker can be reached."""

from typing import NamedTuple

NO_CONNECTION = 0  # of a worker that speaks plain REST
FIRST_CONNECTION = 1


class Seat(NamedTuple):
    """A worker on one of this node's connections."""

    worker_id: int
    connection: int
