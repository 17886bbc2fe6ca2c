"""Rules, what applies to a job and why, and the log of what was told, over HTTP."""

from typing import Any

import asyncpg
import httpx2
import pytest

from api.conftest import MakeTenant
from support.told_channel import AWAY, BROKEN, MINUTE, TENANT, ToldChannels, make_channel, message_of
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

RULES = "/v1/notification-rules"
ONCE = {"max_attempts": 1}


@pytest.fixture
async def channel(connection: asyncpg.Connection, client: httpx2.AsyncClient) -> int:
    return await make_channel(connection)


def errors(answer: httpx2.Response) -> dict[str, str]:
    assert answer.status_code == 422, answer.text
    return {error["path"]: error["message"] for error in answer.json()["errors"]}


async def test_a_rule_is_set_shown_listed_replaced_and_deleted(
    client: httpx2.AsyncClient, channel: int
) -> None:
    body = {"tag": "billing", "on": ["failed", "recovered"], "to": ["ops"]}
    made = (await client.put(f"{RULES}/billing", json=body)).json()
    assert {name: made[name] for name in body} == body
    assert (await client.get(f"{RULES}/billing")).json() == made
    replaced = (await client.put(f"{RULES}/billing", json={"on": ["failed"], "to": ["ops"]})).json()
    assert (replaced["tag"], replaced["created_at"]) == (None, made["created_at"])
    assert (await client.get(RULES)).json() == {"items": [replaced], "next_cursor": None}
    assert (await client.delete(f"{RULES}/billing")).json() == replaced
    assert (await client.get(f"{RULES}/billing")).status_code == 404
    assert (await client.delete(f"{RULES}/billing")).status_code == 404


