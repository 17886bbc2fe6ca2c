"""Authentication by API key or by the cookie of a session, and the scope that a route requires."""

from urllib.parse import urlsplit

from tickwork.access.trusted_proxies import RequestOrigin
from tickwork.api.problem import CROSS_SITE, NOT_ALLOWED, UNAUTHENTICATED, Refusal
from tickwork.api.repeated_headers_and_request_id import RawHeaders
from tickwork.model.access import Caller, Scope
from tickwork.node import Node

ANONYMOUS = Caller(tenant_id=0, tenant="", key_id=0, scopes=frozenset())  # owns nothing, may do nothing
SESSION_COOKIE = "tickwork_session"
CSRF_HEADER = b"tickwork-csrf"
_MAX_KEY_LENGTH = 256
_SAFE_METHODS = frozenset({"GET", "HEAD"})
_OWN_PAGES = frozenset({b"same-origin", b"none"})  # none: the user typed the address
_SUFFICIENT_SCOPES = {
    Scope.ADMIN: frozenset({Scope.ADMIN}),
    Scope.WRITE: frozenset({Scope.WRITE, Scope.ADMIN}),
    Scope.READ: frozenset({Scope.READ, Scope.WRITE, Scope.ADMIN}),
    Scope.WORKER: frozenset({Scope.WORKER, Scope.ADMIN}),
}


async def authenticate(node: Node, headers: RawHeaders, *, in_outage: bool = False) -> Caller:
    """By API key."""
    secret = bearer(headers.get(b"authorization", b""))
    if not secret:
        raise unauthenticated("send your API key as `Authorization: Bearer KEY`", 'Bearer realm="tickwork"')
    look_up = node.keys.authenticate_in_outage if in_outage else node.keys.authenticate
    caller = await look_up(secret) if len(secret) <= _MAX_KEY_LENGTH else None
    if caller is None:
        challenge = 'Bearer realm="tickwork", error="invalid_token"'
        raise unauthenticated("this API key is not known, has expired or was revoked", challenge)
    return caller


async def authenticate_session(node: Node, token: str) -> Caller:
    """By the cookie of a session."""
    caller = await node.sessions.authenticate(token)
    if caller is None:
        raise unauthenticated("the session has ended; sign in again")
    return caller


def session_cookie(headers: RawHeaders) -> str:
    """The token in the cookie; empty if the request has none, or has an Authorization header, which counts first."""
    if b"authorization" in headers or b"cookie" not in headers:
        return ""
    for cookie in headers[b"cookie"].decode("latin-1").split(";"):
        name, _, value = cookie.strip().partition("=")
        if name == SESSION_COOKIE:
            return value
    return ""


def check_own_page(method: str, headers: RawHeaders, origin: RequestOrigin) -> None:
    """Refuses requests that another site makes a browser send: browsers add the cookie to those, too."""
    if method in _SAFE_METHODS:
        return
    if headers.get(CSRF_HEADER) != b"1":
        raise Refusal(CROSS_SITE, "send the header `tickwork-csrf: 1` with a session's cookie")
    check_origin(headers, origin)


def check_origin(headers: RawHeaders, origin: RequestOrigin) -> None:
    """Sec-Fetch-Site decides if the browser sends it: a proxy may have changed Host, which Origin is compared with."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        if site not in _OWN_PAGES:
            raise Refusal(CROSS_SITE, f"the request comes from another site ({site[:40].decode('latin-1')})")
        return
    sent_from = headers.get(b"origin")
    if sent_from is not None and _host(sent_from.decode("latin-1")) != origin.host.lower():
        hint = "behind a proxy, keep Host or send X-Forwarded-Host"
        raise Refusal(CROSS_SITE, f"the header Origin names another host than {origin.host}; {hint}")


def require(caller: Caller, scope: Scope) -> None:
    if _SUFFICIENT_SCOPES[scope].isdisjoint(caller.scopes):
        scopes = ", ".join(sorted(caller.scopes)) or "none"
        raise Refusal(NOT_ALLOWED, f"this needs a key with the scope {scope}; yours has: {scopes}")


def unauthenticated(detail: str, challenge: str = 'Bearer realm="tickwork"') -> Refusal:
    return Refusal(UNAUTHENTICATED, detail, headers={"www-authenticate": challenge})


def bearer(header: bytes) -> str:
    """The secret in an Authorization header; empty if there is none."""
    scheme, _, secret = header.decode("latin-1").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _host(address: str) -> str:
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return ""
