"""Makes HTTP requests to addresses that the policy permits, and turns what comes of them into results and failures."""

import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from os import strerror
from typing import NamedTuple

from aiohttp import (
    ClientConnectionError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientError,
    ClientHandlerType,
    ClientOSError,
    ClientPayloadError,
    ClientRequest,
    ClientResponse,
    ClientSession,
    ClientSSLError,
    ClientTimeout,
    ConnectionTimeoutError,
    DummyCookieJar,
    ServerDisconnectedError,
    TCPConnector,
)
from yarl import URL

from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.execute.runners.http.response import (
    ProvisionalLimitResponse,
    failure_of,
    header_bytes,
    result_of,
    retry_after,
    too_large,
)
from tickwork.execute.runners.http.ssrf_guard import AddressGuard, AddressPolicy
from tickwork.execute.traced_attempt import describe_in_span
from tickwork.model.http_secrets import mask_secrets
from tickwork.model.worker_protocol import Failure

# Common servers close an idle connection after 5 seconds; close it before, so that no request is sent into that.
_KEEP_ALIVE = 4.0
_LONGEST_REASON = 500


class HttpLimits(NamedTuple):
    connect: float = 5.0  # seconds for the DNS lookup, and again for connecting with TLS
    header_bytes: int = 64 * 1024
    body_bytes: int = 1024 * 1024
    connections: int = 1000
    connections_per_host: int = 100
    slot_wait: float = 1.0  # seconds to wait for a slot of a destination that is at its limit


LIMITS_DEFAULT = HttpLimits()


class Answer(NamedTuple):
    status: int
    result: bytes  # JSON: the status and the body
    location: str | None
    retry_after: float  # seconds that the target asks us to wait


class GuardedSession:
    """Create it inside the running event loop."""

    def __init__(
        self, policy: AddressPolicy, limits: HttpLimits = LIMITS_DEFAULT, now: Callable[[], float] = time.time
    ) -> None:
        self._limits = limits
        self._now = now
        self._guard = AddressGuard(policy, limits.connect)
        self._session = _open_session(self._guard, limits)

    async def request(
        self, method: str, url: URL, headers: Mapping[str, str], content: bytes | None, hidden: Sequence[str]
    ) -> Answer:
        """What the target answers, if that is a success. Raises AttemptFailed or AddressDenied. `hidden`: secrets to
        mask in what the target says."""
        host = url.raw_host or ""
        describe_in_span({"http.request.method": method, "server.address": host})
        try:
            async with self._session.request(
                method, url, data=content, headers=headers, allow_redirects=False
            ) as response:
                describe_in_span({"http.response.status_code": response.status})
                return Answer(
                    response.status,
                    await self._read_response(response, hidden),
                    response.headers.get("Location"),
                    retry_after(response, self._now()),
                )
        except ClientError as error:
            raise AttemptFailed(_connection_failure(error, host, hidden)) from error

    async def status_of(self, url: URL, hidden: Sequence[str]) -> int:
        """What a GET is answered with. The body is not read. Raises like `request`."""
        try:
            async with self._session.get(url, allow_redirects=False) as response:
                return response.status
        except ClientError as error:
            raise AttemptFailed(_connection_failure(error, url.raw_host or "", hidden)) from error

    async def close(self) -> None:
        await self._session.close()
        await self._guard.close()

    async def _read_response(self, response: ClientResponse, hidden: Sequence[str]) -> bytes:
        if header_bytes(response) > self._limits.header_bytes:
            raise AttemptFailed(too_large(response, f"{self._limits.header_bytes} bytes of headers"))
        if not 200 <= response.status < 300:  # noqa: PLR2004 (2xx is what it is)
            raise AttemptFailed(await failure_of(response, self._now(), hidden))
        return await result_of(response, self._limits.body_bytes, hidden)


def _open_session(guard: AddressGuard, limits: HttpLimits) -> ClientSession:
    connector = TCPConnector(
        resolver=guard,
        socket_factory=guard.open_socket,
        limit=limits.connections,
        limit_per_host=limits.connections_per_host,
        keepalive_timeout=_KEEP_ALIVE,
    )
    return ClientSession(
        connector=connector,
        cookie_jar=DummyCookieJar(),  # cookies of one tenant's target must not reach another's
        headers={"User-Agent": f"tickwork/{version('tickwork')}", "Accept-Encoding": "identity"},
        timeout=ClientTimeout(total=None, sock_connect=limits.connect),
        auto_decompress=False,
        trust_env=False,
        middlewares=[_send_once],
        response_class=ProvisionalLimitResponse,
    )


async def _send_once(request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
    """Keep aiohttp from repeating a GET, PUT or DELETE that lost its connection: an attempt is one request."""
    try:
        return await send(request)
    except ClientConnectorError:
        raise
    except (ClientOSError, ServerDisconnectedError) as error:
        raise ClientConnectionError(*error.args) from error


_CONNECTION_FAILURES: tuple[tuple[type[ClientError], str, str], ...] = (  # the first match counts
    (ConnectionTimeoutError, "ConnectTimeout", "{host} did not accept a connection in time"),
    (ClientConnectorDNSError, "DnsError", "{host} could not be looked up: {reason}"),
    (ClientSSLError, "TlsError", "{host} offered no safe connection: {reason}"),
    (ClientConnectorError, "ConnectError", "{host} could not be connected to: {reason}"),
    (ClientConnectionError, "ConnectionLost", "{host} closed the connection before it had answered"),
    (ClientPayloadError, "ConnectionLost", "{host} broke off in the middle of its answer: {reason}"),
    (ClientError, "BadResponse", "{host} answered with broken HTTP: {reason}"),
)


def address_denied(host: str) -> Failure:
    """Without the address, which only the server's log has: users must not resolve names of a private network here."""
    message = (
        f"{host} is not on the public internet: "
        "HTTP jobs and channels may call it only if TICKWORK_HTTP_ALLOW names its network"
    )
    return Failure("AddressDenied", message, retry=False)


def _connection_failure(error: ClientError, host: str, hidden: Sequence[str]) -> Failure:
    kind, message = next(
        (kind, message) for fits, kind, message in _CONNECTION_FAILURES if isinstance(error, fits)
    )
    return Failure(kind, message.format(host=host, reason=_reason(error, hidden)))


def _reason(error: ClientError, hidden: Sequence[str]) -> str:
    """The cause, without the address that asyncio puts into its message for a failed connection."""
    cause = error.__cause__ or error
    if isinstance(error, ClientConnectorError) and not isinstance(
        error, ClientConnectorDNSError | ClientSSLError
    ):
        return strerror(cause.errno) if isinstance(cause, OSError) and cause.errno else "no address answered"
    message = str(getattr(cause, "strerror", None) or getattr(cause, "message", None) or cause)
    return mask_secrets(message, hidden)[:_LONGEST_REASON]
