"""/v1/tasks: declare, disable, enable and retire, with their scopes, problems and tenants."""

from typing import Any

import httpx2

from api.conftest import Connect, MakeTenant
from tickwork.model.access import Scope
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

DECLARED = {
    "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
    "description": "Sends a mail.",
    "defaults": {"queue": "mail", "timeout": "1m"},
}


async def test_a_task_is_declared_and_a_job_of_it_created(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/v1/tasks/mail.send", json=DECLARED)
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert {name: shown[name] for name in ("state", "offered_at", "workers", "description")} == {
        "state": "active", "offered_at": None, "workers": [], "description": "Sends a mail.",
    }  # fmt: skip
    assert (await client.put("/v1/tasks/mail.send", json=DECLARED)).json() == shown
    assert (await client.get("/v1/tasks/mail.send")).json() == shown
    assert (await client.get("/v1/tasks")).json()["items"] == [shown]
    created = await client.post("/v1/jobs", json={"task": "mail.send", "payload": {"to": "a"}})
    assert (created.status_code, created.json()["queue"]) == (201, "mail")
    assert (await client.post("/v1/jobs", json={"task": "mail.send"})).status_code == 422


async def test_a_name_with_a_slash_is_a_name(client: httpx2.AsyncClient) -> None:
    await client.put("/v1/tasks/mail%2Fsend", json={})
    assert (await client.get("/v1/tasks/mail%2Fsend")).json()["name"] == "mail/send"


async def test_disabled_enabled_retired_and_taken_back(
    client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    async def act(action: str, **body: Any) -> dict[str, Any]:
        answer = await client.post(f"/v1/tasks/work/{action}", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    disabled = await act("disable", reason="broken")
    assert (disabled["state"], disabled["disabled_reason"]) == ("disabled", "broken")
    assert disabled["disabled_by"]
    retired = await act("retire", replacement="mail.send")
    assert (retired["state"], retired["replacement"]) == ("disabled", "mail.send")  # both are true
    assert (await act("enable"))["state"] == "retired"
    refused = await client.post("/v1/jobs", json={"task": "work"})
    assert refused.json()["errors"] == [
        {"path": "task", "message": "the task 'work' is retired", "hint": "use 'mail.send' instead"}
    ]
    assert (await act("retire", undo=True))["state"] == "active"


async def test_nonsense_names_the_field(client: httpx2.AsyncClient, worker: ScriptedWorker) -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("disable", {"reason": ""}, "reason"),
        ("retire", {"replacement": "work"}, "replacement"),
        ("retire", {"jobs": "delete"}, "jobs"),
        ("retire", {"replaces": "x"}, "replaces"),
    ]
    for action, body, path in cases:
        answer = await client.post(f"/v1/tasks/work/{action}", json=body)
        assert [error["path"] for error in answer.json()["errors"]] == [path], answer.text


async def test_a_live_worker_is_right_about_its_task(
    client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    answer = await client.put("/v1/tasks/work", json=DECLARED)
    assert answer.status_code == 409
    assert "what they say counts" in answer.json()["detail"]


async def test_a_task_of_another_tenant_is_unknown(
    client: httpx2.AsyncClient, make_tenant: MakeTenant
) -> None:
    await client.put("/v1/tasks/mail.send", json=DECLARED)
    other = await make_tenant("other")
    assert (await other.admin.get("/v1/tasks/mail.send")).status_code == 404
    assert (await other.admin.post("/v1/tasks/mail.send/disable")).status_code == 404
    assert (await other.admin.get("/v1/tasks")).json()["items"] == []


async def test_reading_is_not_enough_to_disable(
    client: httpx2.AsyncClient, still_node: Node, connect: Connect, worker: ScriptedWorker
) -> None:
    made = await client.post("/v1/keys", json={"name": "reader", "scopes": [Scope.READ]})
    reader = await connect(still_node, made.json()["secret"])
    assert (await reader.get("/v1/tasks/work")).status_code == 200
    assert (await reader.post("/v1/tasks/work/disable")).status_code == 403
