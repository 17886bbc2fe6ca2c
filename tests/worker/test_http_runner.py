"""HTTP jobs against a real server: what it receives, and what its answers mean."""

import asyncio
import re
import time
from base64 import b64encode
from typing import Any

import msgspec
import pytest
from standardwebhooks import Webhook

from support.callback_address import callback_of
from support.loopback_target import endless, hang, reset, respond, target
from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.execute.runners.http.guarded_session import HttpLimits
from tickwork.execute.runners.http.http_runner import HttpRunner
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy
from tickwork.model.execution import RESULT_LIMIT
from tickwork.model.public_ids import execution_id, from_micros, job_id
from tickwork.model.worker_protocol import Failure, Run

LOOPBACK = AddressPolicy.of([], loopback=True)
SECRETS = ["whsec_" + b64encode(letter * 32).decode() for letter in (b"o", b"n")]
AT = 1_700_000_000_123_456
IN_TIME = 30.0
SOON = 0.2
MEBIBYTE = 1024 * 1024


def run_of(
    url: str, *, method: str = "POST", timeout: float = IN_TIME, attempt: int = 1, **headers: Any
) -> Run:
    call = msgspec.json.encode({"url": url, "method": method, "headers": headers})
    return Run(1, AT, 77, attempt, "http", b'{"to":"a@b.c"}', timeout, AT, call)


@pytest.fixture
async def make_runner():
    made = []

    def make(limits=None, secrets=(), now=time.time, policy=LOOPBACK):
        async def secrets_of(tenant):
            return secrets

        made.append(HttpRunner(policy, secrets_of, limits or HttpLimits(), now, callback_of=callback_of))
        return made[-1]

    yield make
    for runner in made:
        await runner.close()


@pytest.fixture
async def runner(make_runner):
    return make_runner()


async def failure(runner: HttpRunner, run: Run) -> Failure:
    with pytest.raises(AttemptFailed) as raised:
        await runner(run)
    return raised.value.failure


async def test_sends_the_payload_with_all_documented_headers(make_runner):
    async with target(respond()) as served:
        await make_runner(secrets=SECRETS)(
            run_of(served.url("/hook?a=%2F%7e"), attempt=3, **{"X-Own": "mine"})  # type: ignore[arg-type]
        )
    (request,) = served.requests
    assert request.line == "POST /hook?a=%2F%7e HTTP/1.1"
    assert request.body == b'{"to":"a@b.c"}'
    sent = request.headers
    assert sent["content-type"] == "application/json"
    assert re.fullmatch(r"tickwork/\d+\.\d+.*", sent["user-agent"])
    assert sent["accept-encoding"] == "identity"
    assert sent["webhook-id"] == execution_id(77, from_micros(AT))
    assert sent["tickwork-job"] == job_id(77)
    assert sent["tickwork-scheduled-for"] == "2023-11-14T22:13:20.123456Z"
    assert sent["tickwork-attempt"] == "3"
    assert sent["x-own"] == "mine"
    for secret in SECRETS:
        assert Webhook(secret).verify(request.body, sent) == {"to": "a@b.c"}


async def test_attempts_share_their_id_and_trace_but_not_their_span(runner):
    async with target(respond()) as served:
        for attempt in (1, 2):
            await runner(run_of(served.url(), attempt=attempt))
    first, second = (request.headers for request in served.requests)
    assert first["webhook-id"] == second["webhook-id"]
    spans = [
        re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01", sent["traceparent"]) for sent in (first, second)
    ]
    assert spans[0][1] == spans[1][1]
    assert spans[0][2] != spans[1][2]


async def test_sends_no_signature_without_a_secret(runner):
    async with target(respond()) as served:
        await runner(run_of(served.url()))
    assert "webhook-signature" not in served.requests[0].headers


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
async def test_sends_no_content_where_it_has_no_meaning(make_runner, method):
    async with target(respond()) as served:
        await make_runner(secrets=SECRETS)(run_of(served.url(), method=method))
    (request,) = served.requests
    assert request.line.startswith(method)
    assert request.body == b""
    assert "content-type" not in request.headers
    Webhook(SECRETS[0]).verify(b"", request.headers, json_parse=False)


