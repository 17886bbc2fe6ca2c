"""A Prometheus as Debian has it scrapes two nodes and a worker, and its alerts fire when the worker is stopped."""

import asyncio
import json
import re
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from support.cluster import KEY, Cluster
from support.docs_page import ROOT
from support.waiting import eventually

PROMETHEUS = shutil.which("prometheus")
RULES = ROOT / "deploy/prometheus/alerts.yml"

pytestmark = pytest.mark.skipif(
    PROMETHEUS is None, reason="prometheus is not installed (Debian package prometheus)"
)


@pytest.fixture
async def cluster_of_two(database_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    cluster = Cluster(database_url, tmp_path)
    try:
        await cluster.start(servers=2, workers=0)
        await cluster.add_worker(options=["--metrics-port", "0"])
        yield cluster
    finally:
        cluster.clean_up()


@asynccontextmanager
async def prometheus(cluster: Cluster, folder: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """With our rules, but without patience: what would fire after an hour fires after a second."""
    rules, shortened = re.subn(r"(\n +for: )\w+", r"\g<1>1s", RULES.read_text("utf-8"))
    assert shortened > 20
    (folder / "alerts.yml").write_text(rules)
    (folder / "prometheus.json").write_text(json.dumps(_configuration(cluster)))  # JSON is YAML
    port = _free_port()
    process = await asyncio.create_subprocess_exec(
        PROMETHEUS,
        f"--config.file={folder / 'prometheus.json'}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    )
    try:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
            await eventually(lambda: _is_ready(client), within=60, what="the start of Prometheus")
            yield client
    finally:
        process.kill()
        await process.wait()


def _configuration(cluster: Cluster) -> dict:
    (metrics,) = re.findall(r"metrics of this worker: http://(\S+)/metrics", cluster.workers[0].log)
    nodes = [url.removeprefix("http://") for url in cluster.urls]
    return {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["alerts.yml"],
        "scrape_configs": [
            {
                "job_name": "tickwork",
                "authorization": {"credentials": KEY},
                "static_configs": [{"targets": nodes}],
            },
            {"job_name": "tickwork-worker", "static_configs": [{"targets": [metrics]}]},
        ],
    }


async def _is_ready(client: httpx2.AsyncClient) -> bool:
    try:
        return (await client.get("/-/ready")).status_code == 200
    except httpx2.TransportError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


async def query(client: httpx2.AsyncClient, expression: str) -> dict[str, float]:
    """The values, by their labels."""
    answer = await client.get("/api/v1/query", params={"query": expression})
    return {
        " ".join(each["metric"].values()): float(each["value"][1]) for each in answer.json()["data"]["result"]
    }


async def firing(client: httpx2.AsyncClient) -> set[str]:
    alerts = (await client.get("/api/v1/alerts")).json()["data"]["alerts"]
    return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}


async def test_a_stopped_worker_raises_its_alerts_and_nothing_else_does(
    cluster_of_two: Cluster, tmp_path: Path
) -> None:
    async with prometheus(cluster_of_two, tmp_path) as client, cluster_of_two.client() as jobs:

        async def all_are_scraped() -> bool:
            up = await query(client, "sum by (job) (up)")
            return up == {"tickwork": 2, "tickwork-worker": 1}

        async def is_counted() -> bool:
            by_node = await query(client, 'sum(tickwork_executions_ended_total{status="completed"})')
            by_worker = await query(client, 'sum(tickwork_worker_attempts_total{job="tickwork-worker"})')
            return by_node == by_worker == {"": 1}

        async def lost_and_down() -> bool:
            return {"TickworkWorkerLost", "TickworkWorkerDown"} <= await firing(client)

        await eventually(all_are_scraped, within=60, what="a scrape of all three")
        await jobs.create_job(task="quick")
        await eventually(is_counted, within=60, what="the count of a completed execution")
        of_a_worker = await query(client, 'group by (__name__) ({job="tickwork-worker"})')
        assert {name for name in of_a_worker if name.startswith("tickwork_")}
        assert not {name for name in of_a_worker if re.match("tickwork_(?!worker_)", name)}
        assert await query(client, "max(tickwork_workers_alive)") == {"": 1}
        assert await firing(client) == set()
        cluster_of_two.workers[0].kill()
        await eventually(lost_and_down, within=90, what="the alerts for a stopped worker")
        assert await firing(client) == {"TickworkWorkerLost", "TickworkWorkerDown"}
