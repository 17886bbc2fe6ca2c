"""Sends mails by SMTP. A mail server that a user names is held against the address policy, the operator's is not."""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from os import strerror

import aiosmtplib
import msgspec

from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.execute.runners.http.ssrf_guard import AddressGuard, AddressPolicy
from tickwork.model.errors import TIMEOUT
from tickwork.model.http_secrets import mask_secrets
from tickwork.model.smtp_server import SmtpServer
from tickwork.model.worker_protocol import Failure

_CONNECT_TIMEOUT = 5.0  # seconds to look the name up, and again to connect
_ANSWER_TIMEOUT = 20.0  # seconds for each answer
_LONGEST_REASON = 500
_PERMANENT = 500  # the codes from here on


class SmtpSender:
    def __init__(self, policy: AddressPolicy) -> None:
        self._guard = AddressGuard(policy, _CONNECT_TIMEOUT)
        self._tls: ssl.SSLContext | None = None

    async def send(
        self, server: SmtpServer, mail: EmailMessage, hidden: Sequence[str], *, guarded: bool
    ) -> bytes:
        """What the server answered, as JSON. Raises AttemptFailed or AddressDenied. `hidden`: secrets to mask."""
        try:
            refused, answer = await self._send(server, mail, guarded=guarded)
        except (aiosmtplib.SMTPException, OSError) as error:
            failure = _failure(error, server.host if guarded else "the mail relay")  # the operator's business
            message = mask_secrets(failure.message, hidden)[:_LONGEST_REASON]
            raise AttemptFailed(msgspec.structs.replace(failure, message=message)) from error
        result = {"answer": answer[:_LONGEST_REASON]}
        others = (
            {"refused": {who: f"{why.code} {why.message}" for who, why in refused.items()}} if refused else {}
        )
        return mask_secrets(msgspec.json.encode({**result, **others}).decode(), hidden).encode()

    async def close(self) -> None:
        await self._guard.close()

    async def _send(
        self, server: SmtpServer, mail: EmailMessage, *, guarded: bool
    ) -> tuple[dict[str, aiosmtplib.SMTPResponse], str]:
        connection = await self._connect(server.host, server.port) if guarded else None
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=None if connection else server.port,
            sock=connection,
            use_tls=server.security == "tls",
            start_tls=server.security == "starttls",
            tls_context=await self._tls_context() if server.security != "none" else None,
            username=server.username,
            password=server.password,
            local_hostname=socket.gethostname(),
            timeout=_ANSWER_TIMEOUT,
        )
        async with client:
            return await client.send_message(mail)

    async def _connect(self, host: str, port: int) -> socket.socket:
        """A connection to an address that was checked after the look-up, so that none can take its place."""
        problem: Exception = OSError("no address answered")
        for found in await self._guard.resolve(host, port):
            info = (found["family"], socket.SOCK_STREAM, found["proto"], "", (found["host"], found["port"]))
            opened = self._guard.open_socket(info)
            opened.setblocking(False)
            try:
                async with asyncio.timeout(_CONNECT_TIMEOUT):
                    await asyncio.get_running_loop().sock_connect(opened, info[4])
            except (OSError, TimeoutError) as error:
                opened.close()
                problem = error
            except BaseException:
                opened.close()
                raise
            else:
                return opened
        raise problem

    async def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)  # it reads many certificates
        return self._tls


def _failure(error: Exception, host: str) -> Failure:
    match error:
        case aiosmtplib.SMTPAuthenticationError(code=code):
            message = f"{host} refused the user name or password: {code} {error.message}"
            return Failure("SmtpAuthentication", message, retry=code < _PERMANENT)
        case aiosmtplib.SMTPResponseException(code=code):
            return Failure(f"Smtp{code}", f"{host} answered {code} {error.message}", retry=code < _PERMANENT)
        case aiosmtplib.SMTPRecipientsRefused(recipients=refused):
            reasons = "; ".join(f"{each.recipient}: {each.code} {each.message}" for each in refused[:3])
            retry = any(each.code < _PERMANENT for each in refused)
            return Failure("SmtpRecipientsRefused", f"{host} refused every address: {reasons}", retry=retry)
    for fits, kind, message in _CONNECTION_FAILURES:
        if isinstance(error, fits) or isinstance(error.__cause__, fits):
            return Failure(kind, message.format(host=host, reason=_reason(error)))
    return Failure("SmtpUnsupported", f"{host} does not offer what is needed: {error}", retry=False)


_CONNECTION_FAILURES: tuple[tuple[type[BaseException], str, str], ...] = (  # the first match counts
    (ssl.SSLError, "TlsError", "{host} offered no safe connection: {reason}"),
    (socket.gaierror, "DnsError", "{host} could not be looked up: {reason}"),
    (aiosmtplib.SMTPConnectTimeoutError, "ConnectTimeout", "{host} did not accept a connection in time"),
    (TimeoutError, TIMEOUT, "{host} did not answer in time"),
    (
        aiosmtplib.SMTPServerDisconnected,
        "ConnectionLost",
        "{host} closed the connection before it had answered",
    ),
    (OSError, "ConnectError", "{host} could not be connected to: {reason}"),
)


def _reason(error: BaseException) -> str:
    """Without the address, which asyncio puts into its message for a failed connection."""
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    if isinstance(cause, ssl.SSLError):
        return getattr(cause, "verify_message", None) or cause.reason or "the handshake failed"
    if isinstance(cause, socket.gaierror):
        return cause.strerror or "it has no address"
    return strerror(cause.errno) if isinstance(cause, OSError) and cause.errno else "no address answered"