@pytest.mark.parametrize(
    ("body", "content_type", "shown"),
    [
        (b"", "text/plain", None),
        (b"fine", "text/plain", "fine"),
        (b"7", "text/plain", "7"),
        (b'{"a": [1, null]}', "application/json", {"a": [1, None]}),
        (b'{"a": 1}', "application/problem+json; charset=utf-8", {"a": 1}),
        (b"{oops", "application/json", "{oops"),
        (b"[" * 2000 + b"]" * 2000, "application/json", "[" * 2000 + "]" * 2000),
        (b'"' + b"a" * 200_000 + b'"', "application/json", "a" * 200_000),
        (b"a" * 200_000, "text/plain", "a" * 200_000),
        (b"\xff\x00!", "text/plain", "\ufffd\ufffd!"),
    ],
)
async def test_keeps_the_start_of_the_answer_as_the_result(runner, body, content_type, shown):
    async with target(respond("202 Accepted", body, content_type=content_type)) as served:
        result = await runner(run_of(served.url()))
    assert msgspec.json.decode(result) == {"status": 202, "body": shown}


@pytest.mark.parametrize("letter", [b"a", b'"', b"\xff", b"\x01", "\U0001f600".encode()])
@pytest.mark.parametrize("content_type", ["text/plain", "application/json"])
async def test_what_is_kept_of_a_long_answer_fits_into_a_result(runner, letter, content_type):
    body = letter * (600_000 // len(letter))
    async with target(respond(body=body, content_type=content_type)) as served:
        result = await runner(run_of(served.url()))
    assert RESULT_LIMIT * 0.9 < len(result) <= RESULT_LIMIT
    assert msgspec.json.decode(result)["body"].endswith("…")


async def test_sends_the_results_of_parents_beside_the_payload_if_asked_to(make_runner):
    parents = msgspec.json.encode([["j1", "export", None, "export", "completed", {"rows": 7}]])
    async with target(respond()) as served:
        call = msgspec.json.encode({"url": served.url(), "send_parents": True})
        runner = make_runner(secrets=SECRETS)
        await runner(msgspec.structs.replace(run_of(""), target=call, parents=parents))
        await runner(msgspec.structs.replace(run_of(""), target=call))
    first, second = served.requests
    export = {
        "job_id": "j1",
        "name": "export",
        "key": None,
        "task": "export",
        "status": "completed",
        "result": {"rows": 7},
    }
    assert Webhook(SECRETS[0]).verify(first.body, first.headers) == {
        "payload": {"to": "a@b.c"},
        "parents": [export],
    }
    assert msgspec.json.decode(second.body) == {"payload": {"to": "a@b.c"}, "parents": []}


@pytest.mark.parametrize(
    "parents", [b"300000", b'"the result of j1, on which it depends, is not valid JSON"']
)
async def test_fails_if_the_results_of_parents_cannot_be_sent(runner, parents):
    call = msgspec.json.encode({"url": "http://127.0.0.1:1/", "send_parents": True})
    failed = await failure(runner, msgspec.structs.replace(run_of(""), target=call, parents=parents))
    assert (failed.type, failed.retry) == ("NoParentResults", False)


async def test_does_not_decompress_an_answer(runner):
    async with target(respond(body=b"\x1f\x8bbomb", content_encoding="gzip")) as served:
        result = await runner(run_of(served.url()))
    assert msgspec.json.decode(result) == {"status": 200, "body": "\x1f\ufffdbomb"}


@pytest.mark.parametrize(
    "status", ["400 Bad Request", "404 Not Found", "500 Oops", "502 Bad Gateway", "799 Odd"]
)
async def test_another_status_fails_and_may_be_retried(runner, status):
    async with target(respond(status, b"because", retry_after="7")) as served:
        failed = await failure(runner, run_of(served.url()))
    assert failed.type == f"Http{status[:3]}"
    assert failed.message.startswith(f"127.0.0.1 answered {status[:3]}")
    assert failed.message.endswith(": because")
    assert (failed.retry, failed.retry_after) == (True, 0.0)


async def test_gone_is_not_retried(runner):
    async with target(respond("410 Gone")) as served:
        failed = await failure(runner, run_of(served.url()))
    assert failed == Failure("Http410", "127.0.0.1 answered 410 Gone", retry=False, kinds=["Http4xx"])


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("9" * 500, 86_400.0),
        ("Sun, 09 Sep 2001 01:47:10 GMT", 30.0),
        ("Sun, 09 Sep 2001 01:47:10 -0000", 30.0),
        ("Sun, 09 Sep 2001 01:46:00 GMT", 0.0),
        ("Sun, 09 Sep 9999999999 01:46:00 GMT", 0.0),
        ("-5", 0.0),
        ("soon", 0.0),
    ],
)
async def test_waits_as_long_as_the_target_asks(make_runner, status, asked, seconds):
    runner = make_runner(now=lambda: 1_000_000_000.0)
    async with target(respond(status, retry_after=asked)) as served:
        failed = await failure(runner, run_of(served.url()))
    assert (failed.retry, failed.retry_after) == (True, seconds)


