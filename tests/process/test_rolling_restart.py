"""Servers that are replaced one after the other behind a load balancer, by another release: no request is refused, no
attempt is lost."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from signal import SIGTERM
from time import monotonic
from urllib.parse import urlsplit

import httpx2
import pytest

from support.cluster import KEY, Cluster
from support.execution_history import begun_twice
from support.http_balancer import PROGRAM, HttpBalancer
from support.release_tree import previous_release
from support.waiting import eventually
from tickwork.client.async_client import AsyncClient

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="haproxy is not installed")
CLIENTS = 8
DRAIN_DELAY = "4s"
WAIT = "1s"  # for the result: so there are always requests that are not answered yet
LONG_RUNNING = 6  # executions that begin before all servers are replaced and end after that
AHEAD = {"Authorization": f"Bearer {KEY}"}


class Traffic:
    """Clients that ask again and again, on connections that they keep, and repeat nothing."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stop = asyncio.Event()
        self.answered = 0
        self.failed: list[str] = []
        self.created: list[str] = []

    async def run(self) -> None:
        await asyncio.gather(*(self._client(number) for number in range(CLIENTS)))

    def has_answered(self, requests: int) -> bool:
        return self.answered > requests

    def stop(self) -> None:
        self._stop.set()

    async def _client(self, number: int) -> None:
        async with httpx2.AsyncClient(
            base_url=self._url, headers=AHEAD, timeout=30, trust_env=False
        ) as client:
            while not self._stop.is_set():
                await self._ask(client, creates=number % 2 == 0)

    async def _ask(self, client: httpx2.AsyncClient, *, creates: bool) -> None:
        try:
            if creates:
                answer = await client.post(f"/v1/jobs?wait={WAIT}", json={"task": "quick"})
            else:
                answer = await client.get("/v1/queues")
        except httpx2.TransportError as error:
            self.failed.append(f"{type(error).__name__}: {error}")
            return
        if not answer.is_success:
            self.failed.append(f"{answer.status_code}: {answer.text[:200]}")
            return
        self.answered += 1
        if creates:
            self.created.append(answer.json()["id"])


class Refusals:
    """How long each server accepts no connection at a stretch: what its clients would see without a load balancer."""

    def __init__(self, urls: Sequence[str]) -> None:
        self.longest = dict.fromkeys(urls, 0.0)  # seconds
        self._tasks = [asyncio.create_task(self._watch(url)) for url in urls]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self, url: str) -> None:
        place, accepted_at = urlsplit(url), monotonic()
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection(place.hostname, place.port)
                writer.close()
                accepted_at = monotonic()
            self.longest[url] = max(self.longest[url], monotonic() - accepted_at)
            await asyncio.sleep(0.02)


@pytest.fixture
async def cluster(database_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    """Of the previous release."""
    cluster = Cluster(database_url, tmp_path)
    previous = previous_release(tmp_path / "previous")
    for _ in range(2):
        await cluster.add_server(env={"TICKWORK_DRAIN_DELAY": DRAIN_DELAY}, tree=previous)
    yield cluster
    cluster.clean_up()


@pytest.fixture
async def balancer(cluster: Cluster, tmp_path: Path) -> AsyncIterator[HttpBalancer]:
    balancer = HttpBalancer(cluster.urls, tmp_path)
    try:
        await balancer.start()
        yield balancer
    finally:
        await balancer.stop()


@pytest.mark.timeout(500)
async def test_no_request_fails_while_each_server_is_replaced(
    cluster: Cluster, balancer: HttpBalancer, tmp_path: Path
) -> None:
    """Workers find another server by the load balancer, or know all servers themselves."""
    await cluster.add_worker(urls=[balancer.url])
    await cluster.add_worker()
    long_running = await _begin_long_running(cluster, tmp_path)
    traffic, refusals = Traffic(balancer.url), Refusals(cluster.urls)
    running = asyncio.create_task(traffic.run())
    try:
        await eventually(lambda: traffic.answered > 50, within=90, what="traffic")
        for number, server in enumerate(cluster.servers, start=1):
            server.tree = None
            assert await server.stop() == 0
            await server.start()
            await balancer.until_up(number)
            enough = traffic.answered + 50
            await eventually(partial(traffic.has_answered, enough), within=90, what="traffic")
    finally:
        traffic.stop()
        await running
        await refusals.stop()
    print(f"{traffic.answered} requests answered, {len(traffic.failed)} failed")  # noqa: T201 (shown by -s)
    print("seconds without a server at its own address:", refusals.longest)  # noqa: T201
    assert traffic.failed == []
    (tmp_path / "gate").touch()
    async with AsyncClient(balancer.url, KEY) as client:
        for job in [*long_running, *traffic.created[:: max(len(traffic.created) // 20, 1)]]:
            execution = await client.wait_for_job(job, timeout=60)
            assert (execution.status, execution.attempt) == ("completed", 1)
    assert begun_twice(cluster.ledger.runs()) == []


async def _begin_long_running(cluster: Cluster, folder: Path) -> list[str]:
    """On all workers: each has slots for all of them."""
    async with cluster.client() as client:
        workers = [{"worker": worker.name} for worker in cluster.workers] * (LONG_RUNNING // 2)
        gate = {"gate": str(folder / "gate")}
        jobs = [await client.create_job(task="gated", payload=gate, requires=worker) for worker in workers]
    await eventually(
        lambda: len(cluster.ledger.runs()) == LONG_RUNNING, within=90, what="executions that run for long"
    )
    return [job.id for job in jobs]


async def test_a_server_that_is_stopped_says_so_first_and_moves_its_workers(
    cluster: Cluster, tmp_path: Path
) -> None:
    worker = await cluster.add_worker(first=0)
    server = cluster.servers[0]
    server.send(SIGTERM)
    async with httpx2.AsyncClient(base_url=cluster.urls[0], headers=AHEAD, trust_env=False) as client:

        async def is_not_ready() -> bool:
            answer = await client.get("/readyz")
            assert answer.status_code in (200, 503)
            return answer.status_code == 503

        await eventually(is_not_ready, within=3, what="a server that is not ready")
        answer = await client.get("/v1/queues")  # it still answers, and asks clients to come back elsewhere
        assert answer.status_code == 200
        assert answer.headers["connection"] == "close"
        await eventually(
            lambda: worker.log.count('"event": "connected"') == 2, within=10, what="the worker elsewhere"
        )
        assert server.exit_code is None
    assert await server.ended() == 0


async def test_a_second_signal_ends_the_wait(cluster: Cluster) -> None:
    server = cluster.servers[1]
    server.send(SIGTERM)
    server.send(SIGTERM)
    assert await server.ended() == 0
