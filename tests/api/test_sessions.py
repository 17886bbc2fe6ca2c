"""Browsers sign in with a key or a one-time link and use a cookie, which other sites cannot make use of."""

from datetime import timedelta

import asyncpg
import httpx2
import pytest

from api.conftest import Connect, make_key
from tickwork.access.sessions import LIFETIME, LONGEST_LIFE, MOST_PER_KEY
from tickwork.api.asgi_app import ROUTES
from tickwork.api.route import Route
from tickwork.config import Settings
from tickwork.model.access import Scope
from tickwork.node import Node
from tickwork.testing import SettableClock

CSRF = {"tickwork-csrf": "1"}
JOB = {"http": {"url": "https://example.com"}, "schedule": "every 1h"}


@pytest.fixture
async def browser(still_node: Node, connect: Connect) -> httpx2.AsyncClient:
    """Not signed in yet."""
    return await connect(still_node, None)


async def sign_in(browser: httpx2.AsyncClient, key: str | None) -> httpx2.Response:
    answer = await browser.post("/v1/session", json={"key": key})
    assert answer.status_code == 200, answer.text
    return answer


async def test_a_key_becomes_a_cookie_that_scripts_cannot_read(
    browser: httpx2.AsyncClient, still_node: Node
) -> None:
    answer = await sign_in(browser, still_node.first_key)
    me = answer.json()
    assert (me["tenant"], me["key"], me["key_name"], me["scopes"]) == ("default", "k1", "first", ["admin"])
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("tickwork_session=")
    assert "; HttpOnly; SameSite=Strict" in cookie
    assert "; Path=/;" in cookie
    assert "Secure" not in cookie
    assert (await browser.get("/v1/me")).json() == me
    assert (await browser.get("/v1/jobs")).status_code == 200


async def test_the_cookie_keeps_to_the_path_and_the_tls_of_a_trusted_proxy(
    browser: httpx2.AsyncClient, still_node: Node
) -> None:
    headers = {"x-forwarded-proto": "https", "x-forwarded-prefix": "/ops/tickwork/"}
    answer = await browser.post("/v1/session", json={"key": still_node.first_key}, headers=headers)
    assert "; Path=/ops/tickwork;" in answer.headers["set-cookie"]
    assert answer.headers["set-cookie"].endswith("; Secure")


async def test_a_proxy_that_is_not_trusted_is_not_believed(settings: Settings, connect: Connect) -> None:
    node = Node(settings_with(settings, trusted_proxies=()))
    await node.open()
    try:
        headers = {"x-forwarded-proto": "https", "x-forwarded-prefix": "/ops"}
        browser = await connect(node, None)
        answer = await browser.post("/v1/session", json={"key": node.first_key}, headers=headers)
        assert "; Path=/;" in answer.headers["set-cookie"]
        assert "Secure" not in answer.headers["set-cookie"]
    finally:
        await node.stop()


def settings_with(settings: Settings, **changes: object) -> Settings:
    fields = {name: getattr(settings, name) for name in settings.__struct_fields__}
    return Settings(**{**fields, **changes})


async def test_me_shows_the_key_of_a_program(client: httpx2.AsyncClient) -> None:
    me = (await client.get("/v1/me")).json()
    assert me == {
        "tenant": "default",
        "key": "k1",
        "key_name": "first",
        "scopes": ["admin"],
        "expires_at": None,
    }


@pytest.mark.parametrize("headers", [{}, {"tickwork-csrf": "0"}, {**CSRF, "sec-fetch-site": "cross-site"}])
async def test_no_other_site_can_use_the_cookie(
    browser: httpx2.AsyncClient, still_node: Node, headers: dict[str, str]
) -> None:
    await sign_in(browser, still_node.first_key)
    answer = await browser.post("/v1/jobs", json=JOB, headers=headers)
    assert answer.status_code == 403
    assert answer.json()["type"] == "/docs/problems/cross-site-request"
    assert (await browser.get("/v1/jobs")).json()["items"] == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "same-origin"}, 201),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "http://test"}, 201),
        ({"origin": "http://test.evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://ops.example", "x-forwarded-host": "ops.example"}, 201),
        ({"origin": "https://ops.example", "sec-fetch-site": "same-origin"}, 201),
        ({}, 201),
    ],
)
async def test_a_request_with_the_cookie_must_come_from_a_page_of_this_server(
    browser: httpx2.AsyncClient, still_node: Node, headers: dict[str, str], status: int
) -> None:
    await sign_in(browser, still_node.first_key)
    answer = await browser.post("/v1/jobs", json=JOB, headers={**CSRF, **headers})
    assert answer.status_code == status, answer.text


