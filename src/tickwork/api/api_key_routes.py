"""/keys and /signing-secret: create, list and revoke API keys; show the secret that signs HTTP calls."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import KeyView, Scope, SigningSecret
from tickwork.model.field_types import Instant, Page
from tickwork.model.public_ids import parse_key_id


class KeyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=len(Scope))]
    tenant: Annotated[str, Meta(min_length=1, max_length=100)] | None = None  # the caller's own by default
    expires_at: Instant | None = None


class NewKey(KeyView, frozen=True, kw_only=True):
    """A new key. Only this answer holds the secret: an idempotent replay has null in its place."""

    secret: str | None


async def create_key(call: Call[NoQuery, KeyRequest]) -> Reply:
    """Create an API key. Only this answer holds its secret."""
    asked = call.body
    view, secret = await call.node.keys.create(
        call.caller, asked.name, asked.scopes, asked.tenant, asked.expires_at
    )
    remembered = json_reply(_new_key(view, None)).body  # a stored secret could leak
    return json_reply(_new_key(view, secret), 201)._replace(remembered=remembered)


async def list_keys(call: Call[NoQuery, None]) -> Reply:
    """List API keys, without their secrets."""
    return json_reply(Page(await call.node.keys.list(call.caller)))


async def revoke_key(call: Call[NoQuery, None]) -> Reply:
    """Revoke an API key. Requests with it are refused from now on.

    The last admin key of your tenant cannot be revoked: create another one first, one that does not expire.
    """
    return json_reply(await call.node.keys.revoke(call.caller, call.id(parse_key_id)))


async def get_signing_secret(call: Call[NoQuery, None]) -> Reply:
    """Show the secret that signs the HTTP calls of your tenant, so that their targets can verify them."""
    return json_reply(SigningSecret(await call.node.keys.signing_secret(call.caller)))


def _new_key(view: KeyView, secret: str | None) -> NewKey:
    return NewKey(**msgspec.structs.asdict(view), secret=secret)


_BODY = json_content(KeyRequest, example={"name": "deploy", "scopes": ["write"]})

ROUTES = (
    Route("POST", "/v1/keys", create_key, Scope.ADMIN, NewKey, 201, body=_BODY, problems=(CONFLICT,)),
    Route("GET", "/v1/keys", list_keys, Scope.ADMIN, Page[KeyView]),
    Route("GET", "/v1/signing-secret", get_signing_secret, Scope.ADMIN, SigningSecret),
    Route("DELETE", "/v1/keys/{id}", revoke_key, Scope.ADMIN, KeyView, problems=(CONFLICT,)),
)
