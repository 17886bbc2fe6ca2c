"""/cluster/pause, /cluster/resume and /cluster/resume-report over HTTP."""

import httpx2
import pytest

from api.conftest import MakeTenant


async def test_is_paused_looked_at_and_resumed(client: httpx2.AsyncClient) -> None:
    paused = await client.post("/v1/cluster/pause", json={"reason": "moving"})
    assert paused.status_code == 200
    assert paused.json()["reason"] == "moving"
    assert "k" in paused.json()["by"]
    cluster = (await client.get("/v1/cluster")).json()
    assert cluster["paused"] == paused.json()
    assert (await client.get("/v1/overview")).json()["paused"]
    report = (await client.get("/v1/cluster/resume-report", params={"limit": 5})).json()
    assert (report["missed"], report["interrupted"], report["overdue"]) == ([], [], [])
    resumed = await client.post("/v1/cluster/resume", json={})
    assert resumed.json() == {"resumed": True, "skipped_rules": 0, "retried": 0, "cancelled": 0}
    assert (await client.post("/v1/cluster/resume", json={})).status_code == 409


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("pause", {"reason": ""}, "reason"),
        ("pause", {"why": "x"}, "why"),
        ("resume", {"missed": "run"}, "missed"),
        ("resume", {"running": "stop"}, "running"),
    ],
)
async def test_names_the_field_that_is_wrong(
    client: httpx2.AsyncClient, path: str, body: dict[str, str], field: str
) -> None:
    answer = await client.post(f"/v1/cluster/{path}", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == field


async def test_another_tenant_may_not_pause_the_cluster_but_sees_that_it_is(
    client: httpx2.AsyncClient, make_tenant: MakeTenant
) -> None:
    other = (await make_tenant("other")).admin
    for path, body in (("pause", {}), ("resume", {})):
        assert (await other.post(f"/v1/cluster/{path}", json=body)).status_code == 403
    assert (await other.get("/v1/cluster/resume-report")).status_code == 403
    await client.post("/v1/cluster/pause", json={})
    assert (await other.get("/v1/overview")).json()["paused"]
