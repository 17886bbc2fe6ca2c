"""Channels as users define, see, test and preview them. Their secrets are shown to nobody."""

import asyncio
from typing import Any

import asyncpg
import httpx2
import msgspec
import pytest
from standardwebhooks import Webhook

from api.conftest import Connect, ConnectWith, MakeTenant
from support.channel_receivers import ROUTING_KEY, SLACK_PATH, PagerDuty, Slack
from support.loopback_target import respond, target
from support.mail_server import mail_server
from tickwork.config import Settings
from tickwork.model.access import Scope
from tickwork.node import Node

SECRET = "s3cret-of-the-channel"
WHSEC = "whsec_" + "QUJD" * 10
SMTP = {"host": "mail.example.com", "username": "me", "password": SECRET}
KINDS: dict[str, dict[str, Any]] = {
    "webhook": {"url": f"https://a.example/hook?token={SECRET}", "secret": WHSEC},
    "slack": {"url": f"https://hooks.slack.com/services/T1/B1/{SECRET}"},
    "teams": {"url": f"https://prod-1.logic.azure.com/workflows/1/invoke?sig={SECRET}"},
    "pagerduty": {"routing_key": SECRET},
    "opsgenie": {"api_key": SECRET},
    "apprise": {"url": f"tgram://123456789:{SECRET}/chat"},
    "email": {"to": ["ops@example.com"], "from": "Tickwork <t@example.com>", "smtp": SMTP},
}
SHOWN: dict[str, dict[str, Any]] = {
    "webhook": {"url": "https://a.example/hook?token=***", "secret": "***"},
    "slack": {"url": "https://hooks.slack.com/***"},
    "teams": {"url": "https://prod-1.logic.azure.com/***"},
    "pagerduty": {"routing_key": "***", "url": "https://events.pagerduty.com/v2/enqueue"},
    "opsgenie": {"api_key": "***", "url": "https://api.opsgenie.com"},
    "apprise": {"url": "tgram://***"},
    "email": {
        "to": ["ops@example.com"],
        "from": "Tickwork <t@example.com>",
        "smtp": {
            "host": "mail.example.com",
            "port": 587,
            "security": "starttls",
            "username": "me",
            "password": "***",
        },
    },
}
RULES = {
    "severity": "info",
    "quiet": None,
    "digest": "immediately",
    "window": 300.0,
    "rate": 30,
    "paused": False,
    "template": None,
}
PATH = "/v1/channels/ops"
of_each_kind = pytest.mark.parametrize("kind", KINDS)


def body(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, **KINDS[kind], **more}


def fields_of(view: dict[str, Any]) -> dict[str, Any]:
    """Without times, and without what other kinds have."""
    shown = {name: value for name, value in view.items() if value is not None or name in RULES}
    return {
        name: value for name, value in shown.items() if name not in ("deliveries", "created_at", "changed_at")
    }


async def stored_secret(connection: asyncpg.Connection) -> Any:
    return msgspec.json.decode(
        await connection.fetchval("SELECT secret FROM tickwork.channel WHERE name = 'ops'")
    )


async def errors_of(client: httpx2.AsyncClient, sent: dict[str, Any]) -> list[str]:
    answer = await client.put(PATH, json=sent)
    assert answer.status_code == 422, answer.text
    assert SECRET not in answer.text
    return [f"{each['path']}: {each['message']}" for each in answer.json()["errors"]]


@of_each_kind
async def test_a_channel_is_shown_as_it_was_defined_without_its_secrets(
    client: httpx2.AsyncClient, kind: str
) -> None:
    made = await client.put(PATH, json=body(kind))
    assert made.status_code == 200, made.text
    assert fields_of(made.json()) == {"name": "ops", "kind": kind, **SHOWN[kind], **RULES}
    assert (await client.get(PATH)).json() == made.json()
    assert (await client.get("/v1/channels")).json() == {"items": [made.json()], "next_cursor": None}


