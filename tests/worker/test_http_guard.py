"""HTTP jobs reach no address that is not allowed, in whatever notation they name it."""

import socket
import ssl
import threading
from pathlib import Path

import msgspec
import pytest

from support.callback_address import callback_of
from support.loopback_target import canary, respond, target
from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.execute.runners.http.guarded_session import HttpLimits
from tickwork.execute.runners.http.http_runner import HttpRunner
from tickwork.execute.runners.http.ssrf_guard import AddressDenied, AddressGuard, AddressPolicy
from tickwork.model.worker_protocol import Failure, Run

NOTHING_OPENED = AddressPolicy()
SECOND_LOOPBACK_ONLY = AddressPolicy.of(["127.0.0.2/32"])  # in place of the public internet
SELF_SIGNED = Path(__file__).parent / "data" / "self_signed.pem"

LOOPBACK_URLS = r"""
http://127.0.0.1:PORT/ http://127.0.0.1:PORT http://127.0.0.1:PORT?x http://127.0.0.1:PORT/#x http://127.1:PORT/
http://127.0.1:PORT/ http://127.000.000.001:PORT/ http://0177.0.0.1:PORT/ http://0177.0.0.01:PORT/
http://017700000001:PORT/ http://0x7f000001:PORT/ http://0x7f.0.0.1:PORT/ http://0x7f.1:PORT/ http://0X7F.0x1:PORT/
http://2130706433:PORT/ http://4294967295:PORT/ http://0:PORT/ http://00:PORT/ http://0x0:PORT/ http://0.0.0.0:PORT/
http://127.0.0.2:PORT/ http://127.255.255.254:PORT/ http://127.0.0.1.:PORT/ http://localhost:PORT/
http://LOCALHOST:PORT/ http://LocalHost:PORT/ http://localhost.:PORT/ http://localhost.localdomain:PORT/
http://ip6-localhost:PORT/ http://[::1]:PORT/ http://[0:0:0:0:0:0:0:1]:PORT/ http://[0000::0001]:PORT/
http://[::]:PORT/ http://[::ffff:127.0.0.1]:PORT/ http://[::ffff:7f00:1]:PORT/ http://[::FFFF:7F00:0001]:PORT/
http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/ http://[::127.0.0.1]:PORT/ http://[::ffff:0:127.0.0.1]:PORT/
http://[::ffff:0.0.0.0]:PORT/ http://[64:ff9b::127.0.0.1]:PORT/ http://[64:ff9b:1::127.0.0.1]:PORT/
http://[2002:7f00:1::]:PORT/ http://[fe80::1%25lo]:PORT/ http://[::1%25lo]:PORT/ http://[::1%lo]:PORT/
http://user@127.0.0.1:PORT/ http://user:pass@127.0.0.1:PORT/ http://example.com@127.0.0.1:PORT/
http://example.com:80@127.0.0.1:PORT/ http://example.com%40127.0.0.1:PORT/ http://example.com\@127.0.0.1:PORT/
http://127.0.0.1:PORT\@example.com/ http://127.0.0.1:PORT#@example.com/ http://127.0.0.1:PORT%2f@example.com/
http://%31%32%37.0.0.1:PORT/ http://127.0.0.1%00.example.com:PORT/ http:127.0.0.1:PORT/ http:/127.0.0.1:PORT/
http:///127.0.0.1:PORT/ http:\\127.0.0.1:PORT/ //127.0.0.1:PORT/ 127.0.0.1:PORT HTTP://127.0.0.1:PORT/
https://127.0.0.1:PORT/ https://localhost:PORT/ ftp://127.0.0.1:PORT/ ws://127.0.0.1:PORT/ file://127.0.0.1:PORT/
http+unix://127.0.0.1:PORT/ gopher://127.0.0.1:PORT/_GET http://169.254.169.254/latest/meta-data/
http://[::ffff:169.254.169.254]/ http://[64:ff9b::a9fe:a9fe]/ http://[fd00:ec2::254]/ http://168.63.129.16/
"""
NON_ASCII_LOOPBACK_URLS = [
    "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11:PORT/",  # full-width digits
    "http://127\u30020\u30020\u30021:PORT/",  # ideographic full stops
    "http://\u2460\u2461\u2466.0.0.1:PORT/",  # circled digits
    "http://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3:PORT/",  # circled letters
    "http://loc\u00adalhost:PORT/",  # soft hyphen
    "http://127.0.0.1:PORT\t/",
    " http://127.0.0.1:PORT/",
    "http://127.0.0.1\r\n:PORT/",
]


def run_of(url: str) -> Run:
    return Run(1, 1_700_000_000_000_000, 77, 1, "http", b"{}", 30.0, 0, msgspec.json.encode({"url": url}))


async def unsigned(tenant: int) -> list[str]:
    return []


@pytest.fixture
async def make_runner():
    made = []

    def make(policy, limits=None):
        made.append(HttpRunner(policy, unsigned, limits or HttpLimits(), callback_of=callback_of))
        return made[-1]

    yield make
    for runner in made:
        await runner.close()


async def failure(runner: HttpRunner, url: str) -> Failure:
    with pytest.raises(AttemptFailed) as raised:
        await runner(run_of(url))
    return raised.value.failure


