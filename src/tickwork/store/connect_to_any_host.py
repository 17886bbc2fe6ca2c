"""Opens a connection to the database. The URL may name several hosts.

Each host has its own time to answer, and the next one is asked soon after, so that a silent one does not use up the
time of the others.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import monotonic
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit
from weakref import WeakKeyDictionary

import asyncpg

from tickwork.model.errors import Invalid
from tickwork.store.database_errors import CANNOT_BE_REACHED, LOST, cause_of, reason_of

SETTINGS = {
    "application_name": "tickwork",
    # A node that freezes in a transaction must not keep its locks: the server ends the session.
    "idle_in_transaction_session_timeout": "10s",
    "idle_session_timeout": "0",  # the pool's connections may be idle for long
    "default_transaction_isolation": "read committed",
    "timezone": "UTC",
    # Every query here uses an index. A plan that was made while a day's partition was empty must do so, too: it is
    # kept while millions of rows arrive. For the same reason, batches are joined with executions by
    # `tenant_id = ANY(ARRAY[...])`: a plain equality allows a merge join, and without statistics the planner would
    # choose it and scan the whole index.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
    # Until PostgreSQL 17, what is off has a huge cost. A plan that needs it would be compiled for seconds, to read a
    # table of three rows.
    "jit": "off",
    # There is only one good plan, so it is made once: planning over all partitions takes longer than a look-up.
    "plan_cache_mode": "force_generic_plan",
}


class Limits(NamedTuple):
    """How long a statement may take, and how long of that it may wait for a lock, in seconds."""

    statement: int | None  # None: without a limit
    lock: int

    def settings(self) -> dict[str, str]:
        """The server waits longer than the client. If it gave up a COMMIT that waits for a synchronous standby, it
        would answer as if the standby had it."""
        statement = 0 if self.statement is None else self.statement + _SERVER_WAITS_LONGER
        return {
            "statement_timeout": f"{statement}s",
            "lock_timeout": f"{self.lock}s",
        }


WORK = Limits(statement=30, lock=10)
VITAL = Limits(statement=5, lock=3)  # a lease lasts 15 s: a renewal must be able to try again
MIGRATION = Limits(statement=None, lock=2)  # whoever waits for a lock holds up all who come after it


# Seconds, if the URL has no connect_timeout. A single host gets more time: there is no other one to try.
_ANSWER_WITHIN, _ANSWER_WITHIN_ALONE = 3.0, 5.0
_AT_ONCE = 4  # connections
_ASK_NEXT_AFTER = 0.5  # seconds of silence of one host
_SERVER_WAITS_LONGER = 2  # seconds
_DEFAULT_PORT = "5432"
_PRIMARY = "primary"
_OWN_OPTIONS: tuple[str, ...] = ("connect_timeout", "target_session_attrs")
# TCP keepalive: seconds of silence before the first probe, between probes, and how many may stay unanswered.
_KEEP_ALIVE = {"TCP_KEEPIDLE": 3, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 3}
_UNANSWERED_FOR = 6_000  # ms

RawConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Admit = Callable[[RawConnection], Awaitable[None]]
opened_at: WeakKeyDictionary[RawConnection, float] = WeakKeyDictionary()  # by the monotonic clock


class Host(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return self.host if self.host.startswith("/") else f"{self.host}:{self.port}"


class Connector:
    """Tries the hosts one after the other, starting with the one that answered last, and takes the first that will do.

    It opens one connection at a time until one has succeeded, then a few. Otherwise an overloaded server would get more
    and more requests for sessions, each abandoned before it is ready, and never recover. Callers that waited for an
    attempt that failed fail with it.
    """

    admit: Admit | None = (
        None  # looks at each new connection before anybody uses it; ConnectionError refuses it
    )

    def __init__(self, url: str) -> None:
        self._given = url
        self._url, given = _without_own_options(url)
        # A standby can only be read, so it does not count unless the URL says so.
        self._wanted = given.get("target_session_attrs") or os.environ.get("PGTARGETSESSIONATTRS") or _PRIMARY
        self._hosts: list[Host | None] = [*_hosts(url)] or [None]  # None: as the URL says
        usual = _ANSWER_WITHIN if len(self._hosts) > 1 else _ANSWER_WITHIN_ALONE
        self._answer_within = _seconds(given.get("connect_timeout"), usual)
        self._attempt = asyncio.Lock()
        self._beside = asyncio.Semaphore(_AT_ONCE)
        self._works = False  # the last attempt has succeeded
        self._failed_attempts = 0
        self._last_failure: ConnectionError | None = None

    def copy(self) -> "Connector":
        """Another one for the same hosts, which begins with the one that answered last."""
        other = Connector(self._given)
        other._hosts = [*self._hosts]
        other.admit = self.admit
        return other

    @property
    def patience(self) -> float:
        """The longest time that connecting can take, in seconds."""
        return self._answer_within + _ASK_NEXT_AFTER * (len(self._hosts) - 1)

    async def __call__(self, *_: object, **options: Any) -> RawConnection:
        """Called by asyncpg's pool, with its own URL and options. The URL is ignored."""
        failed_before = self._failed_attempts
        async with self._attempt:
            if self._failed_attempts > failed_before:
                raise ConnectionError(str(self._last_failure)) from self._last_failure
            if not self._works:
                return await self._try(options)
        async with self._beside:
            return await self._try(options)

    async def _try(self, options: dict[str, Any]) -> RawConnection:
        try:
            connection = await self._connect_to_any(options)
        except ConnectionError as error:
            self._works = False
            self._failed_attempts += 1
            self._last_failure = error
            raise
        self._works = True
        return connection

    async def _connect_to_any(self, options: dict[str, Any]) -> RawConnection:
        failures: dict[str, Exception] = {}
        waiting = list(self._hosts)
        asked: dict[asyncio.Task[RawConnection], Host | None] = {}
        try:
            while waiting or asked:
                if waiting:
                    host = waiting.pop(0)
                    asked[asyncio.create_task(self._connect(host, options))] = host
                done, _ = await asyncio.wait(
                    asked, timeout=_ASK_NEXT_AFTER if waiting else None, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    error = _failure(task)
                    if error is None:
                        self._prefer(asked.pop(task))
                        return task.result()
                    failures[str(asked.pop(task))] = error
        finally:
            await _abandon(asked)
        raise ConnectionError(self._describe(failures)) from _most_telling([*failures.values()])

    async def _connect(self, host: Host | None, options: dict[str, Any]) -> RawConnection:
        arguments: dict[str, Any] = {
            **options,
            **(host._asdict() if host else {}),
            "timeout": self._answer_within,
            "target_session_attrs": self._wanted,
        }
        connection: RawConnection = await asyncpg.connect(self._url, **arguments)
        _set_keepalive(connection)
        opened_at[connection] = monotonic()
        if self.admit:
            await self._ask_to_admit(connection, self.admit)
        return connection

    async def _ask_to_admit(self, connection: RawConnection, admit: Admit) -> None:
        try:
            async with asyncio.timeout(self._answer_within):
                await admit(connection)
        except BaseException:
            connection.terminate()
            raise

    def _prefer(self, host: Host | None) -> None:
        self._hosts.sort(key=lambda other: other != host)

    def _describe(self, failures: dict[str, Exception]) -> str:
        reasons = {host: self._reason(failures[host]) for host in map(str, self._hosts)}
        if len(self._hosts) == 1:
            return next(iter(reasons.values()))
        return "; ".join(f"{host}: {reason}" for host, reason in reasons.items())

    def _reason(self, error: Exception) -> str:
        if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
            return "it is a standby" if self._wanted == _PRIMARY else f"it is not {self._wanted}"
        if type(error) is TimeoutError:
            return f"no answer within {self._answer_within:g} s"
        return reason_of(error)


def _failure(task: "asyncio.Task[RawConnection]") -> Exception | None:
    """Why this host will not do, if so. Other errors are raised: another host would answer the same."""
    error = task.exception()
    if error is None:
        return None
    if isinstance(error, asyncpg.ClientConfigurationError):
        raise Invalid.field("database_url", str(error))
    if isinstance(error, LOST):
        return error
    raise error


def _most_telling(failures: Sequence[Exception]) -> Exception:
    return next((error for error in failures if cause_of(error) != CANNOT_BE_REACHED), failures[-1])


async def _abandon(asked: "Iterable[asyncio.Task[RawConnection]]") -> None:
    """Stop waiting for hosts that are not needed any more."""
    for task in asked:
        task.cancel()
    for late in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(late, asyncpg.Connection):
            late.terminate()


def _without_own_options(url: str) -> tuple[str, dict[str, str]]:
    """The URL without the options that this module handles, and these options."""
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
    """The hosts of a URL that lists several; empty for a single host, which asyncpg reads itself."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    in_netloc = parts.netloc.rpartition("@")[2]
    given = unquote(in_netloc) or query.get("host") or os.environ.get("PGHOST") or ""
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


def _set_keepalive(connection: RawConnection) -> None:
    """Detect a host that vanished: without this, it takes a quarter of an hour."""
    end = connection._transport.get_extra_info("socket")  # type: ignore[attr-defined]  # noqa: SLF001 (no other way)
    if end is None or end.family not in (socket.AF_INET, socket.AF_INET6):
        return
    end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in {**_KEEP_ALIVE, "TCP_USER_TIMEOUT": _UNANSWERED_FOR}.items():
        if hasattr(socket, name):  # not on every platform
            end.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