@of_each_kind
async def test_no_answer_no_log_line_and_no_column_but_one_has_a_secret(
    client: httpx2.AsyncClient,
    connect_with: ConnectWith,
    connection: asyncpg.Connection,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    reader = await connect_with(Scope.READ)
    answers = [
        await client.put(PATH, json=body(kind)),
        await client.put(PATH, json=body(kind)),
        *[await who.get(path) for who in (client, reader) for path in (PATH, "/v1/channels")],
        await client.post(f"{PATH}/preview"),
        await client.get("/v1/events", headers={"accept": "application/json"}),
    ]
    rows = await connection.fetch("SELECT * FROM tickwork.channel")
    assert {name for name, value in rows[0].items() if SECRET in str(value)} == {"secret"}
    answers.append(await client.delete(PATH))
    for answer in answers:
        assert answer.status_code == 200, answer.text
        assert SECRET not in answer.text
        assert WHSEC not in answer.text
    logged = capsys.readouterr()
    assert "channel deleted" in logged.out
    assert SECRET not in logged.out + logged.err


@of_each_kind
async def test_what_was_shown_can_be_sent_back_without_losing_anything(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, kind: str
) -> None:
    await client.put(PATH, json=body(kind))
    before = await stored_secret(connection)
    again = await client.put(PATH, json={"kind": kind, **SHOWN[kind], "rate": 5})
    assert again.status_code == 200, again.text
    assert again.json()["rate"] == 5
    for name, value in before.items():
        assert (await stored_secret(connection))[name] == value or name in ("smtp", "url")
    assert SECRET in str(await stored_secret(connection))


@of_each_kind
async def test_a_mark_in_a_new_channel_is_refused(client: httpx2.AsyncClient, kind: str) -> None:
    errors = await errors_of(client, {"kind": kind, **SHOWN[kind]})
    assert errors
    assert all(error.endswith("*** stands for a secret, and none is stored") for error in errors)
    assert (await client.get(PATH)).status_code == 404


async def test_who_may_change_a_channel_cannot_have_its_secrets_sent_to_himself(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    await client.put(PATH, json=body("pagerduty"))
    (error,) = await errors_of(
        client, {"kind": "pagerduty", "routing_key": "***", "url": "https://mine.example/"}
    )
    assert error.startswith("routing_key: *** was given for https://events.pagerduty.com")
    await client.put(PATH, json=body("email"))
    moved = {**SMTP, "host": "mine.example", "password": "***"}
    (error,) = await errors_of(client, body("email", smtp=moved))
    assert error.startswith("smtp.password: *** was given for mail.example.com:587")
    assert SECRET in str(await stored_secret(connection))


async def test_a_channel_is_replaced_as_a_whole_and_keeps_its_id(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    await client.put(PATH, json=body("slack", severity="error", paused=True))
    first = await connection.fetchval("SELECT id FROM tickwork.channel")
    again = await client.put(PATH, json=body("opsgenie"))
    assert fields_of(again.json()) == {"name": "ops", "kind": "opsgenie", **SHOWN["opsgenie"], **RULES}
    assert await connection.fetchval("SELECT id FROM tickwork.channel") == first


async def test_rules_are_stored_as_they_are_meant(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    rules = {
        "severity": "warning",
        "quiet": {"from": "22:00", "to": "07:00", "timezone": "europe/paris", "except": "error"},
        "digest": "hourly",
        "window": "1h30m",
        "rate": 600,
        "paused": True,
        "template": {"title": "{job.name}", "body": "{{{title}}}"},
    }
    answer = await client.put(PATH, json=body("slack", **rules))
    meant = {**rules, "window": 5400.0, "quiet": {**rules["quiet"], "timezone": "Europe/Paris"}}  # type: ignore[dict-item]
    assert {name: answer.json()[name] for name in rules} == meant
    row = await connection.fetchrow("SELECT quiet, window_seconds, template FROM tickwork.channel")
    assert msgspec.json.decode(row["quiet"]) == meant["quiet"]
    assert row["window_seconds"] == 5400.0


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ({}, "kind: is required"),
        (
            {"kind": "slak", "url": "x"},
            "kind: must be one of apprise, email, opsgenie, pagerduty, slack, teams, webhook; got",
        ),
        ({"kind": "slack"}, "url: is required"),
        ({"kind": "slack", "url": SECRET}, "url: must begin with http:// or https://"),
        (
            {"kind": "slack", "url": f"http://hooks.slack.com/{SECRET}"},
            "url: must begin with https://, because",
        ),
        ({"kind": "slack", "url": "https://me:x@hooks.slack.com/"}, "url: must not contain a user name"),
        (body("slack", to=["a@b.c"]), "to: is not known here"),
        (body("slack", url=SECRET * 1000), "url: must be text of 1 to 2048 characters; got ***"),
        (
            body("pagerduty", routing_key=[SECRET]),
            "routing_key: must be text of 1 to 500 characters; got ***",
        ),
        (body("webhook", secret=SECRET), "secret: a signing secret is whsec_ and 24 to 64 bytes in base 64"),
        (body("email", to=[]), "to: must be a list of 1 to 50 items"),
        (body("email", to=["ops"]), "to[0]: must be an address such as ops@example.com"),
        (body("email", to=["a@b.c\n"]), "to[0]: must be an address such as ops@example.com"),
        ({"kind": "email", "to": ["a@b.c"]}, "smtp: is required: this server has no mail relay"),
        (body("email", **{"from": "nobody"}), "from: must be an address, or a name and an address in < >"),
        (body("email", smtp={**SMTP, "security": "none"}), "smtp.security: must not be none with a password"),
        (body("email", smtp={**SMTP, "username": None}), "smtp.username: is required with a password"),
        (body("email", smtp={**SMTP, "host": "a b"}), "smtp.host: ' ' is not allowed"),
        (body("apprise", url=SECRET), "url: must be an apprise URL"),
        (body("slack", window="2d"), "window: is at most a day"),
        (body("slack", window="soon"), "window: 'soon' is not a duration"),
        (body("slack", rate=0), "rate: must be a whole number from 1 to 600"),
        (body("slack", severity="bad"), "severity: must be one of info, warning, error"),
        (body("slack", digest="weekly"), "digest: must be one of daily, hourly, immediately"),
        (
            body("slack", quiet={"from": "22", "to": "07:00"}),
            "quiet.from: must be a time of day such as 22:00",
        ),
        (
            body("slack", quiet={"from": "22:00", "to": "07:00\n"}),
            "quiet.to: must be a time of day such as 22:00",
        ),
        (body("slack", quiet={"from": "22:00", "to": "22:00"}), "quiet.to: is the same as from"),
        (body("opsgenie", api_key=f"{SECRET}\r\nx: y"), "api_key: must be printable ASCII"),
        (
            body("slack", quiet={"from": "22:00", "to": "07:00", "timezone": "Europe/Pariss"}),
            "quiet.timezone: there is no time zone 'Europe/Pariss'",
        ),
        (body("slack", template={"title": "{job.nam}"}), "template.title: {job.nam} is not a field"),
        (body("slack", template={"body": "{"}), "template.body: has a single {"),
    ],
)
async def test_what_is_wrong_is_named_and_no_secret_is_repeated(
    client: httpx2.AsyncClient, sent: dict[str, Any], error: str
) -> None:
    (said,) = await errors_of(client, sent)
    assert said.startswith(error)


async def test_every_bad_field_is_named(client: httpx2.AsyncClient) -> None:
    wrong = body("email", to=["x"], rate=0, smtp={"host": 1}, severiti="info")
    errors = await errors_of(client, wrong)
    assert [error.partition(":")[0] for error in errors] == ["to[0]", "smtp.host", "rate", "severiti"]


@pytest.mark.parametrize("name", ["a b", ".ops", "x" * 101, "ops%00", "ops%0A"])
async def test_a_name_is_a_word(client: httpx2.AsyncClient, name: str) -> None:
    answer = await client.put(f"/v1/channels/{name}", json=body("slack"))
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "name")
    assert (await client.get(f"/v1/channels/{name}")).status_code == 404


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("DELETE", ""), ("POST", "/test"), ("POST", "/preview")]
)
async def test_there_is_no_such_channel(client: httpx2.AsyncClient, method: str, path: str) -> None:
    answer = await client.request(method, f"/v1/channels/nobody{path}")
    assert (answer.status_code, answer.json()["detail"]) == (404, "there is no channel nobody")


