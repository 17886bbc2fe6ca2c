"""Every bad field is named, with what is wrong and what would be right."""

import httpx2
import msgspec
import pytest

from tickwork.model.explain_type_errors import MOST_ERRORS

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def client(shared_client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    return shared_client


def errors(answer):
    return {error["path"]: (error["message"], error["hint"]) for error in answer.json()["errors"]}


async def post(client, body):
    answer = await client.post("/v1/jobs", json=body)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return errors(answer)


async def test_names_every_bad_field_at_once(client):
    found = await post(
        client,
        {
            "name": "",
            "task": 5,
            "priority": "urgent",
            "tags": ["good", 1, ""],
            "retry": {"max_attempts": 0, "initial": "soon"},
            "http": {"headers": {"x-one": 1}},
            "catch_up": None,
        },
    )
    assert set(found) == {
        "name",
        "task",
        "priority",
        "tags[1]",
        "tags[2]",
        "retry.max_attempts",
        "retry.initial",
        "http.headers.x-one",
        "http.url",
        "catch_up",
    }


@pytest.mark.parametrize(
    ("body", "path", "message", "hint"),
    [
        ({"retri": {}}, "retri", "is not known here", "did you mean 'retry'?"),
        ({"retry": {"facto": 2}}, "retry.facto", "is not known here", "did you mean 'factor'?"),
        ({"zzz": 1}, "zzz", "is not known here", "known are: command, env, cwd"),
        ({"priority": "hihg"}, "priority", "one of critical, high, low, normal", "did you mean 'high'?"),
        ({"overlap": "SKIP"}, "overlap", 'got "SKIP"', "did you mean 'skip'?"),
        ({"timeout": {}}, "timeout", 'a duration: "90s", "5m"', None),
        ({"retry": {"max_attempts": "3"}}, "retry.max_attempts", "from 1 to 100", "without quotes"),
        ({"retry": {"jitter": 1.5}}, "retry.jitter", "a number from 0 to 1; got 1.5", None),
        ({"queue": "no spaces"}, "queue", "letters, digits, dots", None),
        ({"overlap": None}, "overlap", "got null", "leave the field out"),
        ({"schedule": 3}, "schedule", "must be text or an object; got 3", None),
        ({"tags": ["a"] * 51}, "tags", "a list of up to 50 items; got a list of 51", None),
        ({"http": {}}, "http.url", "is required", None),
    ],
)
async def test_says_what_is_wrong_and_what_would_be_right(client, body, path, message, hint):
    found = await post(client, {"task": "report", **body})
    assert set(found) == {path}
    assert message in found[path][0]
    assert (hint or "") in (found[path][1] or "")


async def test_a_bad_duration_beside_a_bad_type_is_named_too(client):
    assert set(await post(client, {"timeout": "soon", "task": 1})) == {"timeout", "task"}


@pytest.mark.parametrize("body", [[], "text", 5, None, True])
async def test_a_body_that_is_no_object_says_so(client, body):
    answer = await client.post("/v1/jobs", content=msgspec.json.encode(body), headers=JSON)
    assert answer.status_code == 422
    assert "must be an object" in answer.json()["detail"]


async def test_a_body_of_nothing_but_mistakes_is_answered_with_the_first_of_them(client):
    found = await post(client, {f"field{number}": 1 for number in range(20_000)})
    assert len(found) == MOST_ERRORS


async def test_names_every_bad_query_parameter(client):
    answer = await client.get("/v1/jobs?status=actve&limit=501&due_before=yesterday&prioriti=low")
    assert answer.status_code == 422
    found = errors(answer)
    assert set(found) == {"status", "limit", "due_before", "prioriti"}
    assert found["status"][1] == "did you mean 'active'?"
    assert found["prioriti"][1] == "did you mean 'priority'?"
    assert "2026-01-31T09:00:00Z" in found["due_before"][1]
    assert found["limit"][0] == "must be a whole number from 1 to 500; got 501"


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "many", "", "9" * 30, "٣"])
async def test_a_limit_that_is_none_is_refused(client, limit):
    answer = await client.get("/v1/jobs", params={"limit": limit})
    assert set(errors(answer)) == {"limit"}


async def test_a_query_parameter_given_twice_is_refused(client):
    answer = await client.get("/v1/jobs?status=active&status=paused")
    assert errors(answer)["status"][0] == "is given more than once"


async def test_a_parameter_where_none_belong_is_refused(client):
    assert errors(await client.get("/v1/tasks?limit=5"))["limit"][0] == "is not known here"


@pytest.mark.parametrize("query", ["q=%ff", "q=%00", "&".join(f"q{number}=1" for number in range(60))])
async def test_a_query_that_cannot_be_read_is_refused(client, query):
    assert (await client.get(f"/v1/jobs?{query}")).status_code == 422


async def test_an_id_of_the_wrong_kind_in_a_filter_is_named(client):
    answer = await client.get("/v1/executions?job=w7&worker=j1")
    assert errors(answer) == {
        "job": ('must be the id of a job, or key:NAME; got "w7"', None),
        "worker": ('must be the id of a worker; got "j1"', None),
    }


async def test_a_patch_may_take_fields_away_but_not_break_them(client):
    job = (await client.post("/v1/jobs", json={"task": "report"})).headers["location"]
    good = {"name": None, "retry": {"max_attempts": None, "jitter": 0.5}, "tags": []}
    assert (await client.patch(job, json=good)).status_code == 200
    answer = await client.patch(job, json={"nam": None, "retry": {"max_attempts": 0}})
    assert set(errors(answer)) == {"nam", "retry.max_attempts"}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"task": "a\\u0000b"}', "task"),
        (b'{"task": "report", "payload": {"a": ["\\u0000"]}}', "payload"),
        (b'{"task": "report", "payload": {"\\u0000": 1}}', "payload"),
    ],
)
async def test_text_that_the_database_cannot_keep_is_refused(client, body, path):
    answer = await client.post("/v1/jobs", content=body, headers=JSON)
    assert answer.status_code == 422
    assert "NUL" in errors(answer)[path][0]


async def test_an_escaped_backslash_before_u0000_is_not_a_nul(client):
    answer = await client.post("/v1/jobs", content=b'{"task": "a\\\\u0000"}', headers=JSON)
    assert answer.status_code == 201


JSON = {"content-type": "application/json"}
