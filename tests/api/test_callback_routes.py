"""An HTTP job that finishes later, from its request to its report: a real target, and who may report for it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx2
import pytest

from api.conftest import Connect
from support.loopback_target import Request, Target, respond, target
from support.waiting import eventually
from tickwork.builtin_worker import callback_address
from tickwork.config import Settings
from tickwork.node import Node

SOON = 20.0
ACCEPTED = "202 Accepted"


@pytest.fixture
async def nobody(node: Node, connect: Connect) -> httpx2.AsyncClient:
    return await connect(node, None)


@pytest.fixture
async def printer() -> AsyncIterator[Target]:
    """Accepts everything, and tells the token that it was sent, which must not be stored."""

    async def accept(request: Request, writer: asyncio.StreamWriter) -> None:
        await respond(ACCEPTED, request.headers.get("tickwork-callback-token", "").encode())(request, writer)

    async with target(accept) as served:
        yield served


class Reporter:
    """The target's end of one attempt."""

    def __init__(self, nobody: httpx2.AsyncClient, request: Request) -> None:
        self._nobody = nobody
        self.path = urlsplit(request.headers["tickwork-callback-url"]).path
        self.execution = request.headers["webhook-id"]
        self.token = request.headers["tickwork-callback-token"]

    async def post(self, word: str, body: Any = None, *, token: str | None = None) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.token if token is None else token}"}
        content = {} if body is None else {"json": body}
        return await self._nobody.post(f"{self.path}/{word}", headers=headers, **content)


