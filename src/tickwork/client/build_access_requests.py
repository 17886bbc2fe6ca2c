"""Builds the requests about API keys, tenants, sessions and the signing secret, as plain values."""

from collections.abc import Sequence
from datetime import datetime

from tickwork.client.argument_types import NewKey
from tickwork.client.build_requests import Call, get, given, post
from tickwork.model.access import (
    EndedSessions,
    Identity,
    KeyView,
    Scope,
    ScopeName,
    SigningSecret,
    SignInLink,
)
from tickwork.model.field_types import Page
from tickwork.model.tenant import TenantContents, TenantPurgeView, TenantView


def create_key(
    name: str,
    *,
    scopes: Sequence[Scope | ScopeName],
    tenant: str | None = None,
    expires_at: datetime | None = None,
) -> Call[NewKey]:
    """Create an API key. Only this answer contains its secret."""
    return post("keys", answer=NewKey, body=given(locals()), repeatable=False)


def list_keys() -> Call[Page[KeyView]]:
    """The API keys, without their secrets."""
    return get("keys", answer=Page[KeyView])


def revoke_key(key_id: str) -> Call[KeyView]:
    """Revoke an API key."""
    return Call(method="DELETE", path=("keys", key_id), answer=KeyView)


def list_tenants() -> Call[Page[TenantView]]:
    """All tenants. Needs an admin key of the tenant default, as do the other requests about tenants."""
    return get("tenants", answer=Page[TenantView])


def get_tenant(name: str) -> Call[TenantContents]:
    """What a tenant has, and would lose if it were deleted."""
    return get("tenants", name, answer=TenantContents)


def purge_tenant(name: str, *, confirm: str) -> Call[TenantPurgeView]:
    """Delete a tenant and everything that it has, for good. `confirm`: its name once more. If that takes longer, it
    goes on after the answer."""
    return Call(method="DELETE", path=("tenants", name), answer=TenantPurgeView, query={"confirm": confirm})


def get_tenant_purge(name: str) -> Call[TenantPurgeView]:
    """How far the deletion of a tenant has come."""
    return get("tenants", name, "purge", answer=TenantPurgeView)


def get_me() -> Call[Identity]:
    """Who you are: the tenant, the API key and its scopes."""
    return get("me", answer=Identity)


def create_sign_in_link() -> Call[SignInLink]:
    """Create a link that signs a browser in once, with the rights of your key: open /sign-in#TOKEN."""
    return post("sign-in-links", answer=SignInLink)


def end_sessions() -> Call[EndedSessions]:
    """Sign out all browsers that signed in with your key."""
    return Call(method="DELETE", path=("session",), answer=EndedSessions)


def get_signing_secret() -> Call[SigningSecret]:
    """The secret that signs the HTTP calls of your tenant's jobs."""
    return get("signing-secret", answer=SigningSecret)
