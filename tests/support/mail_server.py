"""A real SMTP server on loopback, which keeps the mails that it took."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any, cast
from warnings import catch_warnings

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

# For the name localhost, signed by itself: SSL_CERT_FILE makes it trusted.
CERTIFICATE = Path(__file__).parent / "localhost.pem"
USER, PASSWORD = "tickwork", "p4ssword-of-the-relay"


class MailServer:
    def __init__(self) -> None:
        self.mails: list[Any] = []  # of EmailMessage
        self.recipients: list[list[str]] = []
        self.encrypted: list[bool] = []
        self.users: list[str] = []
        self.refuses: dict[str, str] = {}  # recipients, with the answer to each
        self.answer = "250 2.0.0 taken as number 7"
        self.port = 0

    async def handle_RCPT(  # noqa: N802 (the name that the server calls)
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.refuses:
            return self.refuses[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 (likewise)
        content = cast("bytes", envelope.content)
        self.mails.append(message_from_bytes(content, policy=default))
        self.recipients.append(list(envelope.rcpt_tos))
        transport = cast("Any", server.transport)
        self.encrypted.append(transport.get_extra_info("sslcontext") is not None)
        return self.answer

    def authenticate(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, login: Any
    ) -> AuthResult:
        given = cast("LoginPassword", login)
        self.users.append(given.login.decode())
        is_right = (given.login, given.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=is_right, handled=False)


@asynccontextmanager
async def mail_server(*, security: str = "none", auth: bool = False) -> AsyncIterator[MailServer]:
    mails = MailServer()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(CERTIFICATE)
    options: dict[str, Any] = {"hostname": "mail.example", "enable_SMTPUTF8": False}
    if security == "starttls":
        options |= {"tls_context": tls, "require_starttls": True}
    if auth:
        options |= {
            "authenticator": mails.authenticate,
            "auth_required": True,
            "auth_require_tls": security == "starttls",
        }
    loop = asyncio.get_running_loop()

    def greet() -> SMTP:
        with catch_warnings(
            action="ignore"
        ):  # it does not see that the connection is encrypted from the start
            return SMTP(mails, loop=loop, **options)

    server = await loop.create_server(greet, "127.0.0.1", 0, ssl=tls if security == "tls" else None)
    mails.port = server.sockets[0].getsockname()[1]
    async with server:
        yield mails
