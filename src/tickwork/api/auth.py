"""Authentication by API key, and the scope that a route requires."""

from tickwork.access.api_keys import ApiKeys
from tickwork.api.header_check import RawHeaders
from tickwork.api.problem import NOT_ALLOWED, UNAUTHENTICATED, Refusal
from tickwork.model.access import Caller, Scope

ANONYMOUS = Caller(tenant_id=0, tenant="", key_id=0, scopes=frozenset())  # owns nothing, may do nothing
_MAX_KEY_LENGTH = 256
_SUFFICIENT_SCOPES = {
    Scope.ADMIN: frozenset({Scope.ADMIN}),
    Scope.WRITE: frozenset({Scope.WRITE, Scope.ADMIN}),
    Scope.READ: frozenset({Scope.READ, Scope.WRITE, Scope.ADMIN}),
    Scope.WORKER: frozenset({Scope.WORKER, Scope.ADMIN}),
}


async def authenticate(keys: ApiKeys, headers: RawHeaders) -> Caller:
    secret = _bearer(headers.get(b"authorization", b""))
    if not secret:
        raise _unauthenticated("send your API key as `Authorization: Bearer KEY`", 'Bearer realm="tickwork"')
    caller = await keys.authenticate(secret) if len(secret) <= _MAX_KEY_LENGTH else None
    if caller is None:
        challenge = 'Bearer realm="tickwork", error="invalid_token"'
        raise _unauthenticated("this API key is not known, has expired or was revoked", challenge)
    return caller


def require(caller: Caller, scope: Scope) -> None:
    if _SUFFICIENT_SCOPES[scope].isdisjoint(caller.scopes):
        scopes = ", ".join(sorted(caller.scopes)) or "none"
        raise Refusal(NOT_ALLOWED, f"this needs a key with the scope {scope}; yours has: {scopes}")


def _bearer(header: bytes) -> str:
    scheme, _, secret = header.decode("latin-1").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _unauthenticated(detail: str, challenge: str) -> Refusal:
    return Refusal(UNAUTHENTICATED, detail, headers={"www-authenticate": challenge})
