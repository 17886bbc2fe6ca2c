"""A heartbeat URL is called by GET under the rules for HTTP jobs, and whatever it does is an answer in words."""

import pytest

from support.loopback_target import Answer, canary, endless, hang, reset, respond, target
from tickwork.execute import call_heartbeat_url
from tickwork.execute.call_heartbeat_url import HeartbeatCaller
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy

LOOPBACK = AddressPolicy.of([], loopback=True)


async def call(answer: Answer, policy: AddressPolicy = LOOPBACK) -> tuple[str | None, list[str]]:
    caller = HeartbeatCaller(policy)
    async with target(answer) as served:
        error = await caller.call(served.url("/ping/token"))
        await caller.close()
        return error, [request.line for request in served.requests]


@pytest.mark.parametrize("status", ["200 OK", "204 No Content", "299 Fine"])
async def test_calls_once_by_get(status: str) -> None:
    assert await call(respond(status)) == (None, ["GET /ping/token HTTP/1.1"])


@pytest.mark.parametrize("status", ["301 Moved", "404 Not Found", "500 Oops", "503 Busy"])
async def test_anything_but_2xx_is_a_failure(status: str) -> None:
    error, calls = await call(respond(status, location="http://127.0.0.1:1/"))
    assert error == f"127.0.0.1 answered {status[:3]}"
    assert len(calls) == 1


async def test_a_target_that_does_not_answer_costs_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_heartbeat_url, "_TIMEOUT", 0.05)
    error, _ = await call(hang)
    assert error == "127.0.0.1 did not answer within 0.05 s"


async def test_a_connection_that_breaks_is_a_failure() -> None:
    error, _ = await call(reset)
    assert "closed the connection" in (error or "")


async def test_an_endless_answer_is_not_read() -> None:
    error, _ = await call(endless(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n"))
    assert error is None


async def test_a_private_address_is_not_called() -> None:
    caller = HeartbeatCaller(AddressPolicy())
    async with canary() as served:
        error = await caller.call(served.url())
        assert "not on the public internet" in (error or "")
        assert served.connections == 0
    await caller.close()


async def test_a_name_that_does_not_exist_is_a_failure() -> None:
    caller = HeartbeatCaller(LOOPBACK)
    assert await caller.call("http://nowhere.invalid/")
    await caller.close()