async def create(client: httpx2.AsyncClient, url: str, **fields: Any) -> str:
    http = {"url": url, "completion": "callback", **fields.pop("http", {})}
    answer = await client.post("/v1/jobs", json={"http": http, **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["execution_id"])


async def called(printer: Target, nobody: httpx2.AsyncClient, place: int = 0) -> Reporter:
    await eventually(lambda: len(printer.requests) > place, within=SOON)
    return Reporter(nobody, printer.requests[place])


async def accepted(
    live_client: httpx2.AsyncClient, nobody: httpx2.AsyncClient, printer: Target, **fields: Any
) -> Reporter:
    """A new job whose target was called, once its answer is recorded."""
    place = len(printer.requests)
    execution = await create(live_client, printer.url(), **fields)

    async def waits() -> bool:
        return (await get(live_client, execution))["waiting_for"] == "callback"

    await eventually(waits, within=SOON)
    return await called(printer, nobody, place)


async def get(client: httpx2.AsyncClient, execution: str) -> Any:
    return (await client.get(f"/v1/executions/{execution}")).json()


async def test_a_target_reports_until_it_has_completed(
    live_client: httpx2.AsyncClient, nobody: httpx2.AsyncClient, printer: Target
) -> None:
    reporter = await accepted(live_client, nobody, printer, http={"heartbeat": "5m"})
    shown = await get(live_client, reporter.execution)
    assert (shown["status"], shown["waiting_for"], shown["worker"]) == ("running", "callback", None)
    kept = (await reporter.post("heartbeat")).json()
    assert (kept["id"], kept["attempt"]) == (reporter.execution, 1)
    assert kept["deadline"] > shown["started_at"]
    progress = await reporter.post("progress", {"fraction": 0.5, "message": "half", "log": ["page 1"]})
    assert progress.json() == {"id": reporter.execution, "attempt": 1, "outcome": None}
    assert (await get(live_client, reporter.execution))["progress"] == {"fraction": 0.5, "message": "half"}
    done = await reporter.post("complete", {"attempt": 1, "result": {"pages": 12}})
    assert (done.status_code, done.json()["outcome"]) == (200, "completed")
    shown = await get(live_client, reporter.execution)
    assert (shown["status"], shown["result"]) == ("completed", {"pages": 12})


async def test_a_body_is_not_needed_to_complete(
    live_client: httpx2.AsyncClient, nobody: httpx2.AsyncClient, printer: Target
) -> None:
    reporter = await accepted(live_client, nobody, printer)
    assert (await reporter.post("complete")).status_code == 200
    assert (await get(live_client, reporter.execution))["status"] == "completed"


async def test_any_other_success_completes_at_once(
    live_client: httpx2.AsyncClient, nobody: httpx2.AsyncClient
) -> None:
    async with target(respond("200 OK", b'{"done": true}', content_type="application/json")) as served:
        execution = await create(live_client, served.url())
        reporter = await called(served, nobody)

        async def completed() -> bool:
            return (await get(live_client, execution))["status"] == "completed"

        await eventually(completed, within=SOON)
        assert (await get(live_client, execution))["result"] == {"status": 200, "body": {"done": True}}
        answer = await reporter.post("fail", {"error": {"type": "Late", "message": "too late"}})
        assert (answer.status_code, answer.json()["type"]) == (409, "/docs/problems/stale-attempt")


async def test_a_job_that_does_not_say_so_gets_no_token_and_takes_202_as_its_end(
    live_client: httpx2.AsyncClient, printer: Target
) -> None:
    answer = await live_client.post("/v1/jobs?wait=20", json={"http": {"url": printer.url()}})
    assert answer.json()["execution"]["status"] == "completed"
    assert not [name for name in printer.requests[0].headers if name.startswith("tickwork-callback")]


async def test_refuses_forged_and_foreign_tokens(
    live_client: httpx2.AsyncClient, nobody: httpx2.AsyncClient, printer: Target, node: Node
) -> None:
    reporter = await accepted(live_client, nobody, printer)
    other = await accepted(live_client, nobody, printer)
    next_attempt = reporter.token.replace("twc_1_", "twc_2_")
    tokens = ["", "x", "x" * 5000, other.token, next_attempt, reporter.token[:-1], str(node.first_key)]
    for token in tokens:
        for word in ("heartbeat", "progress", "complete", "fail"):
            body = {"error": {"type": "E", "message": "m"}} if word == "fail" else {}
            answer = await reporter.post(word, body, token=token)
            assert (answer.status_code, answer.json()["type"]) == (
                401,
                "/docs/problems/invalid-callback-token",
            )
            assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (await get(live_client, reporter.execution))["status"] == "running"


async def test_an_execution_that_does_not_exist_is_refused_like_one_that_does(
    nobody: httpx2.AsyncClient, node: Node
) -> None:
    for execution in ("e1-1k0hf01pm00", "nonsense", "e" * 300):
        answer = await nobody.post(
            f"/v1/callbacks/{execution}/complete", headers={"authorization": f"Bearer {node.first_key}"}
        )
        assert (answer.status_code, answer.json()["type"]) == (401, "/docs/problems/invalid-callback-token")


async def test_a_token_opens_nothing_else(
    live_client: httpx2.AsyncClient, nobody: httpx2.AsyncClient, printer: Target
) -> None:
    reporter = await accepted(live_client, nobody, printer)
    headers = {"authorization": f"Bearer {reporter.token}"}
    for path in ("/v1/jobs", "/v1/executions", f"/v1/executions/{reporter.execution}"):
        assert (await nobody.get(path, headers=headers)).status_code == 401
    report = await nobody.post(
        f"/v1/executions/{reporter.execution}/complete", json={"attempt": 1}, headers=headers
    )
    assert report.status_code == 401


@pytest.mark.parametrize(
    ("word", "body", "path"),
    [
        ("heartbeat", {"attempt": 2}, "attempt"),
        ("complete", {"attempt": 2}, "attempt"),
        ("progress", {"fraction": 7}, "fraction"),
        ("complete", {"result": "x" * 300_000}, "result"),
        ("fail", {}, "error"),
        ("fail", {"error": {"type": "E", "message": "m"}, "retry_after": "soon"}, "retry_after"),
    ],
)
async def test_refuses_bad_reports_with_the_field_that_is_wrong(
    live_client: httpx2.AsyncClient,
    nobody: httpx2.AsyncClient,
    printer: Target,
    word: str,
    body: Any,
    path: str,
) -> None:
    reporter = await accepted(live_client, nobody, printer)
    answer = await reporter.post(word, body)
    assert (answer.status_code, [error["path"] for error in answer.json()["errors"]]) == (422, [path])
    assert (await get(live_client, reporter.execution))["status"] == "running"


async def test_the_token_is_stored_nowhere_and_shown_to_nobody(
    live_client: httpx2.AsyncClient,
    nobody: httpx2.AsyncClient,
    connection: asyncpg.Connection,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also when the target repeats it in an answer that is kept."""

    async def repeat(request: Request, writer: asyncio.StreamWriter) -> None:
        body = request.headers["tickwork-callback-token"].encode()
        status = "200 OK" if request.headers["tickwork-attempt"] == "2" else "500 Broken"
        await respond(status, body)(request, writer)

    async with target(repeat) as served:
        execution = await create(live_client, served.url(), retry={"initial": "10ms", "max": "10ms"})
        await called(served, nobody, 1)

        async def completed() -> bool:
            return (await get(live_client, execution))["status"] == "completed"

        await eventually(completed, within=SOON)
        tokens = [request.headers["tickwork-callback-token"] for request in served.requests]
    assert (await get(live_client, execution))["result"]["body"] == "***"
    attempts = (await live_client.get(f"/v1/executions/{execution}/attempts")).text
    assert "***" in attempts
    stored = await connection.fetchval("SELECT string_agg(e::text, '') FROM tickwork.execution e")
    stored += await connection.fetchval(
        "SELECT string_agg(convert_from(error, 'UTF8'), '') FROM tickwork.attempt"
    )
    printed = "".join(capsys.readouterr())
    for token in tokens:
        assert token not in stored + attempts + printed


@pytest.mark.parametrize(
    ("http", "path"),
    [
        ({"completion": "later"}, "http.completion"),
        ({"method": "GET", "send_parents": True}, "http.send_parents"),
        ({"completion": "callback", "heartbeat": "1s"}, "http.heartbeat"),
        ({"completion": "callback", "heartbeat": "often"}, "http.heartbeat"),
        ({"heartbeat": "1m"}, "http.heartbeat"),
    ],
)
async def test_refuses_a_job_that_says_it_wrongly(
    client: httpx2.AsyncClient, http: dict[str, Any], path: str
) -> None:
    answer = await client.post("/v1/jobs", json={"http": {"url": "https://example.com/", **http}})
    assert (answer.status_code, [error["path"] for error in answer.json()["errors"]]) == (422, [path])


async def test_a_job_shows_how_it_completes_and_can_be_changed_back(client: httpx2.AsyncClient) -> None:
    http = {"url": "https://example.com/", "completion": "callback", "heartbeat": "5m"}
    job = (await client.post("/v1/jobs", json={"http": http, "schedule": "in 1h"})).json()
    assert (job["http"]["completion"], job["http"]["heartbeat"]) == ("callback", "5m")
    patch = {"http": {"completion": None, "heartbeat": None}}
    headers = {"content-type": "application/merge-patch+json"}
    changed = (await client.patch(f"/v1/jobs/{job['id']}", json=patch, headers=headers)).json()
    assert (changed["http"]["completion"], changed["http"]["heartbeat"]) == ("answer", None)


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        (Settings(public_url="https://jobs.example.com/"), "https://jobs.example.com"),
        (Settings(host="10.1.2.3", port=9000), "http://10.1.2.3:9000"),
        (Settings(host="fd00::1", port=9000), "http://[fd00::1]:9000"),
    ],
)
def test_targets_report_to_the_public_address(settings: Settings, address: str) -> None:
    assert callback_address(settings) == address


def test_a_node_that_listens_on_every_address_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "node-1")
    assert callback_address(Settings(host="0.0.0.0")) == "http://node-1:8080"  # noqa: S104