async def test_a_rule_about_limits_has_its_numbers(client: httpx2.AsyncClient, channel: int) -> None:
    body = {
        "on": ["dead_letters", "queue_stuck"],
        "to": ["ops"],
        "dead_letters_above": 10,
        "stuck_after": "5m",
    }
    made = (await client.put(f"{RULES}/limits", json=body)).json()
    assert (made["dead_letters_above"], made["stuck_after"]) == (10, 300.0)
    plain = (await client.put(f"{RULES}/limits", json={"on": ["queue_stuck"], "to": ["ops"]})).json()
    assert plain["stuck_after"] == 600.0


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"to": ["opps"]}, "to[0]"),
        ({"to": []}, "to"),
        ({"on": []}, "on"),
        ({"on": ["exploded"]}, "on[0]"),
        ({"tag": "a", "queue": "b"}, "queue"),
        ({"tag": "a", "on": ["dead_letters"], "dead_letters_above": 1}, "on[0]"),
        ({"queue": "a", "on": ["worker_lost"]}, "on[0]"),
        ({"tag": "a", "on": ["queue_stuck"]}, "on[0]"),
        ({"on": ["dead_letters"]}, "dead_letters_above"),
        ({"dead_letters_above": 3}, "dead_letters_above"),
        ({"stuck_after": "5m"}, "stuck_after"),
        ({"on": ["queue_stuck"], "stuck_after": "soon"}, "stuck_after"),
        ({"on": ["queue_stuck"], "stuck_after": "1s"}, "stuck_after"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_rule_that_makes_no_sense_is_refused_with_its_field(
    client: httpx2.AsyncClient, channel: int, change: dict[str, Any], path: str
) -> None:
    answer = await client.put(f"{RULES}/bad", json={"on": ["failed"], "to": ["ops"], **change})
    assert path in errors(answer)
    assert (await client.get(RULES)).json()["items"] == []


async def test_a_job_names_channels_that_exist(
    client: httpx2.AsyncClient, channel: int, worker: ScriptedWorker
) -> None:
    entry = {"on": ["failed"], "to": ["ops"]}
    made = await client.post("/v1/jobs", json={"task": "work", "notify": [entry]})
    assert made.json()["notify"] == [entry]
    refused = await client.post(
        "/v1/jobs", json={"task": "work", "notify": [entry, {**entry, "to": ["opps"]}]}
    )
    assert errors(refused) == {"notify[1].to[0]": "there is no channel named 'opps'"}
    assert refused.json()["errors"][0]["hint"] == "did you mean 'ops'?"
    jobs = [{"task": "work"}, {"task": "work", "notify": [{**entry, "to": ["x"]}]}]
    batch = await client.post("/v1/jobs/batch", json=jobs)
    assert "[1].notify[0].to[0]" in errors(batch)


async def test_a_channel_that_is_gone_keeps_nobody_from_editing_the_rest_of_a_job(
    client: httpx2.AsyncClient, channel: int, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    entry = {"on": ["failed"], "to": ["ops"]}
    job = (await client.post("/v1/jobs", json={"task": "work", "notify": [entry]})).json()["id"]
    await connection.execute("DELETE FROM tickwork.channel")
    assert (await client.patch(f"/v1/jobs/{job}", json={"name": "other"})).status_code == 200
    assert "notify[0].to[0]" in errors(await client.patch(f"/v1/jobs/{job}", json={"notify": [entry]}))


@pytest.mark.parametrize(
    "notify",
    [
        [{"on": [], "to": ["ops"]}],
        [{"on": ["failed"]}],
        [{"on": ["worker_lost"], "to": ["ops"]}],
        [{"on": ["failed"], "to": ["o p s"]}],
        [{"on": ["failed"], "to": ["ops"], "when": "now"}],
        [{"on": ["failed"], "to": ["ops"]}] * 21,
        "ops",
    ],
)
async def test_nonsense_in_notify_is_refused(
    client: httpx2.AsyncClient, channel: int, worker: ScriptedWorker, notify: Any
) -> None:
    assert any(
        path.startswith("notify")
        for path in errors(await client.post("/v1/jobs", json={"task": "work", "notify": notify}))
    )


async def test_what_applies_to_a_job_and_why_can_be_asked_for(
    client: httpx2.AsyncClient, channel: int, connection: asyncpg.Connection, worker: ScriptedWorker
) -> None:
    await make_channel(connection, "team")
    await make_channel(connection, "pager", severity="error")
    await client.put(f"{RULES}/all", json={"on": ["failed", "late"], "to": ["pager"]})
    await client.put(f"{RULES}/billing", json={"tag": "billing", "on": ["failed", "skipped"], "to": ["team"]})
    await client.put(f"{RULES}/mail", json={"queue": "mail", "on": ["failed"], "to": ["team"]})
    notify = [{"on": ["failed"], "to": ["ops"]}, {"on": ["skipped"], "to": []}]
    job = {"task": "work", "key": "weekly", "tags": ["billing"], "notify": notify}
    await client.post("/v1/jobs", json=job)
    items = (await client.get("/v1/jobs/key:weekly/notify")).json()["items"]
    assert [(item["on"], item["channel"], item["told"], item["by"], item["rule"]) for item in items] == [
        ("failed", "ops", True, "job", None),
        ("failed", "pager", True, "rule", "all"),
        ("failed", "team", True, "rule", "billing"),
        ("skipped", "team", False, "rule", "billing"),
        ("late", "pager", False, "rule", "all"),
    ]
    assert [item["why"] for item in items] == [
        "the job's own notify says so",
        "the rule all is for all jobs",
        "the rule billing is for the tag billing",
        "the rule billing is for the tag billing, but the job silences it",
        "the rule all is for all jobs, but the channel is told only what is error or worse",
    ]


async def test_the_log_is_listed_filtered_and_paged_and_a_message_is_sent_again(
    client: httpx2.AsyncClient,
    still_node: Node,
    clock: SettableClock,
    connection: asyncpg.Connection,
) -> None:
    await make_channel(connection)
    await make_channel(connection, "team")
    worker = await ScriptedWorker.connect(still_node, tasks=["work"])
    told = await ToldChannels.of(still_node, clock, worker)
    await client.put(f"{RULES}/all", json={"on": ["failed"], "to": ["ops", "team"]})
    await client.post("/v1/jobs", json={"task": "work", "name": "report", "retry": ONCE})
    await told.run(BROKEN)
    await told.gather()
    waiting = (await client.get("/v1/notifications?status=waiting")).json()["items"]
    assert sorted(each["channel"] for each in waiting) == ["ops", "team"]
    assert (await client.post(f"/v1/notifications/{waiting[0]['id']}/resend")).status_code == 409
    await told.messages()

    page = (await client.get("/v1/notifications?limit=1")).json()
    rest = (await client.get(f"/v1/notifications?limit=1&cursor={page['next_cursor']}")).json()
    assert {page["items"][0]["channel"], rest["items"][0]["channel"]} == {"ops", "team"}
    (sent,) = (await client.get("/v1/notifications?channel=ops&kind=execution.failed")).json()["items"]
    assert (sent["status"], sent["attempts"], sent["count"]) == ("sent", 1, 1)
    assert sent["item"]["title"] == "report (work) failed: ValueError: row 17 of 99 is broken"
    assert sent["message_id"].startswith("msg_")
    assert (await client.get(f"/v1/notifications/{sent['id']}")).json() == sent

    again = (await client.post(f"/v1/notifications/{sent['id']}/resend")).json()
    assert (again["status"], again["message_id"]) == ("sending", sent["message_id"])
    assert (await client.post(f"/v1/notifications/{sent['id']}/resend")).status_code == 409
    assert [message.id for message in await told.messages()] == [sent["message_id"]]
    assert (await client.get(f"/v1/notifications/{sent['id']}")).json()["status"] == "sent"


async def test_the_message_of_a_notification_is_shown_with_its_attempts_and_the_answer(
    client: httpx2.AsyncClient,
    still_node: Node,
    clock: SettableClock,
    connection: asyncpg.Connection,
) -> None:
    await client.put(
        "/v1/channels/ops", json={"kind": "webhook", "url": "https://a.example/h?token=s3cret-token"}
    )
    worker = await ScriptedWorker.connect(still_node, tasks=["work"])
    told = await ToldChannels.of(still_node, clock, worker)
    await client.put(f"{RULES}/all", json={"on": ["failed"], "to": ["ops"]})
    await client.post("/v1/jobs", json={"task": "work", "name": "report", "retry": ONCE})
    await told.run(BROKEN)
    await told.gather()
    (waiting,) = (await client.get("/v1/notifications")).json()["items"]
    path = f"/v1/notifications/{waiting['id']}/message"
    early = await client.get(path)
    assert (early.status_code, early.json()["detail"]) == (409, "it has no message yet: it is waiting")
    assert (await client.get("/v1/channels/ops")).json()["deliveries"]["waiting"] == 1

    (delivery,) = await told.deliveries()
    await told.sender.fail(delivery, AWAY)
    await told.gather()
    away = (await client.get("/v1/channels/ops")).json()["deliveries"]
    assert (away["is_failing"], away["sending"], away["error"]) == (
        True,
        1,
        "ConnectionError: nobody answers",
    )
    await told.later(MINUTE)
    await still_node.step("claim")
    (again,) = await told.sender.runs()
    await told.sender.complete(again, b'{"status": 204}')
    await told.gather()

    message = (await client.get(path)).json()
    assert (message["id"], message["status"]) == (message_of(delivery).id, "sent")
    assert [(each["attempt"], each["outcome"], each["error"]) for each in message["attempts"]] == [
        (1, "failed", {"type": "ConnectionError", "message": "nobody answers"}),
        (2, "completed", None),
    ]
    assert message["answer"] == {"status": 204}
    assert message["content"]["title"] == "report (work) failed: ValueError: row 17 of 99 is broken"
    assert message["content"]["sent"]["job"]["name"] == "report"
    assert "s3cret" not in str(message)
    (listed,) = (await client.get("/v1/channels")).json()["items"]
    assert (listed["deliveries"]["is_failing"], listed["deliveries"]["sent"]) == (False, 1)
    assert listed["deliveries"]["last_sent_at"] == message["ended_at"]

    await client.delete("/v1/channels/ops")
    gone = (await client.get(path)).json()
    assert (gone["content"], len(gone["items"])) == (None, 1)
    before = {"until": "2020-01-01T00:00:00Z"}
    assert (await client.get("/v1/notifications", params=before)).json()["items"] == []
    since = {"since": waiting["created_at"], "until": waiting["created_at"]}
    assert len((await client.get("/v1/notifications", params=since)).json()["items"]) == 1


async def test_nobody_sees_the_notifications_and_rules_of_another_tenant(
    client: httpx2.AsyncClient,
    still_node: Node,
    clock: SettableClock,
    connection: asyncpg.Connection,
    make_tenant: MakeTenant,
) -> None:
    await make_channel(connection)
    worker = await ScriptedWorker.connect(still_node, tasks=["work"])
    told = await ToldChannels.of(still_node, clock, worker)
    await client.put(f"{RULES}/all", json={"on": ["failed"], "to": ["ops"]})
    await client.post("/v1/jobs", json={"task": "work", "retry": ONCE})
    await told.run(BROKEN)
    await told.messages()
    (sent,) = (await client.get("/v1/notifications")).json()["items"]
    other = (await make_tenant("other")).admin
    assert (await other.get("/v1/notifications")).json()["items"] == []
    assert (await other.get(f"/v1/notifications/{sent['id']}")).status_code == 404
    assert (await other.get(f"/v1/notifications/{sent['id']}/message")).status_code == 404
    assert (await other.post(f"/v1/notifications/{sent['id']}/resend")).status_code == 404
    assert (await other.get(f"{RULES}/all")).status_code == 404
    assert "to[0]" in errors(await other.put(f"{RULES}/mine", json={"on": ["failed"], "to": ["ops"]}))


@pytest.mark.parametrize("task", ["http", "tickwork.notify"])
async def test_the_names_of_built_in_tasks_are_taken(client: httpx2.AsyncClient, task: str) -> None:
    assert "task" in errors(await client.post("/v1/jobs", json={"task": task}))
    registered = await client.post("/v1/workers", json={"name": "mine", "tasks": [task], "slots": 1})
    assert "tasks[0]" in errors(registered)


async def test_no_key_belongs_to_the_system_tenant(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    answer = await client.post("/v1/keys", json={"name": "x", "scopes": ["admin"], "tenant": "(system)"})
    assert "tenant" in errors(answer)
    with pytest.raises(asyncpg.CheckViolationError):
        await connection.execute(
            "INSERT INTO tickwork.api_key (tenant_id, name, prefix, digest, scopes) "
            "VALUES (0, 'x', 'x', sha256('x'), '{admin}')"
        )
    assert TENANT == 1
