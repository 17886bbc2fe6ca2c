"""What `tickwork doctor --production` goes through beside the usual checks: whether a company can trust this with its
jobs. Asks the server with an admin key, and the database for its archive."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import asyncpg
import httpx2

from tickwork.cli.doctor_finding import Finding
from tickwork.client.find_server import Address, is_loopback
from tickwork.client.sync_client import Client
from tickwork.config import Settings
from tickwork.model.access import KeyView, Scope
from tickwork.model.archive import ArchiveView
from tickwork.model.channel import ChannelView
from tickwork.model.cluster import ClusterView
from tickwork.model.errors import NotAllowed, TickworkError
from tickwork.model.job import HTTP_TASK
from tickwork.model.ping import OutsidePingView
from tickwork.model.quantities import format_duration
from tickwork.model.worker import WorkerView
from tickwork.store.pool import CONNECTIONS, Database

_LARGEST_SKEW = 0.5  # seconds
_LEAST_PARTITIONS = timedelta(days=1)
_SCRAPED_WITHIN = timedelta(minutes=5)
_BACKED_UP_WITHIN = timedelta(hours=26)
_ARCHIVED_WITHIN = timedelta(minutes=15)
_LEAST_FREE_DISK = 0.2
_RESERVED = 3  # connections that PostgreSQL keeps for superusers
_LEAST = 2  # nodes and workers: one may be away
_MOST_ADMIN_KEYS = 3
_GIB = 1 << 30
_ARCHIVE = """
SELECT current_setting('archive_mode') AS mode, last_archived_time, last_failed_time,
    clock_timestamp() AS now FROM pg_stat_archiver
