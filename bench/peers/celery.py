"""Celery: results ignored, one process that fetches many ahead."""

from celery import Celery

from peers.peer import About, Peer, count, nothing, redis_url

app = Celery("peers.celery", broker=redis_url())
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=1000,
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
        "--concurrency=1",
        "--without-gossip",
        "--without-mingle",
        "--loglevel=ERROR",
    )
    app.worker_main(["worker", *options])


PEER = Peer(
    About("Celery", "celery", "redis", "A", "lost: acknowledged before it runs", "no results, prefetch 1000"),
    nothing, _enqueue, _work,
)  # fmt: skip
