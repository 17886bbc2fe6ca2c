"""Queues and reasons, from the request to what the node was asked and back."""

from tickwork.model.queue import QueueSettings


async def test_settings_reach_the_node_as_a_whole(client, node):
    answer = await client.put("/v1/queues/mail", json={"rate": "5/s", "max_running": None})
    assert (answer.status_code, answer.json()["name"]) == (200, "mail")
    assert node.queues.asked == [("mail", QueueSettings(rate="5/s"))]


async def test_an_unknown_setting_is_told_the_right_one(client, node):
    answer = await client.put("/v1/queues/mail", json={"max_runing": 3})
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"path": "max_runing", "message": "is not known here", "hint": "did you mean 'max_running'?"}
    ]
    assert node.queues.asked == []


async def test_a_page_is_asked_for_with_its_cursor(client, node):
    answer = await client.get("/v1/queues?limit=7&cursor=abc")
    assert (node.queues.asked, answer.json()["next_cursor"]) == ([(7, "abc")], "more")


async def test_a_wrong_method_is_told_the_right_ones(client):
    answer = await client.patch("/v1/queues/mail", json={})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, PUT")


async def test_metrics_are_measured_when_they_are_asked_for(client, node):
    await client.get("/metrics")
    assert node.queues.measured == 1


async def test_reasons_are_given_with_every_field(client):
    answer = (await client.get("/v1/executions/e1-1/why")).json()
    assert answer["causes"][0] == {
        "kind": "due",
        "message": "it is due soon",
        "name": None,
        "count": None,
        "max": None,
        "at": "2026-01-31T12:00:00Z",
        "executions": [],
        "workers": [],
    }
