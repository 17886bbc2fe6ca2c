"""Request bodies: broken, deep, large, or of the wrong kind."""

import httpx2
import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"content-type": "application/json"}
MEBIBYTE = 1024 * 1024


@pytest.fixture
def client(shared_client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    return shared_client


async def post(client, content, headers=JSON, path="/v1/jobs"):
    return await client.post(path, content=content, headers=headers)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "line 1, column 1: the body is empty; send JSON"),
        (b"  \n", "line 1, column 1: the body is empty; send JSON"),
        (b'{"task": "a"', "line 1, column 13: the JSON ends too early"),
        (b'{\n  "task": "a",\n  "name": oops\n}', "line 3, column 11: invalid character"),
        (b'{"task": "a",}', "line 1, column 14: trailing comma in object"),
        (b"{'task': 1}", "line 1, column 2: object keys must be strings"),
        (b'{"task": "a"} x', "line 1, column 16: trailing characters"),
        (b'{"task": "\xff"}', "line 1, column 11: not UTF-8"),
        (b'{"task": NaN}', "line 1, column 10: invalid character"),
        (b"[" * 40_000, "line 1, column 1: nested deeper than 32 levels"),
    ],
)
async def test_broken_json_is_told_where(client, body, detail):
    answer = await post(client, body)
    assert answer.status_code == 400
    assert answer.json()["detail"] == detail


async def test_a_mistake_after_a_bad_field_is_still_broken_json(client):
    assert (await post(client, b'{"task": 1, oops')).status_code == 400


def nested(levels):
    return b'{"task": "report", "payload": ' + b"[" * levels + b"]" * levels + b"}"


async def test_a_body_may_be_32_levels_deep_and_no_deeper(client):
    assert (await post(client, nested(31))).status_code == 201
    answer = await post(client, nested(32))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "payload"


async def test_many_brackets_side_by_side_are_not_deep(client):
    body = b'{"task": "report", "payload": [' + b",".join([b"{}"] * 100) + b"]}"
    assert (await post(client, body)).status_code == 201


async def test_a_body_may_hold_50_000_values_and_no_more(client):
    def body(count):
        return b'{"task": "report", "payload": [' + b",".join([b"1"] * count) + b"]}"

    assert (await post(client, body(49_990))).status_code == 201
    answer = await post(client, body(50_001))
    assert answer.status_code == 413
    assert answer.json()["detail"] == "the body may hold at most 50,000 values"


async def test_commas_in_texts_are_no_values(client):
    body = b'{"task": "report", "payload": "' + b"[]," * 100_000 + b'"}'
    assert (await post(client, body)).status_code == 201


async def test_a_large_body_is_refused_by_its_declared_length_without_being_read(client):
    read = []

    async def drip():
        read.append(1)
        yield b"{"

    answer = await post(client, drip(), {**JSON, "content-length": str(10 * MEBIBYTE)})
    assert answer.status_code == 413
    assert answer.json()["detail"] == "the body may hold at most 1 MiB"
    assert not read


async def test_a_large_body_without_a_declared_length_is_not_read_to_its_end(client):
    read = []

    async def drip():
        for _ in range(100):
            read.append(1)
            yield b" " * (MEBIBYTE // 4)

    answer = await post(client, drip())
    assert answer.status_code == 413
    assert len(read) < 10


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/x-ndjson"},
        {**JSON, "content-encoding": "gzip"},
    ],
)
async def test_another_kind_of_body_is_refused(client, headers):
    answer = await post(client, b'{"task": "report"}', headers)
    assert answer.status_code == 415


async def test_a_charset_does_not_matter(client):
    answer = await post(client, b'{"task": "report"}', {"content-type": "Application/JSON; charset=utf-8"})
    assert answer.status_code == 201


@pytest.mark.parametrize(("body", "status"), [(b"", 200), (b"{}", 200), (b'{"at": "now"}', 400)])
async def test_a_request_without_a_body_takes_none(client, body, status):
    job = (await post(client, b'{"task": "report"}')).headers["location"]
    assert (await post(client, body, path=f"{job}/resume")).status_code == status
