"""/session, /me and /sign-in-links: sign a browser in and out, and show who the caller is."""

from math import ceil
from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.access.sessions import LONGEST_LIFE, NewSession
from tickwork.access.trusted_proxies import RequestOrigin
from tickwork.api.auth import SESSION_COOKIE, check_origin, unauthenticated
from tickwork.api.problem import (
    CROSS_SITE,
    NOT_ALLOWED,
    TOO_MANY_SIGN_INS,
    UNAUTHENTICATED,
    UNAVAILABLE,
    Refusal,
)
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import EndedSessions, Identity, Scope, SignInLink
from tickwork.model.errors import Invalid

Secret = Annotated[str, Meta(min_length=1, max_length=256)]


class SignIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of both."""

    key: Secret | None = None
    link: Secret | None = None  # the token of a sign-in link


async def sign_in(call: Call[NoQuery, SignIn]) -> Reply:
    """Sign a browser in, with an API key or the token of a sign-in link. The answer sets the cookie of the session.

    The session has the rights of the key. It ends a week after its last use, after 30 days, or with the key.
    """
    if (call.body.key is None) == (call.body.link is None):
        raise Invalid.field("key", "give exactly one of key and link", "link is the token of a sign-in link")
    check_origin(call.headers, call.origin)
    wait = call.node.sessions.limit.wait(call.origin.address)
    if wait:
        raise Refusal(
            TOO_MANY_SIGN_INS,
            "too many attempts from your address failed; wait a minute",
            headers={"retry-after": str(ceil(wait))},
        )
    session = await _begin(call)
    if session is None:
        call.node.sessions.limit.failed(call.origin.address)
        raise unauthenticated(
            "this API key is not known, has expired or was revoked"
            if call.body.key
            else "this link was used already, or is too old; print a new one with `tickwork login`"
        )
    return json_reply(session.identity, headers={"set-cookie": _cookie(session.token, call.origin)})


async def sign_out(call: Call[NoQuery, None]) -> Reply:
    """Sign out: end this session. With an API key instead of a cookie: end all sessions of the key."""
    ended = await call.node.sessions.end(call.caller)
    return json_reply(EndedSessions(ended), headers={"set-cookie": _cookie("", call.origin)})


async def get_me(call: Call[NoQuery, None]) -> Reply:
    """Show who you are: the tenant, the API key, its scopes, and when the session or the key expires."""
    return json_reply(await call.node.sessions.identity(call.caller))


async def create_sign_in_link(call: Call[NoQuery, None]) -> Reply:
    """Create a link that signs a browser in once within 10 minutes, with the rights of your API key.

    Open `/sign-in#TOKEN` on the server.
    """
    return json_reply(await call.node.sessions.create_link(call.caller), 201)


async def _begin(call: Call[NoQuery, SignIn]) -> NewSession | None:
    sessions = call.node.sessions
    if call.body.key is not None:
        return await sessions.sign_in_with_key(call.body.key)
    return await sessions.sign_in_with_link(call.body.link or "")


def _cookie(token: str, origin: RequestOrigin) -> str:
    """Scripts cannot read it, and other sites cannot make the browser send it. Empty: the browser forgets it."""
    age = int(LONGEST_LIFE.total_seconds()) if token else 0
    secure = "; Secure" if origin.scheme == "https" else ""
    return f"{SESSION_COOKIE}={token}; Path={origin.prefix or '/'}; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"


_SIGN_IN = json_content(SignIn, example={"key": "tw_…"})
_REFUSALS = (UNAUTHENTICATED, NOT_ALLOWED, CROSS_SITE, TOO_MANY_SIGN_INS, UNAVAILABLE)

ROUTES = (
    Route(
        "POST",
        "/v1/session",
        sign_in,
        None,
        Identity,
        body=_SIGN_IN,
        problems=_REFUSALS,
        keeps_answer=False,  # it holds a secret
    ),
    Route("DELETE", "/v1/session", sign_out, Scope.READ, EndedSessions),
    Route("GET", "/v1/me", get_me, Scope.READ, Identity),
    Route(
        "POST",
        "/v1/sign-in-links",
        create_sign_in_link,
        Scope.READ,
        SignInLink,
        201,
        by_session=False,
        keeps_answer=False,  # likewise
    ),
)
