"""RQ: enqueued in pipelines, run without a fork for each."""

from redis import Redis
from rq import Queue, SimpleWorker

from peers.peer import About, Peer, count, nothing, redis_url

_BATCH = 1000


def run(n: int) -> None:
    count(n)


def _enqueue(jobs: int) -> None:
    queue = Queue("count", connection=Redis.from_url(redis_url()))
    for begin in range(0, jobs, _BATCH):
        numbers = range(begin, min(begin + _BATCH, jobs))
        queue.enqueue_many([Queue.prepare_data(run, (number,)) for number in numbers])


def _work() -> None:
    connection = Redis.from_url(redis_url())
    SimpleWorker([Queue("count", connection=connection)], connection=connection).work(logging_level="ERROR")


PEER = Peer(
    About("RQ", "rq", "redis", "B", "failed: moved to its registry", f"SimpleWorker, pipelines of {_BATCH}"),
    nothing, _enqueue, _work,
)  # fmt: skip
