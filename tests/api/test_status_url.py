"""An HTTP job whose status is asked, with real targets: from the answer 202 to the result."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from support.loopback_target import Answer, Request, Target, respond, target
from support.waiting import eventually

SOON = 30.0
ONCE = {"max_attempts": 1}
JSON = {"content_type": "application/json"}


class Printer:
    """Accepts a request, and says at its status URL how far it is."""

    def __init__(self) -> None:
        self.accept: Answer = respond("202 Accepted", location="/jobs/7", retry_after="1")
        self.answers: list[Answer] = [respond("202 Accepted"), respond("200 OK", b'{"pages": 12}', **JSON)]
        self.served: Target | None = None

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if request.line.startswith("POST"):
            await self.accept(request, writer)
        else:
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            await answer(request, writer)

    @property
    def looks(self) -> list[Request]:
        return [request for request in self.served.requests if request.line.startswith("GET")]


@pytest.fixture
async def printer() -> AsyncIterator[Printer]:
    printer = Printer()
    async with target(printer) as printer.served:
        yield printer


async def create(client: httpx2.AsyncClient, printer: Printer, poll: Any = None, **http: Any) -> str:
    body = {"url": printer.served.url("/jobs"), "poll": {"every": "1s", **(poll or {})}, **http}
    answer = await client.post("/v1/jobs", json={"http": body, "retry": ONCE})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["execution_id"])


async def ended(client: httpx2.AsyncClient, execution: str) -> Any:
    async def look() -> Any:
        shown = (await client.get(f"/v1/executions/{execution}")).json()
        return shown if shown["finished_at"] else None

    return await eventually(look, within=SOON)


async def test_asks_the_status_url_until_it_is_done(
    live_client: httpx2.AsyncClient, printer: Printer
) -> None:
    execution = await create(live_client, printer, headers={"Authorization": "Bearer s3cret-one"})
    shown = await ended(live_client, execution)
    assert (shown["status"], shown["result"]) == ("completed", {"status": 200, "body": {"pages": 12}})
    assert [request.line for request in printer.looks] == ["GET /jobs/7 HTTP/1.1"] * 2
    sent = printer.looks[0].headers
    assert (sent["webhook-id"], sent["tickwork-attempt"]) == (execution, "1")
    assert sent["authorization"] == "Bearer s3cret-one"
    assert "webhook-signature" in sent


async def test_a_value_in_the_answer_decides(live_client: httpx2.AsyncClient, printer: Printer) -> None:
    printer.accept = respond("202 Accepted", b'{"links": {"status": "/jobs/8?x=1"}}', **JSON)
    printer.answers = [
        respond(body=b'{"state": "printing"}', **JSON),
        respond(body=b'{"state": "done"}', **JSON),
    ]
    poll = {"url_from": "body.links.status", "until": {"path": "body.state", "done": ["done"]}}
    shown = await ended(live_client, await create(live_client, printer, poll))
    assert (shown["status"], shown["result"]["body"]) == ("completed", {"state": "done"})
    assert {request.line for request in printer.looks} == {"GET /jobs/8?x=1 HTTP/1.1"}


async def test_a_value_may_say_that_it_failed(live_client: httpx2.AsyncClient, printer: Printer) -> None:
    printer.answers = [respond(body=b'{"state": "jam"}', **JSON)]
    poll = {"until": {"path": "body.state", "done": ["done"], "failed": ["jam"]}}
    shown = await ended(live_client, await create(live_client, printer, poll))
    assert (shown["status"], shown["error"]["type"]) == ("failed", "TargetFailed")


async def test_goes_on_asking_while_the_target_is_broken(
    live_client: httpx2.AsyncClient, printer: Printer
) -> None:
    printer.answers = [respond("500 Oops"), respond("429 Too Many", retry_after="1"), respond("200 OK")]
    shown = await ended(live_client, await create(live_client, printer))
    assert (shown["status"], len(printer.looks)) == ("completed", 3)


@pytest.mark.parametrize(
    ("accept", "error"),
    [
        (respond("202 Accepted"), "NoStatusUrl"),
        (respond("202 Accepted", location="ftp://example.com/"), "NoStatusUrl"),
        (respond("202 Accepted", location="http://user:pw@example.com/"), "NoStatusUrl"),
        (respond("202 Accepted", location="http://169.254.169.254/latest/"), "AddressDenied"),
        (respond("202 Accepted", location="/gone"), "Http404"),
    ],
)
async def test_fails_without_a_status_url_that_can_be_asked(
    live_client: httpx2.AsyncClient, printer: Printer, accept: Answer, error: str
) -> None:
    printer.accept = accept
    printer.answers = [respond("404 Not Found")]
    shown = await ended(live_client, await create(live_client, printer))
    assert (shown["status"], shown["error"]["type"]) == ("failed", error)


async def test_secrets_go_only_to_the_destination_that_they_were_given_for(
    live_client: httpx2.AsyncClient, printer: Printer
) -> None:
    async with target(respond()) as other:
        printer.accept = respond("202 Accepted", location=other.url("/status"))
        execution = await create(live_client, printer, headers={"Authorization": "Bearer s3cret-one"})
        assert (await ended(live_client, execution))["status"] == "completed"
    (request,) = other.requests
    assert "authorization" not in request.headers
    assert request.headers["webhook-id"] == execution


@pytest.mark.parametrize(
    ("http", "path"),
    [
        ({"poll": {"every": "1ms"}}, "http.poll.every"),
        ({"poll": {"url_from": "header.x"}}, "http.poll.url_from"),
        ({"poll": {"until": {"path": "state", "done": [1]}}}, "http.poll.until.path"),
        ({"poll": {"until": {"path": "body.state", "done": []}}}, "http.poll.until.done"),
        ({"poll": {}, "completion": "callback"}, "http.poll"),
    ],
)
async def test_refuses_a_poll_that_makes_no_sense(
    client: httpx2.AsyncClient, http: dict[str, Any], path: str
) -> None:
    answer = await client.post("/v1/jobs", json={"http": {"url": "https://example.com/", **http}})
    assert (answer.status_code, [error["path"] for error in answer.json()["errors"]]) == (422, [path])
