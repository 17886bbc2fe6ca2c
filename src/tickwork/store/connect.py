"""One connection to the database, of which the URL may name several hosts.

Each host has a time of its own to answer, so that a silent one does not use up that of the others.
"""

import asyncio
import os
import socket
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import asyncpg

from tickwork.model.errors import Invalid
from tickwork.store.database_errors import LOST, reason_of

SETTINGS = {
    "application_name": "tickwork",
    # A node that stops in the middle of a transaction must not hold its locks: the server ends it.
    "idle_in_transaction_session_timeout": "10s",
    "idle_session_timeout": "0",  # a pool's connections are idle for as long as there is nothing to do
    "default_transaction_isolation": "read committed",
    "timezone": "UTC",
    # Every query here goes by an index. A plan made while a day's partition was still empty must not be another
    # one: it would be kept while millions of rows arrive. For the same reason, batches are joined with executions by
    # `tenant_id = ANY(ARRAY[...])`: a plain equality could be merged, so the planner would see a use in walking the
    # whole index, and on a day of which it knows nothing it would.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
    # What is off counts as immensely dear until PostgreSQL 17, so that a plan which cannot do without it would be
    # compiled, for seconds, to read a table of three rows.
    "jit": "off",
    # And as there is one plan only, it is made once: planning over the days' partitions takes longer than a look-up.
    "plan_cache_mode": "force_generic_plan",
}


class Limits(NamedTuple):
    """How long a statement may take, and how much of that it may wait for a lock, in seconds."""

    statement: int
    lock: int

    def settings(self) -> dict[str, str]:
        return {"statement_timeout": f"{self.statement}s", "lock_timeout": f"{self.lock}s"}


WORK = Limits(statement=30, lock=10)
VITAL = Limits(statement=5, lock=3)  # a lease lasts for 15 s: whatever renews it must be able to try again
MIGRATION = Limits(statement=3600, lock=10)


# Seconds, where the URL has no connect_timeout. A single host that is slow is better than none.
_ANSWER_WITHIN, _ANSWER_WITHIN_ALONE = 3.0, 5.0
_DEFAULT_PORT = "5432"
_PRIMARY = "primary"
_OWN_OPTIONS: tuple[str, ...] = ("connect_timeout", "target_session_attrs")
# Seconds after which a silent host is asked for a sign of life, how often, and how many may stay unanswered.
_KEEP_ALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}
_UNANSWERED_FOR = 10_000  # ms


