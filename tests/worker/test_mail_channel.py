"""Mails through a real SMTP server: encryption, authentication, what it refuses, and which servers may be called."""

from typing import Any

import msgspec
import pytest

from support.loopback_target import canary, hang, target
from support.mail_server import CERTIFICATE, PASSWORD, USER, mail_server
from support.sample_notification import channel, message
from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy
from tickwork.execute.runners.notify.channel_sender import ChannelSender, MailRelay
from tickwork.model.smtp_server import SmtpServer
from tickwork.model.worker_protocol import Failure

LOOPBACK = AddressPolicy.of([], loopback=True)
FROM = "Tickwork <tickwork@example.com>"
IN_TIME = 30.0


async def no_secrets(_tenant_id: int) -> list[str]:
    return []


@pytest.fixture
async def make_sender():
    made = []

    def make(policy=LOOPBACK, relay=None):
        made.append(ChannelSender(policy, no_secrets, relay, "https://tickwork.example"))
        return made[-1]

    yield make
    for sender in made:
        await sender.close()


@pytest.fixture
def sender(make_sender) -> ChannelSender:
    return make_sender()


@pytest.fixture
def trusted(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))


def mail_channel(port: int, *, to: tuple[str, ...] = ("ops@example.com",), **smtp: Any):
    return channel("email", to=[*to], **{"from": FROM}, smtp={"host": "localhost", "port": port, **smtp})


async def failure(sender: ChannelSender, stored: Any, within: float = IN_TIME) -> Failure:
    with pytest.raises(AttemptFailed) as raised:
        await sender.send(stored, message(), within)
    return raised.value.failure


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_sends_encrypted_and_signed_in(sender, trusted, security):
    async with mail_server(security=security, auth=True) as mails:
        stored = mail_channel(mails.port, security=security, username=USER, password=PASSWORD)
        answer = await sender.send(stored, message(), IN_TIME)
    assert msgspec.json.decode(answer) == {"answer": "2.0.0 taken as number 7"}
    (mail,) = mails.mails
    assert (mails.encrypted, mails.users) == ([True], [USER])
    assert (mail["Subject"], mail["From"], mail["To"]) == ("weekly report failed", FROM, "ops@example.com")
    assert mail["Message-ID"] == "<msg_1@example.com>"
    assert mail["List-Unsubscribe"].startswith("<https://tickwork.example/channels/ops>")
    text, html = (mail.get_body([kind]).get_content() for kind in ("plain", "html"))
    assert "https://tickwork.example/executions/e5-1" in text
    assert "https://tickwork.example/executions/e5-1" in html


async def test_sends_without_encryption_only_if_told_to(sender):
    async with mail_server() as mails:
        await sender.send(mail_channel(mails.port, security="none"), message(), IN_TIME)
        failed = await failure(sender, mail_channel(mails.port))
    assert (mails.encrypted, len(mails.mails)) == ([False], 1)
    assert (failed.type, failed.retry) == ("SmtpUnsupported", False)
    assert "STARTTLS" in failed.message


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_a_certificate_that_nobody_signed_is_refused(sender, security):
    async with mail_server(security=security) as mails:
        failed = await failure(sender, mail_channel(mails.port, security=security))
    assert (failed.type, mails.mails) == ("TlsError", [])
    assert "self-signed certificate" in failed.message


async def test_a_certificate_of_another_name_is_refused(sender, trusted):
    async with mail_server(security="tls") as mails:
        stored = channel(
            "email",
            to=["ops@example.com"],
            **{"from": FROM},
            smtp={"host": "127.0.0.1", "port": mails.port, "security": "tls"},
        )
        failed = await failure(sender, stored)
    assert failed.type == "TlsError"
    assert "127.0.0.1" in failed.message


async def test_a_wrong_password_is_final_and_not_repeated(sender, trusted):
    async with mail_server(security="starttls", auth=True) as mails:
        stored = mail_channel(mails.port, username=USER, password="wr0ng-password")
        failed = await failure(sender, stored)
    assert (failed.type, failed.retry) == ("SmtpAuthentication", False)
    assert failed.message.startswith("localhost refused the user name or password: 535")
    assert "wr0ng-password" not in failed.message


