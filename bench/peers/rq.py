"""RQ: enqueued in pipelines, run without a fork for each, which its documentation leaves to those who know why."""

from redis import Redis
from rq import Queue, SimpleWorker

from peers.peer import CORES, About, Peer, count, nothing, redis_url

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
    About(
        "RQ", "rq", "B", "job and result for 500 s", "failed as abandoned, once its time is over",
        f"{CORES} processes of SimpleWorker, enqueued in pipelines of {_BATCH}",
    ),
    nothing, _enqueue, _work,
)  # fmt: skip