async def test_another_site_cannot_sign_a_browser_in(browser: httpx2.AsyncClient, still_node: Node) -> None:
    headers = {"origin": "https://evil.example"}
    answer = await browser.post("/v1/session", json={"key": still_node.first_key}, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "route", [each for each in ROUTES if not each.by_session], ids=lambda each: each.path
)
async def test_what_only_programs_do_takes_no_cookie(
    browser: httpx2.AsyncClient, still_node: Node, route: Route
) -> None:
    await sign_in(browser, still_node.first_key)
    path = route.path.replace("{id}", "w0" if "workers" in route.path else "e0-0")
    answer = await browser.post(path, json=route.body.example if route.body else None, headers=CSRF)
    assert answer.status_code == 403
    assert answer.json()["detail"] == "this takes an API key, not a session"


async def test_signing_out_ends_only_this_session_and_everywhere(
    browser: httpx2.AsyncClient, still_node: Node, connect: Connect, settings: Settings
) -> None:
    other = await connect(still_node, None)
    await sign_in(browser, still_node.first_key)
    await sign_in(other, still_node.first_key)
    second_node = Node(settings)
    await second_node.open()
    try:
        elsewhere = await connect(second_node, None)
        cookie = {"cookie": f"tickwork_session={browser.cookies['tickwork_session']}"}
        assert (await elsewhere.get("/v1/me", headers=cookie)).status_code == 200
        answer = await browser.delete("/v1/session", headers=CSRF)
        assert answer.json() == {"ended": 1}
        assert "Max-Age=0" in answer.headers["set-cookie"]
        assert (await elsewhere.get("/v1/me", headers=cookie)).status_code == 401
    finally:
        await second_node.stop()
    assert (await other.get("/v1/me")).status_code == 200


async def test_a_key_signs_out_all_of_its_browsers(
    browser: httpx2.AsyncClient, client: httpx2.AsyncClient, still_node: Node
) -> None:
    await sign_in(browser, still_node.first_key)
    await sign_in(browser, still_node.first_key)
    assert (await client.delete("/v1/session")).json() == {"ended": 2}
    assert (await browser.get("/v1/me")).status_code == 401


async def test_a_session_ends_with_its_key(
    browser: httpx2.AsyncClient, client: httpx2.AsyncClient, still_node: Node
) -> None:
    await sign_in(browser, await make_key(still_node, Scope.READ))
    assert (await browser.post("/v1/jobs", json=JOB, headers=CSRF)).status_code == 403
    assert (await client.delete("/v1/keys/k2")).status_code == 200
    assert (await browser.get("/v1/me")).status_code == 401