async def test_an_address_that_is_refused_does_not_keep_the_others_from_their_mail(sender):
    async with mail_server() as mails:
        mails.refuses = {"gone@example.com": "550 5.1.1 no such person"}
        stored = mail_channel(mails.port, to=("gone@example.com", "ops@example.com"), security="none")
        answer = msgspec.json.decode(await sender.send(stored, message(), IN_TIME))
        assert answer["refused"] == {"gone@example.com": "550 5.1.1 no such person"}
        assert mails.recipients == [["ops@example.com"]]
        mails.refuses["ops@example.com"] = "450 4.2.1 try later"
        failed = await failure(sender, stored)
    assert (failed.type, failed.retry) == ("SmtpRecipientsRefused", True)
    assert (
        "gone@example.com: 550 5.1.1 no such person; ops@example.com: 450 4.2.1 try later" in failed.message
    )


@pytest.mark.parametrize(
    ("said", "retry"), [("452 4.3.1 the disk is full", True), ("554 5.7.1 looks like spam", False)]
)
async def test_what_the_server_says_decides_whether_it_is_tried_again(sender, said, retry):
    async with mail_server() as mails:
        mails.answer = said
        failed = await failure(sender, mail_channel(mails.port, security="none"))
    assert (failed.type, failed.retry) == (f"Smtp{said[:3]}", retry)
    assert failed.message == f"localhost answered {said}"


async def test_a_password_that_the_server_repeats_is_masked(sender):
    async with mail_server() as mails:
        mails.answer = f"554 I know that {PASSWORD} is yours"
        smtp = {"host": "localhost", "port": mails.port, "security": "none", "password": PASSWORD}
        failed = await failure(sender, channel("email", to=["a@b.c"], **{"from": FROM}, smtp=smtp))
    assert failed.message == "localhost answered 554 I know that *** is yours"


async def test_a_mail_server_in_a_private_network_is_not_called(make_sender):
    sender = make_sender(AddressPolicy())
    async with canary() as served:
        for host in ("localhost", "127.0.0.1", "::1"):
            smtp = {"host": host, "port": served.port, "security": "none"}
            failed = await failure(sender, channel("email", to=["a@b.c"], **{"from": FROM}, smtp=smtp))
            assert (failed.type, failed.retry) == ("AddressDenied", False)
    assert served.connections == 0


async def test_the_relay_of_the_operator_may_be_anywhere(make_sender):
    async with mail_server() as mails:
        relay = MailRelay(SmtpServer(host="127.0.0.1", port=mails.port, security="none"), FROM)
        sender = make_sender(AddressPolicy(), relay)
        await sender.send(channel("email", to=["ops@example.com"]), message(), IN_TIME)
    (mail,) = mails.mails
    assert mail["From"] == FROM


async def test_neither_the_host_nor_the_password_of_the_relay_is_told(make_sender):
    async with mail_server(security="starttls") as mails:
        server = SmtpServer(host="localhost", port=mails.port, security="none")
        sender = make_sender(AddressPolicy(), MailRelay(server, FROM))
        failed = await failure(sender, channel("email", to=["ops@example.com"]))
    assert failed.message.startswith("the mail relay answered 530")
    async with mail_server() as mails:
        mails.answer = f"554 {PASSWORD}"
        server = SmtpServer(host="localhost", port=mails.port, security="none", password=PASSWORD)
        sender = make_sender(AddressPolicy(), MailRelay(server, FROM))
        failed = await failure(sender, channel("email", to=["ops@example.com"]))
    assert failed.message == "the mail relay answered 554 ***"


async def test_without_a_relay_it_says_what_to_set(sender):
    failed = await failure(sender, channel("email", to=["ops@example.com"]))
    assert "TICKWORK_SMTP_URL" in failed.message


async def test_a_server_that_hangs_is_given_up(sender):
    async with target(hang) as served:
        failed = await failure(sender, mail_channel(served.port, security="none"), within=0.2)
    assert (failed.type, failed.retry) == ("Timeout", True)


async def test_nobody_listens(sender, unused_tcp_port_factory):
    failed = await failure(sender, mail_channel(unused_tcp_port_factory(), security="none"))
    assert (failed.type, failed.retry) == ("ConnectError", True)
    assert failed.message == "localhost could not be connected to: Connection refused"


async def test_names_in_any_language_arrive(sender):
    async with mail_server() as mails:
        stored = channel(
            "email",
            to=["ops@example.com"],
            **{"from": "Tíckwork 通知 <tickwork@example.com>"},
            smtp={"host": "localhost", "port": mails.port, "security": "none"},
            template={"title": "Übersicht 失敗: {job.name}", "body": "ünïcode\n.\nend"},
        )
        await sender.send(stored, message(), IN_TIME)
    (mail,) = mails.mails
    assert mail["Subject"] == "Übersicht 失敗: weekly report"
    assert mail["From"] == "Tíckwork 通知 <tickwork@example.com>"
    assert "ünïcode\n.\nend" in "\n".join(mail.get_body(["plain"]).get_content().splitlines())
