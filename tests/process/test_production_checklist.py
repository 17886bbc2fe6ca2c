"""`tickwork doctor --production` on a cluster of two servers."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.cluster import KEY, Cluster
from support.run_command import tickwork

Findings = dict[str, dict[str, Any]]


@pytest.fixture
async def cluster(database_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    cluster = Cluster(database_url, tmp_path)
    await cluster.start(servers=2, workers=2)
    yield cluster
    cluster.clean_up()


@pytest.fixture
def env(cluster: Cluster, database_url: str, tmp_path: Path) -> dict[str, str]:
    return {
        "TICKWORK_URL": cluster.urls[0],
        "TICKWORK_API_KEY": KEY,
        "TICKWORK_DATABASE_URL": database_url,
        "TICKWORK_DATA_DIR": str(tmp_path / "none"),
    }


async def findings(env: dict[str, str]) -> tuple[int, Findings]:
    done = await asyncio.to_thread(tickwork, "doctor", "--production", "-o", "jsonl", **env)
    assert "Traceback" not in done.stderr
    return done.returncode, {each["what"]: each for each in map(json.loads, done.stdout.splitlines())}


async def test_says_what_is_missing_and_how_to_mend_it(cluster: Cluster, env: dict[str, str]) -> None:
    _, found = await findings(env)
    states = {what: each["status"] for what, each in found.items()}
    assert {"pause", "clocks", "max_connections", "partitions", "retention", "workers"} <= {
        what for what, status in states.items() if status == "ok"
    }
    missing = ("nodes", "metrics", "keys", "TLS", "public_url", "outside ping", "channels", "notification rules",
               "drain", "archive")  # fmt: skip
    assert {what: states[what] for what in missing} == dict.fromkeys(missing, "warn")
    assert all(each["fix"] for each in found.values() if each["status"] != "ok")


async def test_what_was_mended_is_ok(cluster: Cluster, env: dict[str, str]) -> None:
    async with cluster.client() as client:
        await client.create_key("workers", scopes=["worker"])
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, trust_env=False) as client:
        assert (await client.get(f"{cluster.urls[0]}/metrics")).is_success
    mended = {"TICKWORK_PUBLIC_URL": "https://tickwork.example.com", "TICKWORK_DRAIN_DELAY": "5s"}
    _, found = await findings(env | mended)
    assert "public_url" not in found
    assert {what: found[what]["status"] for what in ("metrics", "keys", "drain")} == dict.fromkeys(
        ("metrics", "keys", "drain"), "ok"
    )


async def test_a_paused_cluster_and_a_single_node_must_be_mended(
    cluster: Cluster, env: dict[str, str]
) -> None:
    async with cluster.client() as client:
        await client.pause_cluster()
    await cluster.servers[1].stop()
    code, found = await findings(env)
    assert code == 1
    assert (found["pause"]["status"], found["nodes"]["status"]) == ("fail", "fail")


async def test_a_key_that_may_not_see_the_cluster_is_said(cluster: Cluster, env: dict[str, str]) -> None:
    async with cluster.client() as client:
        key = await client.create_key("reader", scopes=["read"])
    code, found = await findings(env | {"TICKWORK_API_KEY": key.secret})
    assert code == 1
    assert "admin key" in found["production"]["fix"]
