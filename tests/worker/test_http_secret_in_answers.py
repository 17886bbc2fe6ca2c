"""Results and errors contain neither secrets that a target repeats nor the target's address."""

import errno
import os
import socket

import msgspec
import pytest
import structlog

from support.callback_address import callback_of
from support.loopback_target import respond, target
from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.execute.runners.http.http_runner import HttpRunner
from tickwork.execute.runners.http.response import KEPT_BYTES, SHOWN_BYTES
from tickwork.execute.runners.http.ssrf_guard import AddressGuard, AddressPolicy
from tickwork.model.worker_protocol import Failure, Run

SECRET = "s3cret-0123456789"
LOOPBACK = AddressPolicy.of([], loopback=True)


@pytest.fixture
async def make_runner():
    made = []

    async def unsigned(tenant):
        return []

    def make(policy=LOOPBACK):
        made.append(HttpRunner(policy, unsigned, callback_of=callback_of))
        return made[-1]

    yield make
    for runner in made:
        await runner.close()


def run_of(url: str) -> Run:
    call = msgspec.json.encode({"url": url, "headers": {"Authorization": f"Bearer {SECRET}"}})
    return Run(1, 1_700_000_000_000_000, 77, 1, "http", b"{}", 30.0, 0, call)


async def failure(runner: HttpRunner, url: str) -> Failure:
    with pytest.raises(AttemptFailed) as raised:
        await runner(run_of(url))
    return raised.value.failure


async def test_an_error_that_repeats_the_header_is_kept_without_it(make_runner):
    async with target(respond("401 Unauthorized", f"bad key: Bearer {SECRET}".encode())) as served:
        failed = await failure(make_runner(), served.url())
    assert served.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    assert failed.message == "127.0.0.1 answered 401 Unauthorized: bad key: ***"


async def test_a_result_that_repeats_a_secret_is_kept_without_it(make_runner):
    body = msgspec.json.encode({"seen": {"authorization": SECRET, "url": "/?sig=abcdef%2F"}})
    async with target(respond(body=body, content_type="application/json")) as served:
        result = await make_runner()(run_of(served.url("/?sig=abcdef%2F")))
    assert msgspec.json.decode(result)["body"] == {"seen": {"authorization": "***", "url": "/?sig=***"}}


@pytest.mark.parametrize(
    ("status", "shown"), [("200 OK", KEPT_BYTES), ("500 Internal Server Error", SHOWN_BYTES)]
)
@pytest.mark.parametrize("cut", range(len(SECRET) + 2))
async def test_no_part_of_a_secret_remains_where_an_answer_is_cut(make_runner, status, shown, cut):
    body = b"x" * (shown - len(SECRET) + cut) + SECRET.encode() * 3 + b"y" * 5000
    async with target(respond(status, body)) as served:
        runner = make_runner()
        try:
            kept = (await runner(run_of(served.url()))).decode()
        except AttemptFailed as failed:
            kept = failed.failure.message
    assert SECRET[:3] not in kept
    assert "xxx" in kept
    assert "…" in kept


async def test_an_answer_full_of_secrets_ends_with_no_part_of_one(make_runner):
    async with target(respond(body=SECRET.encode() * 30_000)) as served:
        kept = (await make_runner()(run_of(served.url()))).decode()
    assert SECRET[:2] not in kept
    assert "…" in kept


async def test_broken_http_that_repeats_a_secret_is_reported_without_it(make_runner):
    async def echo(request, writer):
        writer.write(f"HTTP/9.9 {SECRET} nonsense\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with target(echo) as served:
        failed = await failure(make_runner(), served.url())
    assert failed.type == "BadResponse"
    assert SECRET not in failed.message


async def test_a_denied_address_is_in_the_log_and_not_in_the_failure(make_runner, monkeypatch):
    async def resolve(self, host, port, family):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.1.2.3", port))]

    monkeypatch.setattr(AddressGuard, "_look_up", resolve)
    with structlog.testing.capture_logs() as logged:
        failed = await failure(make_runner(), "http://intranet.example/")
    assert (failed.type, failed.retry) == ("AddressDenied", False)
    assert "10.1.2.3" not in failed.message
    assert failed.message == (
        "intranet.example is not on the public internet: "
        "HTTP jobs and channels may call it only if TICKWORK_HTTP_ALLOW names its network"
    )
    (line,) = logged
    assert "10.1.2.3, which is a private address" in line["denied"]


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "192.168.0.1"])
async def test_every_denied_address_gets_the_same_message(make_runner, monkeypatch, address):
    async def resolve(self, host, port, family):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(AddressGuard, "_look_up", resolve)
    failed = await failure(make_runner(AddressPolicy()), "http://intranet.example/")
    assert failed.message.startswith("intranet.example is not on the public internet")


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["127.0.0.1", "127.0.0.2"]])
async def test_a_failed_connection_does_not_reveal_the_address(make_runner, monkeypatch, addresses):
    with socket.socket() as taken:  # bound and not listening: refused
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        async def resolve(self, host, port, family):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

        monkeypatch.setattr(AddressGuard, "_look_up", resolve)
        failed = await failure(make_runner(), f"http://intranet.example:{port}/")
    assert failed.type == "ConnectError"
    assert "127.0.0" not in failed.message
    if len(addresses) == 1:
        assert (
            failed.message == f"intranet.example could not be connected to: {os.strerror(errno.ECONNREFUSED)}"
        )