async def test_channels_are_listed_page_by_page(client: httpx2.AsyncClient) -> None:
    for name in ("c", "a", "b"):
        await client.put(f"/v1/channels/{name}", json=body("slack"))
    first = (await client.get("/v1/channels?limit=2")).json()
    rest = (await client.get(f"/v1/channels?limit=2&cursor={first['next_cursor']}")).json()
    assert [[each["name"] for each in page["items"]] for page in (first, rest)] == [["a", "b"], ["c"]]
    assert rest["next_cursor"] is None


async def test_a_deleted_channel_is_gone_and_its_name_is_free(client: httpx2.AsyncClient) -> None:
    await client.put(PATH, json=body("slack"))
    assert (await client.delete(PATH)).json()["name"] == "ops"
    assert (await client.delete(PATH)).status_code == 404
    assert (await client.put(PATH, json={"kind": "slack", **SHOWN["slack"]})).status_code == 422
    assert (await client.put(PATH, json=body("slack"))).status_code == 200


async def test_tenants_do_not_see_each_others_channels(
    client: httpx2.AsyncClient, make_tenant: MakeTenant
) -> None:
    await client.put(PATH, json=body("slack"))
    other = await make_tenant("other")
    assert (await other.admin.get("/v1/channels")).json()["items"] == []
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/test"), ("POST", "/preview")):
        assert (await other.admin.request(method, f"{PATH}{path}")).status_code == 404
    assert (await other.admin.put(PATH, json={"kind": "slack", **SHOWN["slack"]})).status_code == 422
    await other.admin.put(PATH, json=body("opsgenie"))
    assert (await client.get(PATH)).json()["kind"] == "slack"


