"""A POST with an Idempotency-Key takes effect once."""

import pytest

JOB = {"task": "report"}


async def post(client, key="k-1", body=JOB, path="/v1/jobs"):
    return await client.post(path, json=body, headers={"idempotency-key": key})


async def test_a_repeated_request_gets_the_first_answer_and_has_no_further_effect(client, node):
    first, second = await post(client), await post(client)
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert (second.status_code, second.content) == (first.status_code, first.content)
    assert second.headers["location"] == first.headers["location"]
    assert second.headers["etag"] == first.headers["etag"]
    assert len(node.jobs.kept) == 1


async def test_another_body_or_path_under_the_same_key_is_refused(client):
    await post(client)
    for answer in (
        await post(client, body={"task": "other"}),
        await post(client, body=[JOB], path="/v1/jobs/batch"),
    ):
        assert answer.status_code == 422
        assert answer.json()["type"] == "/docs/problems/idempotency-key-reused"


async def test_a_request_still_in_flight_is_a_conflict_to_be_tried_again(client, node):
    node.idempotency.in_flight.add((1, "k-1"))
    answer = await post(client)
    assert answer.status_code == 409
    assert answer.headers["retry-after"] == "1"


async def test_a_refused_request_does_not_use_up_its_key(client):
    assert (await post(client, body={"task": "report", "schedule": "never"})).status_code == 422
    assert (await post(client)).status_code == 201


async def test_a_conflict_of_the_work_itself_is_not_one_to_be_tried_again(client):
    await post(client)
    answer = await post(client, "k-2", {}, "/v1/jobs/j1/pause")
    assert answer.status_code == 409
    assert "retry-after" not in answer.headers


async def test_another_tenant_may_use_the_same_key(client, caller):
    await post(client)
    async with caller("foreign") as foreigner:
        answer = await post(foreigner)
    assert answer.status_code == 201
    assert "idempotent-replayed" not in answer.headers


@pytest.mark.parametrize("key", ["", "x" * 256, "two words", "tab\tbed"])
async def test_a_key_is_short_visible_ascii(client, key):
    answer = await post(client, key)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "Idempotency-Key"


async def test_the_secret_of_a_new_key_is_never_stored(client, node):
    body = {"name": "deploy", "scopes": ["write"]}
    first, second = (
        await post(client, body=body, path="/v1/keys"),
        await post(client, body=body, path="/v1/keys"),
    )
    assert first.json()["secret"] == "tw_secret"
    assert second.json() == {**first.json(), "secret": None}
    assert "tw_secret" not in str(node.idempotency.answers)