@pytest.fixture
def look_up(monkeypatch):
    """Lets a test set the addresses that each look-up finds, one list after the other."""
    real, asked = socket.getaddrinfo, []

    def answer_with(*answers):
        def fake(host, port, *args, **kwargs):
            addresses = answers[len(asked) % len(answers)]
            asked.append(host)
            return [info for address in addresses for info in real(address, port, type=socket.SOCK_STREAM)]

        monkeypatch.setattr(socket, "getaddrinfo", fake)
        return asked

    return answer_with


async def test_no_notation_of_a_loopback_address_reaches_this_machine(make_runner):
    runner = make_runner(NOTHING_OPENED)
    urls = LOOPBACK_URLS.split() + NON_ASCII_LOOPBACK_URLS
    assert len(urls) >= 60
    async with canary() as listener:
        failed = [await failure(runner, url.replace("PORT", str(listener.port))) for url in urls]
        assert listener.connections == 0
        await make_runner(AddressPolicy.of([], loopback=True))(run_of(listener.url()))
        assert listener.connections == 1
    assert {each.type for each in failed} <= {"AddressDenied", "BadTarget", "DnsError"}


async def test_a_denial_is_final_and_names_the_setting(make_runner):
    failed = await failure(make_runner(NOTHING_OPENED), "http://127.0.0.1:9/")
    assert (failed.type, failed.retry) == ("AddressDenied", False)
    assert "may call it only if TICKWORK_HTTP_ALLOW names its network" in failed.message


@pytest.mark.parametrize(
    "name", ["localhost", "2130706433", "0x7f000001", "017700000001", "127.1", "0x7f.1", "0"]
)
async def test_the_guard_itself_recognizes_every_notation(name):
    guard = AddressGuard(NOTHING_OPENED, timeout=5.0)
    with pytest.raises(AddressDenied):
        await guard.resolve(name, 80)
    await guard.close()


def test_the_guard_opens_no_socket_to_a_denied_address():
    guard = AddressGuard(NOTHING_OPENED, timeout=5.0)
    with pytest.raises(AddressDenied):
        guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80)))


async def test_one_denied_address_among_allowed_ones_denies_the_name(make_runner, look_up):
    look_up(["127.0.0.2", "127.0.0.1"])
    async with canary() as listener:
        failed = await failure(make_runner(SECOND_LOOPBACK_ONLY), listener.url(host="mixed.example"))
        assert listener.connections == 0
    assert failed.message.startswith("mixed.example is not on the public internet")


async def test_a_name_that_changes_its_address_is_never_followed_to_a_denied_one(make_runner, look_up):
    asked = look_up(["127.0.0.2"], ["127.0.0.1"])
    async with canary() as listener:
        url = listener.url(host="rebind.example")
        for _ in range(25):
            await make_runner(SECOND_LOOPBACK_ONLY)(run_of(url))
            assert (await failure(make_runner(SECOND_LOOPBACK_ONLY), url)).type == "AddressDenied"
        assert listener.connections == 25
    assert len(asked) == 50  # one look-up per attempt: the checked address is the one connected to


async def test_the_request_names_the_host_though_the_connection_goes_to_the_checked_address(
    make_runner, look_up
):
    look_up(["127.0.0.2"])
    async with target(respond(), host="127.0.0.2") as served:
        await make_runner(SECOND_LOOPBACK_ONLY)(run_of(served.url(host="job.example")))
    assert served.requests[0].headers["host"] == f"job.example:{served.port}"


async def test_an_untrusted_certificate_fails_the_attempt_and_the_server_was_asked_by_name(
    make_runner, look_up
):
    look_up(["127.0.0.2"])
    asked_for = []
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(SELF_SIGNED)
    tls.sni_callback = lambda _, name, __: asked_for.append(name)
    async with target(respond(), host="127.0.0.2", tls=tls) as served:
        failed = await failure(
            make_runner(SECOND_LOOPBACK_ONLY), served.url(host="job.example", scheme="https")
        )
    assert failed.type == "TlsError"
    assert "self-signed certificate" in failed.message
    assert asked_for == ["job.example"]
    assert served.requests == []


async def test_a_handshake_that_never_ends_times_out(make_runner):
    async with target(respond(), host="127.0.0.2") as served:
        runner = make_runner(SECOND_LOOPBACK_ONLY, HttpLimits(connect=0.2))
        failed = await failure(runner, served.url(host="127.0.0.2", scheme="https"))
    assert failed == Failure("ConnectTimeout", "127.0.0.2 did not accept a connection in time")


async def test_a_name_server_that_never_answers_times_out(make_runner, monkeypatch):
    answered = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answered.wait())
    failed = await failure(make_runner(NOTHING_OPENED, HttpLimits(connect=0.2)), "http://silent.example/")
    answered.set()
    assert failed == Failure("DnsError", "silent.example could not be looked up: no answer within 0.2 s")


async def test_an_unknown_name_is_a_failed_look_up(make_runner, monkeypatch):
    def unknown(*args, **kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    failed = await failure(make_runner(NOTHING_OPENED), "http://nobody.example/")
    assert failed == Failure("DnsError", "nobody.example could not be looked up: Name or service not known")


async def test_proxies_of_the_environment_are_not_used(make_runner, monkeypatch):
    async with canary() as proxy, target(respond(), host="127.0.0.2") as served:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
            monkeypatch.setenv(name.upper(), proxy.url())
        monkeypatch.delenv("no_proxy", raising=False)
        await make_runner(SECOND_LOOPBACK_ONLY)(run_of(served.url(host="127.0.0.2")))
        assert (proxy.connections, served.connections) == (0, 1)
