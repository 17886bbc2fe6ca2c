"""Messages to channels over real sockets: stand-ins take what the services document, and say what they would say."""

import asyncio
from base64 import b64encode
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from standardwebhooks import Webhook

from support.channel_receivers import (
    API_KEY,
    ROUTING_KEY,
    SLACK_PATH,
    TEAMS_PATH,
    Opsgenie,
    PagerDuty,
    Slack,
    Teams,
)
from support.loopback_target import canary, hang, respond, target
from support.sample_notification import channel, item, message, storm
from tickwork.execute.attempt_ending import AttemptFailed, AttemptPostponed
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy
from tickwork.execute.runners.notify.channel_sender import ChannelSender
from tickwork.model.channel import StoredChannel
from tickwork.model.notification_message import Incident, Severity
from tickwork.model.worker_protocol import Failure

LOOPBACK = AddressPolicy.of([], loopback=True)
OF_TENANT, OF_CHANNEL = ("whsec_" + b64encode(letter * 32).decode() for letter in (b"t", b"c"))
IN_TIME = 30.0


async def secrets_of(tenant_id: int) -> list[str]:
    assert tenant_id == 1
    return [OF_TENANT]


@pytest.fixture
async def make_sender():
    made = []

    def make(policy=LOOPBACK):
        made.append(ChannelSender(policy, secrets_of, None, "https://tickwork.example"))
        return made[-1]

    yield make
    for sender in made:
        await sender.close()


@pytest.fixture
def sender(make_sender) -> ChannelSender:
    return make_sender()


async def failure(
    sender: ChannelSender, stored: StoredChannel, told: Any = None, within: float = IN_TIME
) -> Failure:
    with pytest.raises(AttemptFailed) as raised:
        await sender.send(stored, told or message(), within)
    return raised.value.failure


async def sent(sender: ChannelSender, stored: StoredChannel, told: Any = None) -> Any:
    return msgspec.json.decode(await sender.send(stored, told or message(), IN_TIME))


# Webhooks


@pytest.mark.parametrize(("own", "signs"), [(None, OF_TENANT), (OF_CHANNEL, OF_CHANNEL)])
async def test_a_webhook_is_signed_by_the_tenant_or_by_a_secret_of_its_own(sender, own, signs):
    async with target(respond("200 OK", b"thanks")) as served:
        answer = await sent(sender, channel("webhook", url=served.url("/hook"), secret=own))
    (request,) = served.requests
    assert answer == {"status": 200, "body": "thanks"}
    assert Webhook(signs).verify(request.body, request.headers)["kind"] == "execution.failed"
    assert request.headers["webhook-id"] == "msg_1"
    other = OF_CHANNEL if signs == OF_TENANT else OF_TENANT
    with pytest.raises(Exception, match="No matching signature"):
        Webhook(other).verify(request.body, request.headers)


async def test_every_attempt_has_the_same_id(sender):
    async with target(respond()) as served:
        for _ in range(3):
            await sent(sender, channel("webhook", url=served.url()))
    assert {request.headers["webhook-id"] for request in served.requests} == {"msg_1"}


async def test_a_webhook_that_refuses_may_be_tried_again_but_not_one_that_is_gone(sender):
    async with target(respond("404 Not Found", b"not deployed yet")) as served:
        failed = await failure(sender, channel("webhook", url=served.url()))
    assert (failed.type, failed.retry) == ("Http404", True)
    async with target(respond("410 Gone")) as served:
        assert not (await failure(sender, channel("webhook", url=served.url()))).retry


# Services


async def test_slack_takes_one_message_a_storm_and_a_summary(sender):
    slack = Slack()
    async with target(slack) as served:
        stored = channel("slack", url=served.url(SLACK_PATH))
        for told in (message(), message(storm(100_000)), message(*[item()] * 100)):
            assert await sent(sender, stored, told) == {"status": 200, "body": "ok"}
    assert [len(body["blocks"]) for body in slack.told] == [3, 3, 22]


async def test_slack_says_why_it_refuses_and_the_url_is_not_in_what_it_said(sender):
    async with target(Slack()) as served:
        failed = await failure(sender, channel("slack", url=served.url("/services/T0/B0/an-old-token")))
    assert failed.message == "127.0.0.1 answered 404 Not Found: no_service"
    assert not failed.retry


async def test_teams_takes_an_adaptive_card(sender):
    teams = Teams()
    async with target(teams) as served:
        stored = channel("teams", url=served.url(TEAMS_PATH))
        for told in (message(), message(*[item(detail={"x": "y" * 300})] * 100)):
            assert await sent(sender, stored, told) == {"status": 202, "body": None}
    assert teams.told[0]["attachments"][0]["content"]["type"] == "AdaptiveCard"


