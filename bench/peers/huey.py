"""Huey: no results, a consumer with four threads for each core. It has no bulk call."""

from huey import RedisHuey

from peers.peer import CORES, About, Peer, count, nothing, redis_url

_THREADS = 4
huey = RedisHuey("count", url=redis_url(), results=False)


@huey.task(name="count")
def run(n: int) -> None:
    count(n)


def _enqueue(jobs: int) -> None:
    for number in range(jobs):
        run(number)


def _work() -> None:
    huey.create_consumer(workers=_THREADS, worker_type="thread", periodic=False, initial_delay=0.001).run()


PEER = Peer(
    About(
        "Huey", "huey", "A", "nothing, as results are off", "lost",
        f"{CORES} processes, {_THREADS} threads in each, no results",
    ),
    nothing, _enqueue, _work,
)  # fmt: skip