@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "303 See Other", "304 Not Modified", "307 X", "308 X"]
)
async def test_does_not_follow_redirects(runner, status):
    async with target(respond(status, location="/")) as served:
        failed = await failure(runner, run_of(served.url(), method="GET"))
    assert len(served.requests) == 1
    assert "redirects are not followed" in failed.message


DRIPPING = {
    "before the headers": hang,
    "in the status line": endless(b"HTTP/1.1 200 ", b"O", pause=0.01),
    "in the headers": endless(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", pause=0.01),
    "in the body": endless(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", b"x", pause=0.01),
    "in a chunk": endless(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n", pause=0.01
    ),
    "with hints": endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", pause=0.05),
    "in a failure": endless(b"HTTP/1.1 500 Oops\r\ncontent-length: 9999\r\n\r\n", b"x", pause=0.01),
}


@pytest.mark.parametrize("answer", DRIPPING.values(), ids=DRIPPING)
async def test_the_deadline_holds_in_every_phase_and_frees_the_connection(make_runner, answer):
    runner = make_runner(HttpLimits(connections=1, connections_per_host=1))
    async with target(answer) as slow, target(respond()) as quick:
        failed = await failure(runner, run_of(slow.url(), timeout=SOON))
        await runner(run_of(quick.url()))
    assert failed == Failure("Timeout", "127.0.0.1 did not answer completely within 0.2 s")


async def test_waiting_for_a_free_connection_counts_towards_the_deadline(make_runner):
    runner = make_runner(HttpLimits(connections=1))
    arrived = asyncio.Event()

    async def arrive_and_hang(request, writer):
        arrived.set()
        await hang(request, writer)

    async with target(arrive_and_hang) as served:
        first = asyncio.create_task(runner(run_of(served.url())))
        await arrived.wait()
        assert (await failure(runner, run_of(served.url(), timeout=SOON))).type == "Timeout"
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    assert len(served.requests) == 1


@pytest.mark.parametrize(
    "start",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n",
    ],
)
async def test_stops_reading_an_endless_body(runner, start):
    counted: list[int] = []
    async with target(endless(start, b"x" * 65536, counted=counted)) as served:
        failed = await failure(runner, run_of(served.url()))
    assert failed == Failure(
        "ResponseTooLarge", f"127.0.0.1 answered with more than {MEBIBYTE} bytes of body"
    )
    assert sum(counted) < 32 * MEBIBYTE  # what the sockets' buffers took on top


async def test_reads_no_more_of_a_failure_than_it_shows(runner):
    counted: list[int] = []
    start = b"HTTP/1.1 500 Oops\r\ncontent-length: 10000000000\r\n\r\n"
    async with target(endless(start, b"x" * 65536, counted=counted)) as served:
        failed = await failure(runner, run_of(served.url()))
    assert failed.type == "Http500"
    assert len(failed.message) < 4200
    assert sum(counted) < 32 * MEBIBYTE


@pytest.mark.parametrize("piece", [b"a: b\r\n", b"a" * 65536])
async def test_stops_reading_endless_headers(runner, piece):
    counted: list[int] = []
    async with target(endless(b"HTTP/1.1 200 OK\r\n", piece, counted=counted)) as served:
        failed = await failure(runner, run_of(served.url()))
    assert failed.type == "BadResponse"
    assert len(failed.message) < 1000
    assert sum(counted) < 32 * MEBIBYTE


async def test_refuses_headers_of_more_than_64_kib_together(runner):
    many: dict[str, Any] = {f"x{number}": "y" * 7000 for number in range(10)}
    async with target(respond(**many)) as served:
        failed = await failure(runner, run_of(served.url()))
    assert failed == Failure("ResponseTooLarge", "127.0.0.1 answered with more than 65536 bytes of headers")


async def test_broken_http_is_a_bad_response(runner):
    async with target(endless(b"SSH-2.0-OpenSSH_9.2\r\n", b"\r\n")) as served:
        assert (await failure(runner, run_of(served.url()))).type == "BadResponse"


async def hang_up(request, writer):
    writer.close()


async def hang_up_half_way(request, writer):
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
    writer.close()


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
@pytest.mark.parametrize("answer", [reset, hang_up])
async def test_a_lost_connection_fails_the_attempt_and_the_request_is_not_repeated(runner, method, answer):
    async with target(answer) as served:
        failed = await failure(runner, run_of(served.url(), method=method))
    assert failed == Failure("ConnectionLost", "127.0.0.1 closed the connection before it had answered")
    assert len(served.requests) == 1


async def test_an_incomplete_answer_fails_the_attempt(runner):
    async with target(hang_up_half_way) as served:
        failed = await failure(runner, run_of(served.url()))
    assert failed.type == "ConnectionLost"
    assert failed.message.startswith("127.0.0.1 broke off in the middle of its answer")


async def test_a_closed_port_is_a_failed_connection(runner):
    async with target(respond()) as served:
        pass
    failed = await failure(runner, run_of(served.url()))
    assert (failed.type, failed.retry) == ("ConnectError", True)


async def test_reuses_a_connection(runner):
    async with target(respond(body=b"x" * 100_000)) as served:
        for _ in range(20):
            await runner(run_of(served.url()))
    assert (served.connections, len(served.requests)) == (1, 20)


async def test_limits_the_connections_per_host(make_runner):
    runner = make_runner(HttpLimits(connections_per_host=3))
    async with target(respond()) as served:
        await asyncio.gather(*(runner(run_of(served.url())) for _ in range(30)))
    assert (served.most_open, len(served.requests)) == (3, 30)


async def test_keeps_no_cookies(runner):
    async with target(respond(set_cookie="session=secret; Path=/")) as served:
        for _ in range(2):
            await runner(run_of(served.url(host="localhost")))
    assert "cookie" not in served.requests[1].headers


async def test_an_invalid_target_that_was_stored_is_refused(runner):
    async with target(respond()) as served:
        forged = await failure(runner, run_of(served.url(), **{"Webhook-Id": "forged", "X-A": "b\r\nc: d"}))  # type: ignore[arg-type]
        missing = await failure(runner, msgspec.structs.replace(run_of(served.url()), target=None))
    assert (forged.type, forged.retry, missing.type, missing.retry) == (
        "BadTarget",
        False,
        "BadTarget",
        False,
    )
    assert "http.headers.Webhook-Id: is set by Tickwork" in forged.message
    assert served.connections == 0
