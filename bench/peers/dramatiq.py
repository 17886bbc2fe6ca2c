"""Dramatiq as it comes: a process for each core, with eight threads. It has no bulk call."""

import sys

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.cli import main

from peers.peer import CORES, About, Peer, count, nothing, redis_url

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
    sys.argv = ["dramatiq", "peers.dramatiq", "--processes", str(CORES), "--threads", str(_THREADS)]
    sys.exit(main())


PEER = Peer(
    About(
        "Dramatiq", "dramatiq", "A", "nothing", "run again after 60 s without a heartbeat",
        f"{CORES} processes, {_THREADS} threads in each",
    ),
    nothing, _enqueue, _work, processes=1,
)  # fmt: skip
