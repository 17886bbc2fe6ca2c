"""Who may do what: tenants, keys and scopes."""

from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec

from tickwork.model.field_types import Instant

DEFAULT_TENANT = "default"


ScopeName = Literal["admin", "write", "read", "worker"]


class Scope(StrEnum):
    """Each scope includes those below it, except that only `worker` and `admin` may run attempts."""

    ADMIN = "admin"
    WRITE = "write"
    READ = "read"
    WORKER = "worker"


class Author(NamedTuple):
    """Who changes something: an API key, or a browser that signed in with it."""

    key_id: int
    name: str
    is_session: bool


class Requester(NamedTuple):
    """Who asks for a job, and the span of the request if it is sampled."""

    author: Author | None = None
    traceparent: str | None = None


NOBODY = Requester()


class Caller(NamedTuple):
    """The tenant and the rights of the API key that a request came with."""

    tenant_id: int
    tenant: str
    key_id: int
    scopes: frozenset[Scope]
    session: bytes | None = None  # the digest of the session, if the request came with its cookie
    key_name: str = ""

    @property
    def author(self) -> Author:
        return Author(self.key_id, self.key_name, self.session is not None)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who you are to the server: the tenant, and the API key that you use or signed in with."""

    tenant: str
    key: str
    key_name: str
    scopes: list[Scope]
    expires_at: Instant | None  # of the session, or of the key; null: never


class SignInLink(msgspec.Struct, frozen=True, kw_only=True):
    """A token that signs a browser in once, at the page /sign-in#TOKEN."""

    token: str
    expires_at: Instant


class EndedSessions(msgspec.Struct, frozen=True):
    """How many sessions ended."""

    ended: int


class SigningSecret(msgspec.Struct, frozen=True):
    """The secret that signs the HTTP calls of a tenant, in the format of Standard Webhooks."""

    secret: str


class KeyView(msgspec.Struct, frozen=True, kw_only=True):
    """An API key as shown to users: never the secret."""

    id: str
    tenant: str
    name: str
    prefix: str
    scopes: list[Scope]
    created_at: Instant
    expires_at: Instant | None
    last_used_at: Instant | None
    revoked_at: Instant | None