"""


def check_production(settings: Settings, address: Address) -> Iterator[Finding]:
    try:
        with Client(*address, retries=0) as client:
            yield from _checked_with(client, settings, address)
    except NotAllowed:
        fix = "set TICKWORK_API_KEY to an admin key of the tenant default"
        yield Finding("fail", "production", "not checked: the key may not see the cluster", fix)
    except TickworkError as error:
        yield Finding("fail", "production", f"not checked to the end: {error}", "check the server's log")


def _checked_with(client: Client, settings: Settings, address: Address) -> Iterator[Finding]:
    cluster = client.get_cluster()
    yield _pause(cluster)
    yield _nodes(cluster)
    yield _workers(client.list_workers(limit=500).items)
    yield _clocks(cluster)
    yield _connections(cluster)
    yield _partitions(cluster)
    yield _retention(settings, cluster)
    if cluster.archive:
        yield _history_archive(cluster.archive)
    if cluster.disk:
        yield _disk(cluster.disk.free_bytes, cluster.disk.size_bytes)
    yield _backup_of(cluster)
    yield _metrics(cluster)
    yield _keys(client.list_keys().items)
    yield from _transport(settings, address)
    yield _outside(client.get_outside_ping())
    yield from _channels(client.list_channels().items)
    yield _rules(len(client.list_notification_rules().items))
    yield _drain(settings, cluster)


def _pause(cluster: ClusterView) -> Finding:
    if cluster.paused:
        return Finding("fail", "pause", "the cluster is paused", "tickwork cluster report, then resume")
    return Finding("ok", "pause", "the cluster is not paused")


def _nodes(cluster: ClusterView) -> Finding:
    ready = sum(node.status == "ready" for node in cluster.nodes)
    if cluster.database.embedded:
        fix = "run `tickwork server` twice or more on a PostgreSQL of your own, if jobs must run while one is away"
        return Finding("warn", "nodes", "an embedded database serves one node only", fix)
    if ready < _LEAST:
        return Finding("fail", "nodes", f"{ready} ready", "run another server on the same database")
    hosts = {node.host for node in cluster.nodes}
    if len(hosts) < _LEAST:
        return Finding("warn", "nodes", f"{ready} ready, all on {hosts.pop()}", "run one on another machine")
    return Finding("ok", "nodes", f"{ready} ready on {len(hosts)} machines")


def _workers(workers: list[WorkerView]) -> Finding:
    online = [each for each in workers if each.status == "online" and each.tasks != [HTTP_TASK]]
    if len(online) < _LEAST:
        found = f"{len(online)} online in this tenant"
        return Finding("warn", "workers", found, "run two or more, unless all jobs are HTTP jobs")
    return Finding("ok", "workers", f"{len(online)} online on {len({each.host for each in online})} machines")


def _clocks(cluster: ClusterView) -> Finding:
    worst = max((abs(node.clock_skew) for node in cluster.nodes), default=0.0)
    if worst > _LARGEST_SKEW:
        return Finding("warn", "clocks", f"a node is {worst:.1f} s off", "run chrony on all machines")
    return Finding("ok", "clocks", f"nodes are within {worst * 1000:.0f} ms of the database")


def _connections(cluster: ClusterView) -> Finding:
    """With room for one more node: an upgrade may start the new one before the old one has left."""
    allowed = cluster.database.connections_allowed - _RESERVED
    needed = (len(cluster.nodes) + 1) * CONNECTIONS
    found = f"{needed} wanted by {len(cluster.nodes)} nodes and one more, {allowed} allowed"
    if needed > allowed:
        return Finding("fail", "max_connections", found, "raise max_connections, or put PgBouncer in between")
    return Finding("ok", "max_connections", found)


def _partitions(cluster: ClusterView) -> Finding:
    ahead = cluster.partitions_until - datetime.now(UTC)
    if ahead < _LEAST_PARTITIONS:
        fix = "look for `step failed (maintain partitions)` in the log of a server"
        return Finding("fail", "partitions", f"only until {cluster.partitions_until:%Y-%m-%d %H:%M} UTC", fix)
    return Finding("ok", "partitions", f"until {cluster.partitions_until:%Y-%m-%d}")


def _retention(settings: Settings, cluster: ClusterView) -> Finding:
    size = cluster.database.size_bytes / _GIB
    return Finding(
        "ok", "retention", f"{settings.history_days} days of history; the database has {size:.1f} GiB"
    )


def _history_archive(archive: ArchiveView) -> Finding:
    """Of history. That of the WAL is another one."""
    if archive.problem:
        fix = "correct archive_url or its store: days that are not archived are kept, and take space"
        return Finding("fail", "history archive", f"it cannot be written: {archive.problem}", fix)
    waiting = f"{archive.waiting_days} days wait for it" if archive.waiting_days else ""
    if archive.until is None:
        return Finding("ok", "history archive", waiting or "no day was old enough yet")
    found = f"has all before {archive.until:%Y-%m-%d}"
    return Finding("ok", "history archive", f"{found}; {waiting}" if waiting else found)


def _disk(free: int, size: int) -> Finding:
    found = f"{free / _GIB:.1f} of {size / _GIB:.1f} GiB are free"
    if free < size * _LEAST_FREE_DISK:
        return Finding("fail", "disk", found, "free some, or lower history_days")
    return Finding("ok", "disk", found)


def _backup_of(cluster: ClusterView) -> Finding:
    """Of an embedded database. That of a server is checked by its archive."""
    at = cluster.backed_up_at
    if not cluster.database.embedded:
        return Finding("ok", "backups", "of your own PostgreSQL: see the finding about its archive")
    fix = "run `tickwork db backup` every night from cron, to another disk"
    if at is None:
        return Finding("fail", "backups", "there was none yet", fix)
    if datetime.now(UTC) - at > _BACKED_UP_WITHIN:
        return Finding("fail", "backups", f"the last is of {at:%Y-%m-%d %H:%M} UTC", fix)
    return Finding("ok", "backups", f"the last is of {at:%Y-%m-%d %H:%M} UTC")


def _metrics(cluster: ClusterView) -> Finding:
    at = cluster.metrics_read_at
    if at is None or datetime.now(UTC) - at > _SCRAPED_WITHIN:
        fix = "let Prometheus read /metrics, with the alerts of deploy/prometheus/alerts.yml"
        return Finding("warn", "metrics", "nobody reads those of the node that answered", fix)
    return Finding("ok", "metrics", f"last read at {at:%H:%M:%S} UTC")


def _keys(keys: list[KeyView]) -> Finding:
    valid = [each for each in keys if each.revoked_at is None]
    admin = [each for each in valid if Scope.ADMIN in each.scopes]
    found = f"{len(valid)} valid keys, {len(admin)} of them admin keys"
    if len(valid) == 1:
        fix = "create keys with fewer scopes for workers, clients and Prometheus: tickwork key create"
        return Finding("warn", "keys", "everybody uses the same admin key", fix)
    if len(admin) > _MOST_ADMIN_KEYS:
        return Finding("warn", "keys", found, "revoke admin keys that nobody needs: tickwork key revoke")
    return Finding("ok", "keys", found)


def _transport(settings: Settings, address: Address) -> Iterator[Finding]:
    url = httpx2.URL(address.url)
    if url.scheme == "https":
        yield Finding("ok", "TLS", f"{address.url} is encrypted")
    elif is_loopback(url.host):
        fix = "run this with TICKWORK_URL set to the address that others use"
        yield Finding("warn", "TLS", f"not checked: {address.url} is this machine", fix)
    else:
        fix = "put a proxy with TLS in front of the servers: keys are sent in the clear"
        yield Finding("fail", "TLS", f"{address.url} is not encrypted", fix)
    if not (settings.public_url or "").startswith("https://"):
        fix = "set TICKWORK_PUBLIC_URL to the https address of the dashboard"
        yield Finding("warn", "public_url", f"it is {settings.public_url or 'not set'}", fix)
    if not is_loopback(settings.host) and settings.trusted_proxies == Settings().trusted_proxies:
        fix = "set TICKWORK_TRUSTED_PROXIES to the networks of your proxies, or listen on 127.0.0.1"
        yield Finding(
            "warn", "proxies", f"{settings.host} is open, and no proxy but this machine is trusted", fix
        )


def _outside(ping: OutsidePingView) -> Finding:
    if ping.url is None:
        fix = "tickwork ping outside URL, with the URL of a service that notices when calls stop"
        return Finding("warn", "outside ping", "nobody notices if all of this is down", fix)
    if ping.error:
        return Finding("warn", "outside ping", f"the last call failed: {ping.error}", "correct its URL")
    return Finding("ok", "outside ping", "somebody outside is called while the cluster fires")


def _channels(channels: list[ChannelView]) -> Iterator[Finding]:
    if not channels:
        yield Finding("warn", "channels", "nobody can be told of failures", "tickwork channel set")
    for channel in channels:
        if channel.deliveries.is_failing:
            yield Finding(
                "fail", "channels", f"{channel.name} fails: {channel.deliveries.error}", "correct it"
            )
        elif channel.deliveries.last_sent_at is None:
            fix = f"tickwork channel test {channel.name}"
            yield Finding("warn", "channels", f"{channel.name} was never tried", fix)
        else:
            yield Finding("ok", "channels", f"{channel.name} works")


def _rules(count: int) -> Finding:
    if not count:
        fix = "tickwork notification set-rule, unless every job says in `notify` who is told"
        return Finding("warn", "notification rules", "there is none", fix)
    return Finding("ok", "notification rules", f"{count}")


def _drain(settings: Settings, cluster: ClusterView) -> Finding:
    if cluster.database.embedded:
        return Finding("ok", "drain", "one node: nobody takes over while it restarts")
    if not settings.drain_delay:
        fix = "set TICKWORK_DRAIN_DELAY to somewhat more than your load balancer needs to notice, such as 5s"
        return Finding("warn", "drain", "a server that is stopped does not wait for the load balancer", fix)
    return Finding(
        "ok", "drain", f"servers wait {format_duration(settings.drain_delay)} for the load balancer"
    )


async def check_archive(database: Database) -> Finding:
    """Whether the WAL of a server is archived, so that a restore loses minutes and not a day."""
    try:
        (row,) = await database.fetch(_ARCHIVE)
    except asyncpg.PostgresError as error:
        return Finding("warn", "archive", f"not checked: {error}", "grant pg_read_all_stats to this user")
    fix = "archive the WAL, with pgBackRest or pg_receivewal: see docs/operate/backup.md"
    if row["mode"] == "off":
        found = "archive_mode is off: unless pg_receivewal runs, a restore loses all since the last backup"
        return Finding("warn", "archive", found, fix)
    last, failed = row["last_archived_time"], row["last_failed_time"]
    if last is None or (failed and failed > last):
        return Finding("fail", "archive", "the last segment of the WAL could not be archived", fix)
    if row["now"] - last > _ARCHIVED_WITHIN:
        found = f"the last segment was archived at {last:%Y-%m-%d %H:%M} UTC"
        return Finding("warn", "archive", found, "set archive_timeout to a minute or so")
    return Finding("ok", "archive", f"the last segment was archived at {last:%H:%M:%S} UTC")