async def test_a_test_says_what_the_receiver_answered(client: httpx2.AsyncClient) -> None:
    """Whatever the rules of the channel."""
    slack = Slack()
    async with target(slack) as served:
        quiet = {"from": "00:00", "to": "23:59"}
        rules = {"paused": True, "severity": "error", "quiet": quiet, "digest": "daily"}
        await client.put(PATH, json={"kind": "slack", "url": served.url(SLACK_PATH), **rules})
        done = (await client.post(f"{PATH}/test")).json()
    assert (done["delivered"], done["answer"], done["error"]) == (True, {"status": 200, "body": "ok"}, None)
    assert slack.told[0]["text"] == "This is a test of the channel ops"


async def test_tests_are_limited_for_each_tenant(client: httpx2.AsyncClient, make_tenant: MakeTenant) -> None:
    other = await make_tenant("other")
    async with target(respond()) as served:
        hook = {"kind": "webhook", "url": served.url(), "template": {"title": "Fire!"}}
        for who in (client, other.admin):
            await who.put(PATH, json=hook)
        for _ in range(20):
            assert (await client.post(f"{PATH}/test")).json()["delivered"]
        refused = await client.post(f"{PATH}/test")
        assert (await other.admin.post(f"{PATH}/test")).json()["delivered"]
    assert (refused.status_code, refused.json()["detail"][:16]) == (409, "20 tests were se")
    assert len(served.requests) == 21
    assert b"Fire" not in served.requests[0].body


async def test_a_test_that_fails_says_why_without_a_secret(client: httpx2.AsyncClient) -> None:
    async with target(PagerDuty()) as served:
        sent = {"kind": "pagerduty", "routing_key": f"wrong-{SECRET}", "url": served.url("/v2/enqueue")}
        await client.put(PATH, json=sent)
        answer = await client.post(f"{PATH}/test")
        await client.put(PATH, json={**sent, "routing_key": ROUTING_KEY})
        assert (await client.post(f"{PATH}/test")).json()["delivered"]
    assert (answer.status_code, answer.json()["delivered"]) == (200, False)
    assert answer.json()["error"]["type"] == "Http400"
    assert "'routing_key' is invalid" in answer.json()["error"]["message"]
    assert SECRET not in answer.text


