"""Everything else by apprise: in a process of its own, with a deadline and the address policy."""

import asyncio
import os
from typing import Any

import msgspec
import psutil
import pytest

from support.loopback_target import canary, hang, respond, target
from support.sample_notification import channel, message
from support.waiting import eventually
from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy
from tickwork.execute.runners.notify import apprise_sender
from tickwork.execute.runners.notify.apprise_child import ProcessGuard
from tickwork.execute.runners.notify.channel_sender import ChannelSender
from tickwork.model.worker_protocol import Failure

LOOPBACK = AddressPolicy.of([], loopback=True)
TOKEN = "t0ken-in-the-apprise-url"
IN_TIME = 30.0


async def no_secrets(_tenant_id: int) -> list[str]:
    return []


@pytest.fixture
async def sender():
    sender = ChannelSender(LOOPBACK, no_secrets, None, None)
    yield sender
    await sender.close()


async def failure(sender: ChannelSender, url: str, within: float = IN_TIME) -> Failure:
    with pytest.raises(AttemptFailed) as raised:
        await sender.send(channel("apprise", url=url), message(), within)
    return raised.value.failure


def children() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if "apprise_child" in " ".join(each.cmdline())]


async def test_sends_by_any_service_that_apprise_knows(sender):
    async with target(respond("200 OK")) as served:
        answer = await sender.send(
            channel("apprise", url=f"json://127.0.0.1:{served.port}/{TOKEN}"), message(), IN_TIME
        )
    assert msgspec.json.decode(answer) == {"answer": "sent"}
    (request,) = served.requests
    told: dict[str, Any] = msgspec.json.decode(request.body)
    assert (told["title"], told["type"]) == ("weekly report failed", "failure")
    assert "Error: ValueError: no such customer" in told["message"]


async def test_says_what_apprise_says_without_the_token(sender):
    async with target(respond("401 Unauthorized", f"no {TOKEN}".encode())) as served:
        failed = await failure(sender, f"json://127.0.0.1:{served.port}/{TOKEN}")
    assert (failed.type, failed.retry) == ("AppriseFailed", True)
    assert "401" in failed.message
    assert TOKEN not in failed.message


async def test_a_url_that_apprise_does_not_know_is_final(sender):
    failed = await failure(sender, f"nonsense://{TOKEN}/x")
    assert (failed.type, failed.retry) == ("BadTarget", False)
    assert TOKEN not in failed.message


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_no_service_reaches_a_private_network(host):
    sender = ChannelSender(AddressPolicy(), no_secrets, None, None)
    async with canary() as served:
        failed = await failure(sender, f"json://{host}:{served.port}/x")
        assert (failed.type, failed.retry) == ("AddressDenied", False)
        for service in ("mailto", "rsyslog", "gotify"):
            await failure(sender, f"{service}://user:pass@{host}:{served.port}/x")
    assert served.connections == 0
    await sender.close()


async def test_no_service_starts_a_program_or_reads_a_file(tmp_path):
    guard = ProcessGuard(LOOPBACK)
    key = tmp_path / "admin.key"
    for event, arguments in (
        ("subprocess.Popen", ("sh", ["sh"], None, None)),
        ("os.system", (b"true",)),
        ("socket.connect", (None, "/run/dbus/system_bus_socket")),
        ("socket.connect", (None, ("10.0.0.1", 80))),
        ("socket.connect", (None, ("a-name-to-be-looked-up", 80))),
        ("socket.sendto", (None, ("169.254.169.254", 53))),
        ("open", (str(key), "r", 0)),
        ("open", ("/etc/passwd", "r", 0)),
    ):
        with pytest.raises(PermissionError):
            guard(event, arguments)
    guard("socket.connect", (None, ("127.0.0.1", 80)))
    guard("open", (os.__file__, "r", 0))


async def test_a_service_that_hangs_is_killed_at_the_deadline(sender, monkeypatch):
    monkeypatch.setenv("TICKWORK_ADMIN_KEY", "not for the child")
    async with target(hang) as served:
        url = f"json://127.0.0.1:{served.port}/x?rto=60"  # apprise itself would give up after 4 seconds
        sending = asyncio.create_task(failure(sender, url, within=5.0))
        await eventually(lambda: served.connections == 1, within=IN_TIME)
        (child,) = children()
        assert "TICKWORK_ADMIN_KEY" not in child.environ()
        failed = await sending
    assert (failed.type, failed.retry) == ("Timeout", True)
    assert not child.is_running()


async def test_a_cancelled_attempt_leaves_no_process(sender):
    async with target(hang) as served:
        sending = asyncio.create_task(failure(sender, f"json://127.0.0.1:{served.port}/x"))
        await eventually(lambda: served.connections == 1, within=IN_TIME)
        (child,) = children()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    assert not child.is_running()


async def test_without_the_extra_it_says_what_to_install(sender, monkeypatch):
    monkeypatch.setattr(apprise_sender, "is_apprise_installed", lambda: False)
    failed = await failure(sender, "json://127.0.0.1/")
    assert (failed.type, failed.message) == ("ExtraMissing", "install tickwork[apprise] on every server")
