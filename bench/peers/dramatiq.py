"""Dramatiq: one process with eight threads."""

import sys

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from peers.peer import About, Peer, count, nothing, redis_url

_THREADS = 8
broker = RedisBroker(url=redis_url())
dramatiq.set_broker(broker)


@dramatiq.actor(actor_name="count")
def run(n: int) -> None:
    count(n)


def _enqueue(jobs: int) -> None:
    for number in range(jobs):
        broker.enqueue(run.message(number))


def _work() -> None:
    from dramatiq.cli import main

    sys.argv = ["dramatiq", "peers.dramatiq", "--processes", "1", "--threads", str(_THREADS)]
    sys.exit(main())


PEER = Peer(
    About("Dramatiq", "dramatiq", "redis", "A", "redelivered after the heartbeat", f"{_THREADS} threads"),
    nothing, _enqueue, _work,
)  # fmt: skip