async def test_a_server_that_makes_no_calls_tests_nothing(settings: Settings, connect: Connect) -> None:
    node = Node(msgspec.structs.replace(settings, http=False))
    await node.open()
    try:
        client = await connect(node, node.first_key)
        await client.put(PATH, json=body("slack"))
        answer = await client.post(f"{PATH}/test")
    finally:
        await node.stop()
    assert (answer.status_code, "--no-http" in answer.json()["detail"]) == (409, True)


async def test_with_a_relay_a_mail_channel_needs_only_addresses(settings: Settings, connect: Connect) -> None:
    async with mail_server() as mails:
        relay = f"smtp+plain://127.0.0.1:{mails.port}"
        node = Node(
            msgspec.structs.replace(
                settings,
                smtp_url=relay,
                smtp_from="Tickwork <t@example.com>",
                public_url="https://t.example/",
            )
        )
        await node.open()
        try:
            client = await connect(node, node.first_key)
            made = await client.put(PATH, json={"kind": "email", "to": ["ops@example.com"]})
            own = await client.put(PATH, json={"kind": "email", "to": ["a@b.c"], "from": "ceo@bank.example"})
            done = await client.post(f"{PATH}/test")
        finally:
            await node.stop()
    assert fields_of(made.json()) == {"name": "ops", "kind": "email", "to": ["ops@example.com"], **RULES}
    assert own.json()["errors"][0]["message"] == "goes with smtp"
    assert done.json()["delivered"]
    (mail,) = mails.mails
    assert (mail["From"], mail["To"]) == ("Tickwork <t@example.com>", "ops@example.com")
    assert "https://t.example/channels/ops" in mail.get_body(["plain"]).get_content()


@of_each_kind
async def test_a_preview_shows_what_would_be_sent(client: httpx2.AsyncClient, kind: str) -> None:
    await client.put(PATH, json=body(kind, template={"title": "{job.name} broke"}))
    own = (await client.post(f"{PATH}/preview")).json()
    assert own["title"] == "weekly report broke"
    assert "FileNotFoundError: there is no report.csv" in own["body"]
    assert "weekly report broke" in msgspec.json.encode(own["sent"]).decode()
    tried = {"template": {"title": "{severity}!", "body": "{job.task} {execution.attempt}"}}
    other = (await client.post(f"{PATH}/preview", json=tried)).json()
    assert (other["title"], other["body"].splitlines()[0]) == ("error!", "reports.weekly 4")
    assert (await client.get(PATH)).json()["template"] == {"title": "{job.name} broke"}


async def test_a_preview_of_a_bad_template_says_what_is_wrong(client: httpx2.AsyncClient) -> None:
    await client.put(PATH, json=body("slack"))
    answer = await client.post(f"{PATH}/preview", json={"template": {"title": "{job.nam}"}})
    assert answer.json()["errors"][0]["hint"] == "did you mean {job.name}?"


async def test_readers_may_look_and_preview_but_not_change_or_test(
    client: httpx2.AsyncClient, connect_with: ConnectWith
) -> None:
    await client.put(PATH, json=body("slack"))
    reader = await connect_with(Scope.READ)
    assert (await reader.post(f"{PATH}/preview")).status_code == 200
    for method, path in (("PUT", ""), ("DELETE", ""), ("POST", "/test")):
        answer = await reader.request(
            method, f"{PATH}{path}", json=body("slack") if method == "PUT" else None
        )
        assert answer.status_code == 403


async def test_two_requests_that_create_one_channel_both_succeed(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    answers = await asyncio.gather(
        *[client.put(PATH, json=body("slack", rate=rate)) for rate in range(1, 11)]
    )
    assert {answer.status_code for answer in answers} == {200}
    assert await connection.fetchval("SELECT count(*) FROM tickwork.channel") == 1


async def test_webhooks_are_signed_with_the_secret_of_the_tenant(client: httpx2.AsyncClient) -> None:
    async with target(respond()) as served:
        await client.put(PATH, json={"kind": "webhook", "url": served.url()})
        await client.post(f"{PATH}/test")
    (request,) = served.requests
    secret = (await client.get("/v1/signing-secret")).json()["secret"]
    told = Webhook(secret).verify(request.body, request.headers)
    assert (told["kind"], told["test"]) == ("channel.tested", True)