async def test_a_session_lasts_while_it_is_used_but_not_for_ever(
    clock: SettableClock, browser: httpx2.AsyncClient, still_node: Node
) -> None:
    await sign_in(browser, still_node.first_key)
    for _ in range(LONGEST_LIFE // LIFETIME):
        await clock.advance(LIFETIME - timedelta(hours=1))
        assert (await browser.get("/v1/me")).status_code == 200
        await still_node.step("update sessions")
    await clock.advance(LIFETIME - timedelta(hours=1))
    assert (await browser.get("/v1/me")).status_code == 401


async def test_a_session_that_is_not_used_expires_and_leaves_nothing(
    clock: SettableClock, browser: httpx2.AsyncClient, still_node: Node, connection: asyncpg.Connection
) -> None:
    await sign_in(browser, still_node.first_key)
    await clock.advance(LIFETIME)
    assert (await browser.get("/v1/me")).status_code == 401
    await still_node.step("update sessions")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.session") == 0


async def test_a_key_has_a_limited_number_of_sessions_and_the_oldest_ends(
    browser: httpx2.AsyncClient, still_node: Node, connection: asyncpg.Connection, connect: Connect
) -> None:
    first = await connect(still_node, None)
    await sign_in(first, still_node.first_key)
    for _ in range(MOST_PER_KEY):
        await sign_in(browser, still_node.first_key)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.session") == MOST_PER_KEY
    assert (await first.get("/v1/me")).status_code == 401
    assert (await browser.get("/v1/me")).status_code == 200


async def test_the_database_holds_no_token(
    browser: httpx2.AsyncClient, client: httpx2.AsyncClient, still_node: Node, connection: asyncpg.Connection
) -> None:
    await sign_in(browser, still_node.first_key)
    link = (await client.post("/v1/sign-in-links")).json()["token"]
    rows = [
        *await connection.fetch("SELECT s::text FROM tickwork.session s"),
        *await connection.fetch("SELECT l::text FROM tickwork.sign_in_link l"),
    ]
    assert len(rows) == 2
    assert not any(secret in str(rows) for secret in (link, browser.cookies["tickwork_session"]))


async def test_a_link_signs_in_once(
    browser: httpx2.AsyncClient, client: httpx2.AsyncClient, still_node: Node, connect: Connect
) -> None:
    link = (await client.post("/v1/sign-in-links")).json()["token"]
    answer = await browser.post("/v1/session", json={"link": link})
    assert answer.status_code == 200
    assert (await browser.get("/v1/me")).json()["key"] == "k1"
    again = await (await connect(still_node, None)).post("/v1/session", json={"link": link})
    assert again.status_code == 401
    assert "tickwork login" in again.json()["detail"]


async def test_a_link_is_valid_for_a_few_minutes(
    clock: SettableClock, browser: httpx2.AsyncClient, client: httpx2.AsyncClient
) -> None:
    link = (await client.post("/v1/sign-in-links")).json()["token"]
    await clock.advance(timedelta(minutes=10))
    assert (await browser.post("/v1/session", json={"link": link})).status_code == 401


async def test_a_key_for_workers_only_cannot_sign_in(browser: httpx2.AsyncClient, still_node: Node) -> None:
    answer = await browser.post("/v1/session", json={"key": await make_key(still_node, Scope.WORKER)})
    assert answer.status_code == 403
    assert "scope read" in answer.json()["detail"]


@pytest.mark.parametrize("body", [{}, {"key": "a", "link": "b"}])
async def test_signing_in_takes_a_key_or_a_link(browser: httpx2.AsyncClient, body: dict[str, str]) -> None:
    answer = await browser.post("/v1/session", json=body)
    assert answer.status_code == 422
    assert "exactly one of key and link" in answer.json()["detail"]


async def test_guessing_is_slowed_down_by_address(browser: httpx2.AsyncClient, still_node: Node) -> None:
    for number in range(10):
        answer = await browser.post("/v1/session", json={"key": f"tw_guess{number}"})
        assert answer.status_code == 401
    answer = await browser.post("/v1/session", json={"key": still_node.first_key})
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 60
    elsewhere = {"x-forwarded-for": "203.0.113.7"}
    answer = await browser.post("/v1/session", json={"key": still_node.first_key}, headers=elsewhere)
    assert answer.status_code == 200


async def test_a_cookie_counts_only_without_an_authorization_header(
    browser: httpx2.AsyncClient, still_node: Node
) -> None:
    await sign_in(browser, still_node.first_key)
    answer = await browser.get("/v1/me", headers={"authorization": "Bearer nonsense"})
    assert answer.status_code == 401


@pytest.mark.parametrize("cookie", ["", "x", "x" * 5000, "é"])
async def test_a_cookie_that_is_no_session_is_401(browser: httpx2.AsyncClient, cookie: str) -> None:
    headers = {b"cookie": f"tickwork_session={cookie}".encode("latin-1")}
    assert (await browser.get("/v1/me", headers=headers)).status_code == 401
