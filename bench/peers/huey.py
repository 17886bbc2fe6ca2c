"""Huey: no results, one process with four threads."""

from huey import RedisHuey

from peers.peer import About, Peer, count, nothing, redis_url

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
    About("Huey", "huey", "redis", "A", "lost: taken out before it runs", f"no results, {_THREADS} threads"),
    nothing, _enqueue, _work,
)  # fmt: skip