class Host(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return self.host if self.host.startswith("/") else f"{self.host}:{self.port}"


class Connector:
    """Tries the hosts one by one, first the one that answered last.

    Opens one connection at a time. A server that is short of processor time would otherwise be asked for more and more
    sessions, each given up before it is ready, and never let anybody in again. Callers that waited behind an attempt
    that failed fail with it.
    """

    def __init__(self, url: str) -> None:
        self._url, given = _without_own_options(url)
        # Reading is not enough: a standby is no answer, unless the URL says so.
        self._wanted = given.get("target_session_attrs") or os.environ.get("PGTARGETSESSIONATTRS") or _PRIMARY
        self._hosts: list[Host | None] = [*_hosts(url)] or [None]  # None: as the URL says
        usual = _ANSWER_WITHIN if len(self._hosts) > 1 else _ANSWER_WITHIN_ALONE
        self._answer_within = _seconds(given.get("connect_timeout"), usual)
        self._attempt = asyncio.Lock()
        self._failed_attempts = 0
        self._last_failure: ConnectionError | None = None

    @property
    def patience(self) -> float:
        """How long it takes at most."""
        return self._answer_within * len(self._hosts)

    async def __call__(self, *_: object, **options: Any) -> "asyncpg.Connection[asyncpg.Record]":
        """As asyncpg's pool calls it, with all but the URL."""
        failed_before = self._failed_attempts
        async with self._attempt:
            if self._failed_attempts > failed_before:
                raise ConnectionError(str(self._last_failure)) from self._last_failure
            try:
                return await self._connect_to_any(options)
            except ConnectionError as error:
                self._failed_attempts += 1
                self._last_failure = error
                raise

    async def _connect_to_any(self, options: dict[str, Any]) -> "asyncpg.Connection[asyncpg.Record]":
        failures: dict[str, Exception] = {}
        for host in list(self._hosts):
            try:
                connection = await self._connect(host, options)
            except LOST as error:
                if isinstance(error, asyncpg.ClientConfigurationError):
                    raise Invalid.field("database_url", str(error)) from None
                failures[str(host)] = error
            else:
                self._prefer(host)
                return connection
        raise ConnectionError(self._told(failures)) from [*failures.values()][-1]

    async def _connect(
        self, host: Host | None, options: dict[str, Any]
    ) -> "asyncpg.Connection[asyncpg.Record]":
        arguments: dict[str, Any] = {
            **options,
            **(host._asdict() if host else {}),
            "timeout": self._answer_within,
            "target_session_attrs": self._wanted,
        }
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(self._url, **arguments)
        _notice_silence(connection)
        return connection

    def _prefer(self, host: Host | None) -> None:
        self._hosts.sort(key=lambda other: other != host)

    def _told(self, failures: dict[str, Exception]) -> str:
        reasons = {host: self._reason(error) for host, error in failures.items()}
        if len(self._hosts) == 1:
            return next(iter(reasons.values()))
        return "; ".join(f"{host}: {reason}" for host, reason in reasons.items())

    def _reason(self, error: Exception) -> str:
        if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
            return "it is a standby" if self._wanted == _PRIMARY else f"it is not {self._wanted}"
        if type(error) is TimeoutError:
            return f"no answer within {self._answer_within:g} s"
        return reason_of(error)


def _without_own_options(url: str) -> tuple[str, dict[str, str]]:
    """What asyncpg would take for a setting of the server, or decides here."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    own = {name: query.pop(name) for name in _OWN_OPTIONS if name in query}
    return (urlunsplit(parts._replace(query=urlencode(query))) if own else url), own


def _seconds(given: str | None, usual: float) -> float:
    if given is None:
        return usual
    if not given.isdigit():
        raise Invalid.field(
            "database_url", f"connect_timeout={given} is no number of seconds", "write connect_timeout=3"
        )
    return float(given) or usual


def _hosts(url: str) -> list[Host]:
    """Those of a list; of a single one the URL says enough."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    in_front = parts.netloc.rpartition("@")[2]
    given = unquote(in_front) or query.get("host") or os.environ.get("PGHOST") or ""
    ports = (query.get("port") or os.environ.get("PGPORT") or _DEFAULT_PORT).split(",")
    names = given.split(",")
    if len(names) == 1:
        return []
    if len(ports) not in (1, len(names)):
        raise Invalid.field(
            "database_url", f"{len(ports)} ports for {len(names)} hosts", "give one for each, or one"
        )
    return [_host(name, ports[place % len(ports)]) for place, name in enumerate(names)]


def _host(text: str, port: str) -> Host:
    name, colon, own_port = text.rpartition(":")
    if not colon or text.startswith("/") or text.endswith("]"):
        name, own_port = text, port
    try:
        return Host(name.strip("[]"), int(own_port))
    except ValueError:
        raise Invalid.field("database_url", f"{own_port!r} is no port", "write HOST:PORT,HOST:PORT") from None


def _notice_silence(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """A host that vanished sends nothing any more: without this, that is seen after a quarter of an hour."""
    end = connection._transport.get_extra_info("socket")  # type: ignore[attr-defined]  # noqa: SLF001 (no other way)
    if end is None or end.family not in (socket.AF_INET, socket.AF_INET6):
        return
    end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in {**_KEEP_ALIVE, "TCP_USER_TIMEOUT": _UNANSWERED_FOR}.items():
        if hasattr(socket, name):  # not everywhere
            end.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
