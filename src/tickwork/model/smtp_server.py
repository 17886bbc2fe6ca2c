"""A mail server and how to reach it, as a channel gives it or as a URL in the server's settings."""

import re
from email.utils import parseaddr
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Meta

from tickwork.model.field_types import Secret

Security = Literal["starttls", "tls", "none"]
_ADDRESS = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*"
EmailAddress = Annotated[
    str, Meta(pattern=f"^{_ADDRESS}$", max_length=254, description="an address such as ops@example.com")
]
_SCHEMES: dict[str, tuple[Security, int]] = {  # with the usual port of each
    "smtp": ("starttls", 587),
    "smtps": ("tls", 465),
    "smtp+plain": ("none", 25),
}


class SmtpServer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    host: Annotated[str, Meta(min_length=1, max_length=253)]
    port: Annotated[int, Meta(ge=1, le=65_535)] = 587
    security: Security = "starttls"
    username: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    password: Secret | None = None

    def __repr__(self) -> str:
        return f"SmtpServer({self.address})"

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


def parse_smtp_url(url: str) -> SmtpServer:
    """Reads smtp://user:password@host:587 (STARTTLS), smtps:// (TLS) or smtp+plain:// (neither). ValueError never
    repeats the URL, which has a password."""
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError("must be smtp://user:password@host:587, smtps://… or smtp+plain://…")
    security, port = _SCHEMES[parts.scheme]
    if security == "none" and parts.password:
        raise ValueError("must not send a password without encryption: use smtp:// or smtps://")
    return SmtpServer(
        host=parts.hostname,
        port=parts.port or port,
        security=security,
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
    )


def is_sender(text: str) -> bool:
    """Whether it is an address, or a name and an address: Tickwork <tickwork@example.com>."""
    name, address = parseaddr(text)
    return text.isprintable() and bool(re.fullmatch(_ADDRESS, address)) and (name != "" or text == address)
