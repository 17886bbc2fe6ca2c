"""Celery: results ignored, a process for each core, and as many fetched ahead as it advises for short tasks.

It has no bulk call.
"""

from celery import Celery

from peers.peer import CORES, About, Peer, count, nothing, redis_url

_AHEAD = 128
app = Celery("peers.celery", broker=redis_url())
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=_AHEAD,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="count")
def run(n: int) -> None:
    count(n)


def _enqueue(jobs: int) -> None:
    with app.producer_pool.acquire() as producer:
        for number in range(jobs):
            run.apply_async((number,), producer=producer)


def _work() -> None:
    options = (
        "--pool=prefork",
        f"--concurrency={CORES}",
        "--without-gossip",
        "--without-mingle",
        "--loglevel=ERROR",
    )
    app.worker_main(["worker", *options])


PEER = Peer(
    About(
        "Celery", "celery", "A", "nothing, as results are ignored",
        "lost if it ran; back after an hour if it was only fetched",
        f"{CORES} processes, {_AHEAD} fetched ahead for each, no results, events, gossip or mingle",
    ),
    nothing, _enqueue, _work, processes=1,
)  # fmt: skip
