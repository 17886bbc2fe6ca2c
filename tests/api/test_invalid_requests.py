"""Bad input on a node whose database refuses every write: each request is answered clearly all the same, so none of
them takes one."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx2
import pytest
import pytest_asyncio

from api.conftest import client_of
from support.end_sessions import end_sessions
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"content-type": "application/json"}
PARAMETERS = {
    "type": "object",
    "required": ["to"],
    "additionalProperties": False,
    "properties": {
        "to": {"type": "string"},
        "count": {"type": "integer", "maximum": 10},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
    },
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx2.AsyncClient]:
    name = "refusing"
    admin = await asyncpg.connect(cluster.replace("/tickwork?", "/postgres?"))
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE tickwork")
    url = cluster.replace("/tickwork?", f"/{name}?")
    node = Node(Settings(database_url=url, data_dir=tmp_path_factory.mktemp("data")))
    await node.open()
    await ScriptedWorker.offer_only(node, {"reports.weekly": PARAMETERS})
    await ScriptedWorker.offer_only(node, {"broken": {"type": "nonsense"}})
    async with client_of(node, node.first_key) as client:
        await client.post("/v1/jobs", json={"task": "reports.weekly", "payload": {"to": "ann"}})
        await admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        await end_sessions(admin, "datname = $1", name)
        await eventually(lambda: is_back(client), within=10)
        yield client
        assert await is_back(client)
        assert (await client.post("/v1/jobs", json={"http": {"url": "https://a.b"}})).status_code == 503
    await node.stop()
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


async def is_back(client: httpx2.AsyncClient) -> bool:
    return (await client.get("/v1/jobs")).status_code == 200


async def refused(answer: httpx2.Response, slug: str, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert problem["type"] == f"/docs/problems/{slug}"
    assert len(answer.content) < 20_000
    return problem


async def bad_fields(answer: httpx2.Response) -> dict[str, tuple[str, str | None]]:
    problem = await refused(answer, "invalid-request", 422)
    return {error["path"]: (error["message"], error["hint"]) for error in problem["errors"]}


async def test_an_impossible_cron(client: httpx2.AsyncClient) -> None:
    for schedule, word in [
        ("0 0 30 2 *", "never"),
        ("61 * * * *", "61"),
        ("* * * *", "5"),
        ("0 9 * * FUNDAY", "FUN"),
    ]:
        for body in ({"schedule": schedule}, {"schedule": {"cron": schedule}}):
            answer = await client.post(
                "/v1/jobs", json={"task": "reports.weekly", "payload": {"to": "a"}, **body}
            )
            ((path, (message, _)),) = (await bad_fields(answer)).items()
            assert path in ("schedule", "schedule.cron")
            assert word in message, message


async def test_an_unknown_zone(client: httpx2.AsyncClient) -> None:
    body = {"http": {"url": "https://a.b"}, "schedule": "0 9 * * *", "timezone": "Europe/Pariss"}
    errors = await bad_fields(await client.post("/v1/jobs", json=body))
    assert errors.keys() == {"timezone"}
    assert "Europe/Paris" in errors["timezone"][1]
    body = {"schedule": {"cron": "0 9 * * *", "timezone": "../etc/passwd"}}
    errors = await bad_fields(await client.post("/v1/schedules/preview", json=body))
    assert errors.keys() == {"schedule.timezone"}


async def test_an_unknown_task(client: httpx2.AsyncClient) -> None:
    errors = await bad_fields(await client.post("/v1/jobs", json={"task": "report.weekly"}))
    assert errors == {
        "task": ("no worker has offered a task named 'report.weekly'", "did you mean 'reports.weekly'?")
    }
    errors = await bad_fields(await client.post("/v1/jobs", json={"task": "zzz"}))
    assert errors["task"][1] == (
        'start a worker that offers it, or give "unknown_task": "wait" to create the job before a worker offers'
        " the task"
    )


async def test_a_payload_that_does_not_fit_names_its_fields(client: httpx2.AsyncClient) -> None:
    for payload, paths in [
        ({"to": 5}, {"payload.to"}),
        ({}, {"payload.to"}),
        ({"to": "a", "cuont": 3}, {"payload.cuont"}),
        ({"to": "a", "count": 11, "rows": [{"id": 1}, {"id": "x"}]}, {"payload.count", "payload.rows[1].id"}),
        ("text", {"payload"}),
        (None, {"payload"}),
        ([], {"payload"}),
    ]:
        answer = await client.post("/v1/jobs", json={"task": "reports.weekly", "payload": payload})
        assert (await bad_fields(answer)).keys() == paths, payload
    answer = await client.post(
        "/v1/jobs", json={"task": "reports.weekly", "payload": {"to": ["x" * 400_000]}}
    )
    assert (await bad_fields(answer)).keys() == {"payload.to"}
    answer = await client.post("/v1/jobs", json={"task": "reports.weekly"})
    assert (await bad_fields(answer)).keys() == {"payload.to"}


async def test_a_task_whose_own_schema_is_broken(client: httpx2.AsyncClient) -> None:
    errors = await bad_fields(await client.post("/v1/jobs", json={"task": "broken"}))
    assert errors.keys() == {"task"}


async def test_every_bad_field_is_named_at_once(client: httpx2.AsyncClient) -> None:
    body = {
        "task": "report.weekly",
        "schedule": "0 0 30 2 *",
        "timeout": "-5s",
        "retry": {"initial": "soon", "max": "P1Y2"},
        "catch_up": {"within": "1 fortnight"},
        "http": None,
    }
    errors = await bad_fields(await client.post("/v1/jobs", json=body))
    assert errors.keys() == {"task", "schedule", "timeout", "retry.initial", "retry.max", "catch_up.within"}


async def test_a_body_of_10_mb(client: httpx2.AsyncClient) -> None:
    body = b'{"task": "reports.weekly", "payload": {"to": "' + b"x" * 10_000_000 + b'"}}'
    problem = await refused(await client.post("/v1/jobs", content=body, headers=JSON), "body-too-large", 413)
    assert problem["detail"] == "the body may hold at most 1 MiB"
    body = b'{"task": "reports.weekly", "payload": {"to": "' + b"x" * 600_000 + b'"}}'
    errors = await bad_fields(await client.post("/v1/jobs", content=body, headers=JSON))
    assert errors.keys() == {"payload"}


async def test_broken_json_is_told_where_it_breaks(client: httpx2.AsyncClient) -> None:
    for body, detail in [
        (b"", "line 1, column 1: the body is empty; send JSON"),
        (b'{"task": "a",\n "x": }', "line 2, column 7: invalid character"),
        (b'{"task": "a"', "line 1, column 13: the JSON ends too early"),
        (b'{"task": "\xff"}', "line 1, column 11: not UTF-8"),
        (b'{"task": NaN}', "line 1, column 10: invalid character"),
        (b'{"task": "\\ud800"}', "line 1, column 11: half of a surrogate pair"),
        (b'{"task": "\\udc00 and more text"}', "line 1, column 17: invalid utf-16 surrogate pair"),
        (b'{"payload": 1e999}', "a number is out of range"),
        (b'{"payload": 1' + b"0" * 5000 + b"}", "a number is out of range"),
        (b"[" * 40_000, "line 1, column 1: nested deeper than 32 levels"),
    ]:
        answer = await client.post("/v1/jobs", content=body, headers=JSON)
        problem = await refused(answer, "broken-body", 400)
        assert detail in problem["detail"], (body[:50], problem["detail"])


async def test_a_body_of_another_kind(client: httpx2.AsyncClient) -> None:
    for headers in ({}, {"content-type": "text/plain"}, {**JSON, "content-encoding": "gzip"}):
        await refused(
            await client.post("/v1/jobs", content=b"{}", headers=headers), "unsupported-media-type", 415
        )
    for body in (b"[]", b'"text"', b"5", b"null", b"true"):
        errors = await bad_fields(await client.post("/v1/jobs", content=body, headers=JSON))
        assert errors.keys() == {""}


async def test_what_cannot_be_stored_is_refused_by_name(client: httpx2.AsyncClient) -> None:
    deep: Any = 1
    for _ in range(40):
        deep = {"a": deep}
    for body, paths in [
        ({"name": "a\0b"}, {"name"}),
        ({"payload": {"x": [{"y": "\0"}]}}, {"payload"}),
        ({"payload": {"\0": 1}}, {"payload"}),
        ({"tags": ["\0"]}, {"tags"}),
        ({"payload": deep}, {"payload"}),
        ({"schedule": deep}, {"schedule"}),
        ({"name": "x" * 201}, {"name"}),
        ({"key": ""}, {"key"}),
        ({"task": "x" * 100_000}, {"task"}),
        ({"queue": "a/b"}, {"queue"}),
        ({"queue": "x" * 101}, {"queue"}),
        ({"tags": ["x"] * 51}, {"tags"}),
        ({"timezone": "x" * 100_000}, {"timezone"}),
        ({"schedule": "x" * 900_000}, {"schedule"}),
        ({"schedule": "every 5m " * 50_000}, {"schedule"}),
        ({"schedule": "0 " + "0," * 100_000 + " * * *"}, {"schedule"}),
        ({"retry": {"max_attempts": 10**30}}, {"retry.max_attempts"}),
        ({"retry": {"max_attempts": 2.5}}, {"retry.max_attempts"}),
        ({"retry": {"factor": -1}}, {"retry.factor"}),
        ({"timeout": 1e300}, {"timeout"}),
        ({"timeout": True}, {"timeout"}),
        ({"timeout": "9" * 60}, {"timeout"}),
    ]:
        answer = await client.post(
            "/v1/jobs",
            json={"task": "reports.weekly", "payload": {"to": "a"}, **body},  # type: ignore[dict-item]
        )
        assert (await bad_fields(answer)).keys() == paths, str(body)[:80]


async def test_times_out_of_this_world(client: httpx2.AsyncClient) -> None:
    for at in (
        "10000-01-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-01T25:00:00Z",
        "0000-01-01T00:00:00Z",
    ):
        for schedule in (at, {"at": at}):
            body = {"http": {"url": "https://a.b"}, "schedule": schedule}
            errors = await bad_fields(await client.post("/v1/jobs", json=body))
            assert {path.partition(".")[0] for path in errors} == {"schedule"}, at
    for at in (
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59.999999-14:00",
        "1969-01-01T00:00:00Z",
    ):
        for asked in ({"schedule": {"at": at}}, {"schedule": "every 5m", "after": at}):
            answer = await client.post("/v1/schedules/preview", json=asked)
            assert answer.status_code in (200, 422), (at, answer.text)


async def test_queries_that_make_no_sense(client: httpx2.AsyncClient) -> None:
    job = (await client.get("/v1/jobs")).json()["items"][0]["id"]
    for path, name in [
        ("/v1/jobs?limit=0", "limit"),
        ("/v1/jobs?limit=-1", "limit"),
        ("/v1/jobs?limit=501", "limit"),
        ("/v1/jobs?limit=1.5", "limit"),
        ("/v1/jobs?limit=99999999999999999999999", "limit"),
        ("/v1/jobs?limit=", "limit"),
        ("/v1/jobs?limit=%D9%A1", "limit"),
        ("/v1/jobs?stat=active", "stat"),
        ("/v1/jobs?status=actve", "status"),
        ("/v1/jobs?status=active&status=paused", "status"),
        ("/v1/jobs?sort=name;DROP%20TABLE", "sort"),
        ("/v1/jobs?q=a%00b", "q"),
        ("/v1/jobs?q=%ED%A0%80", "query"),
        (f"/v1/jobs?q={'x' * 201}", "q"),
        ("/v1/jobs?due_before=yesterday", "due_before"),
        ("/v1/jobs?due_before=2026-01-01T00:00:00", "due_before"),
        ("/v1/executions?job=w1", "job"),
        ("/v1/executions?worker=w0-1", "worker"),
        ("/v1/executions?since=2026-13-01T00:00:00Z", "since"),
        ("/v1/executions?queue=a%20b", "queue"),
        (f"/v1/jobs/{job}/executions?job={job}", "job"),
        ("/v1/workers?limit=501", "limit"),
        ("/v1/tasks?limit=5", "limit"),
    ]:
        assert (await bad_fields(await client.get(path))).keys() == {name}, path


async def test_numbers_and_times_at_the_end_of_their_range_are_just_not_there(
    client: httpx2.AsyncClient,
) -> None:
    edges = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
    for path in [
        "/v1/executions?worker=w7zzzzzzzzzzzz",
        "/v1/executions?job=j7zzzzzzzzzzzz",
        *(f"/v1/jobs?due_before={at}".replace("+", "%2B") for at in edges),
        *(f"/v1/jobs?due_after={at}".replace("+", "%2B") for at in edges),
        *(f"/v1/executions?since={at}".replace("+", "%2B") for at in edges),
        *(f"/v1/executions?until={at}".replace("+", "%2B") for at in edges),
    ]:
        answer = await client.get(path)
        assert answer.status_code == 200, (path, answer.text)
    for path in ["jobs/j7zzzzzzzzzzzz", "workers/w7zzzzzzzzzzzz", "executions/e7zzzzzzzzzzzz-7zzzzzzzzzzzz",
                 "executions/e1-0", "executions/e1-7fn6sy8t8zk", "jobs/j0", "jobs/%00", "jobs/J1"]:  # fmt: skip
        await refused(await client.get(f"/v1/{path}"), "not-found", 404)
    await refused(await client.get("/v1/executions/e1-1/attempts"), "not-found", 404)


async def test_cursors_that_no_list_of_this_kind_gave(client: httpx2.AsyncClient) -> None:
    given = {}
    for path in ("/v1/jobs", "/v1/executions", "/v1/workers"):
        given[path] = (await client.get(path, params={"limit": 1})).json()["next_cursor"]
        assert given[path]
    made_up = ["", "x", "AA", "!!!!", "zwAAAAAAAAAA", "z____________", "00", "a" * 1000, "ÄÖ", "gaF4",
               "kqk5OTk5LTEyLTMxAQ", "ktb_____AQ", "ktf_AAAAAQ"]  # fmt: skip
    for path, own in given.items():
        for cursor in {*made_up, *given.values()} - {own}:
            errors = await bad_fields(await client.get(path, params={"cursor": cursor}))
            assert errors.keys() == {"cursor"}, (path, cursor)
        assert (await client.get(path, params={"cursor": own})).status_code == 200


async def test_idempotency_keys_that_are_none(client: httpx2.AsyncClient) -> None:
    for key in ("", " ", "a b", "two words", "tab\tbed", "x" * 256, "ä"):
        headers = {b"idempotency-key": key.encode("latin-1")}
        answer = await client.post("/v1/schedules/preview", json={"schedule": "every 5m"}, headers=headers)
        assert (await bad_fields(answer)).keys() == {"Idempotency-Key"}


async def test_keys_that_make_no_sense(client: httpx2.AsyncClient) -> None:
    for body, paths in [
        ({"name": "", "scopes": ["root"]}, {"name", "scopes[0]"}),
        ({"name": "a", "scopes": ["read"], "tenant": "Not A Tenant"}, {"tenant"}),
        ({"name": "a", "scopes": ["read"], "tenant": "x" * 64}, {"tenant"}),
        ({"name": "a", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"}, {"expires_at"}),
        ({"name": "a", "scopes": ["read"], "expires_at": "0001-01-01T00:00:00+14:00"}, {"expires_at"}),
        ({"name": "a", "scopes": ["read"], "expires": "2030-01-01T00:00:00Z"}, {"expires"}),
    ]:
        assert (await bad_fields(await client.post("/v1/keys", json=body))).keys() == paths, body


async def test_an_http_job_that_cannot_be_called(client: httpx2.AsyncClient) -> None:
    for http, paths in [
        ({"url": "ftp://example.com"}, {"http.url"}),
        ({"url": "http://user:secret@example.com"}, {"http.url"}),
        ({"url": "https://example.com", "method": "BREW"}, {"http.method"}),
        (
            {"url": "https://example.com", "headers": {"Host": "x", "a b": "c"}},
            {"http.headers.Host", "http.headers.a b"},
        ),
        ({"method": "GET"}, {"http.url"}),
    ]:
        assert (await bad_fields(await client.post("/v1/jobs", json={"http": http}))).keys() == paths
    for body in (
        {},
        {"task": "reports.weekly", "payload": {"to": "a"}, "http": {"url": "https://a.b"}},
        {"task": "http"},
    ):
        assert (await bad_fields(await client.post("/v1/jobs", json=body))).keys() == {"task"}


async def test_a_hundred_bad_requests_at_once_leave_the_server_as_it_was(client: httpx2.AsyncClient) -> None:
    bad = [
        client.post("/v1/jobs", content=b'{"task": "reports.weekly", "schedule": "0 0 30 2 *"}', headers=JSON)
        for _ in range(100)
    ]
    answers = await asyncio.gather(*bad)
    assert {answer.status_code for answer in answers} == {422}
    assert (await client.get("/readyz")).status_code == 200