@pytest.mark.parametrize("kind", ["pagerduty", "opsgenie"])
async def test_what_recovers_closes_the_incident_that_its_failure_opened(sender, kind):
    service = PagerDuty() if kind == "pagerduty" else Opsgenie()
    failed = message(incident=Incident(key="job-j5", action="open"))
    recovered = message(item(severity=Severity.INFO), incident=Incident(key="job-j5", action="close"))
    async with target(service) as served:
        stored = (
            channel("pagerduty", routing_key=ROUTING_KEY, url=served.url("/v2/enqueue"))
            if kind == "pagerduty"
            else channel("opsgenie", api_key=API_KEY, url=served.url(""))
        )
        for _ in range(2):  # a delivery may be repeated
            await sent(sender, stored, failed)
        assert service.open == {"job-j5": "weekly report failed"}
        for _ in range(2):
            await sent(sender, stored, recovered)
    assert service.open == {}


async def test_pagerduty_says_what_is_wrong_without_the_key(sender):
    key = "f" * 31
    async with target(PagerDuty()) as served:
        failed = await failure(sender, channel("pagerduty", routing_key=key, url=served.url("/v2/enqueue")))
    assert "'routing_key' is invalid" in failed.message
    assert (key in failed.message, failed.retry) == (False, False)


async def test_opsgenie_says_that_the_key_is_wrong(sender):
    async with target(Opsgenie()) as served:
        failed = await failure(sender, channel("opsgenie", api_key="another key", url=served.url("")))
    assert (
        failed.message
        == '127.0.0.1 answered 401 Unauthorized: {"message":"Could not authenticate","took":0.001}'
    )
    assert not failed.retry


@pytest.mark.parametrize(
    "status", ["408 Request Timeout", "425 Too Early", "429 Too Many Requests", "500 Oops"]
)
async def test_a_service_that_is_busy_or_broken_is_tried_again(sender, status):
    async with target(respond(status, retry_after="7")) as served:
        failed = await failure(sender, channel("slack", url=served.url(SLACK_PATH)))
    assert failed.retry
    assert failed.retry_after == (7.0 if status.startswith("429") else 0.0)


# What goes wrong


SECRET = "a-s3cret-of-the-channel"
WITH_SECRET: dict[str, dict[str, Any]] = {
    "webhook": {"url": f"?token={SECRET}"},
    "slack": {"url": f"/services/{SECRET}"},
    "teams": {"url": f"/invoke?sig={SECRET}"},
    "pagerduty": {"url": "/v2/enqueue", "routing_key": SECRET},
    "opsgenie": {"url": "", "api_key": SECRET},
}


@pytest.mark.parametrize("kind", WITH_SECRET)
@pytest.mark.parametrize("status", ["200 OK", "500 Oops"])
async def test_a_receiver_that_repeats_a_secret_does_not_have_it_stored(sender, kind, status):
    async def repeat(request, writer):
        said = f"{request.line} {request.headers} {request.body.decode()}".encode()
        await respond(status, said)(request, writer)

    async with target(repeat) as served:
        fields = {**WITH_SECRET[kind], "url": served.url(WITH_SECRET[kind]["url"] or "/")}
        stored = channel(kind, **fields)
        try:
            said = str(await sent(sender, stored))
        except AttemptFailed as failed:
            said = str(failed.failure)
    assert SECRET not in said
    assert "***" in said


@pytest.mark.parametrize("kind", WITH_SECRET)
async def test_no_kind_reaches_a_private_network_unless_it_is_allowed(make_sender, kind):
    sender = make_sender(AddressPolicy())
    async with canary() as served:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            fields = {**WITH_SECRET[kind], "url": served.url("/", host=host)}
            failed = await failure(sender, channel(kind, **fields))
            assert (failed.type, failed.retry) == ("AddressDenied", False)
            assert "TICKWORK_HTTP_ALLOW" in failed.message
    assert served.connections == 0


async def test_a_receiver_that_hangs_is_given_up(sender):
    async with target(hang) as served:
        failed = await failure(sender, channel("slack", url=served.url("/x")), within=0.2)
    assert (failed.type, failed.retry) == ("Timeout", True)
    assert failed.message == f"http://127.0.0.1:{served.port} did not answer within 0.2 s"


async def test_nobody_listens(sender, unused_tcp_port_factory):
    failed = await failure(sender, channel("slack", url=f"http://127.0.0.1:{unused_tcp_port_factory()}/x"))
    assert (failed.type, failed.retry) == ("ConnectError", True)


async def test_a_redirect_is_not_followed(sender):
    async with (
        canary() as elsewhere,
        target(respond("307 Temporary Redirect", location=elsewhere.url())) as served,
    ):
        failed = await failure(sender, channel("webhook", url=served.url()))
    assert "redirects are not followed" in failed.message
    assert elsewhere.connections == 0


@asynccontextmanager
async def many_on_their_way(sender, stored, count):
    tasks = [asyncio.create_task(sender.send(stored, message(), IN_TIME)) for _ in range(count)]
    yield tasks
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_destination_that_hangs_does_not_take_all_slots(sender):
    async with target(hang) as served, target(respond()) as other:
        stored = channel("slack", url=served.url("/x"))
        async with many_on_their_way(sender, stored, 30) as tasks:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            with pytest.raises(AttemptPostponed) as raised:
                done.pop().result()
            assert raised.value.reason.type == "DestinationBusy"
            await sent(sender, channel("webhook", url=other.url()))
        assert served.most_open <= 20
