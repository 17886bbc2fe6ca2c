"""Check the installation, and say how to fix it."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from importlib.metadata import version

import click
import httpx2
import msgspec

from tickwork.cli.doctor_finding import Finding
from tickwork.cli.exit_codes import FAILED
from tickwork.cli.output import Columns, absolute, output_option, show_page
from tickwork.cli.production_checklist import check_archive, check_production
from tickwork.cli.settings_and_client import find_address, read_settings
from tickwork.cli.wait_for_database import readable_postgres_errors
from tickwork.client.argument_types import Problem
from tickwork.client.find_server import KEY_FILE, Address
from tickwork.client.sync_client import Client
from tickwork.config import Settings, did_you_mean, unknown_variables, variable
from tickwork.log_setup import configure_logs
from tickwork.model.cluster import NodeView
from tickwork.model.errors import NotAllowed, TickworkError, WrongSchema
from tickwork.model.field_types import Page
from tickwork.store.connect_to_any_host import SETTINGS, WORK
from tickwork.store.database_clock import DatabaseClock
from tickwork.store.migrate import status
from tickwork.store.pool import CONNECTIONS, Database

_OTHER_USERS = 0o077
_READINESS_TIMEOUT = 5.0  # seconds
_OLDEST_POSTGRES = 14
_LARGEST_OFFSET = 0.5  # seconds
# Settings that should be on, and the risk otherwise.
_SHOULD_BE_ON = {
    "fsync": "a power cut may destroy the database",
    "full_page_writes": "a power cut may destroy the database",
    "synchronous_commit": "a crash may lose the last commits",
    "autovacuum": "tables grow and slow down",
}
_FREE_CONNECTIONS = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    - count(*) FILTER (WHERE datid IS NOT NULL AND application_name <> 'tickwork') FROM pg_stat_activity
"""

_MAY_MAKE_PARTITIONS = """
SELECT current_user AS user,
    has_schema_privilege('tickwork', 'CREATE') AND bool_and(pg_has_role(relowner, 'USAGE')) AS may
FROM pg_class WHERE relnamespace = 'tickwork'::regnamespace AND relkind = 'p'
"""


_COLUMNS: Columns[Finding] = {
    "": lambda finding: finding.status,
    "what": lambda finding: finding.what,
    "found": lambda finding: finding.found,
    "fix": lambda finding: finding.fix,
}


@click.command()
@click.option("--database-url", metavar="URL", help="postgresql://user:password@host/name")
@click.option("--production", is_flag=True, help="Go through the checklist for production as well.")
@output_option
def command(database_url: str | None, production: bool, output: str) -> None:
    """Check the installation, and say how to fix it.

    Checks settings, time zones, data folder, database and server. Exits with 1 if something must be fixed. With
    --production also: nodes, workers, clocks, connections, partitions, disk, backups, metrics, keys, TLS, channels.
    """
    settings, _ = read_settings(database_url=database_url)
    configure_logs(settings.log_format, settings.log_level)  # keep logs out of the output
    findings = [
        *_check_variables(),
        *_check_time_zones(),
        *_check_data_folder(settings),
        *_check_database(settings, production=production),
        *_check_server(settings, production=production),
    ]
    show_page(Page(findings), _COLUMNS, output)
    if any(finding.status == "fail" for finding in findings):
        raise click.exceptions.Exit(FAILED)


def _check_variables() -> Iterator[Finding]:
    known = [variable(name) for name in Settings.__struct_fields__]
    unknown = unknown_variables(os.environ)
    for name in unknown:
        yield Finding(
            "warn", "settings", f"{name} is not a setting", did_you_mean(name, known) or "remove it"
        )
    if not unknown:
        yield Finding("ok", "settings", "all are known")


def _check_time_zones() -> Iterator[Finding]:
    release = version("tzdata")
    if int(release.split(".")[0]) < datetime.now(UTC).year:
        yield Finding("warn", "time zones", f"tzdata {release} is old", "upgrade the package tzdata")
    else:
        yield Finding("ok", "time zones", f"tzdata {release}")


def _check_data_folder(settings: Settings) -> Iterator[Finding]:
    key = settings.data_dir / KEY_FILE
    if not key.exists():
        yield Finding("ok", "data folder", f"no {key} here")
    elif os.name != "nt" and key.stat().st_mode & _OTHER_USERS:
        yield Finding("fail", "data folder", f"{key} can be read by others", f"chmod 600 {key}")
    else:
        yield Finding("ok", "data folder", f"only you can read {key}")


def _check_server(settings: Settings, *, production: bool) -> Iterator[Finding]:
    try:
        address = find_address(settings)
    except TickworkError as error:
        yield Finding("warn", "server", "not checked", str(error))
        return
    try:
        found = _scope_of_key(address)
    except NotAllowed as error:
        yield Finding("fail", "server", f"{address.url}: {error}", "set TICKWORK_API_KEY to a valid key")
    except TickworkError as error:
        yield Finding("fail", "server", str(error), "start it with `tickwork up`, or correct TICKWORK_URL")
    else:
        yield Finding("ok", "server", f"{address.url}: {found}")
        yield _readiness(address)
        yield from _nodes(address)
        if production:
            yield from check_production(settings, address)


def _readiness(address: Address) -> Finding:
    try:
        answer = httpx2.get(f"{address.url}/readyz", timeout=_READINESS_TIMEOUT)
    except httpx2.TransportError as error:
        return Finding("fail", "readiness", str(error) or type(error).__name__, "check the server's log")
    if answer.is_success:
        return Finding("ok", "readiness", "the server and its loops work")
    said = _problem_detail(answer.content) or f"the server answers {answer.status_code}"
    return Finding("fail", "readiness", said, "the server's log has the whole error: look for `step failed`")


def _nodes(address: Address) -> Iterator[Finding]:
    """Nothing, if the key may not see the nodes."""
    try:
        with Client(*address, retries=0) as client:
            nodes = client.get_cluster().nodes
    except NotAllowed:
        return
    except TickworkError as error:
        yield Finding("warn", "nodes", f"not checked: {error}", "check the server's log")
        return
    yield from map(_node, nodes)
    versions = sorted({node.version for node in nodes})
    if len(versions) > 1:
        fix = "normal during an upgrade; otherwise upgrade the older ones"
        yield Finding("warn", "nodes", f"run versions {', '.join(versions)}", fix)


def _node(node: NodeView) -> Finding:
    name = f"{node.host} (pid {node.pid}, {node.version})"
    if node.status == "silent":
        fix = "find out whether it runs; it is forgotten after an hour"
        return Finding("warn", "node", f"{name} was last seen {absolute(node.seen_at)}", fix)
    if node.status == "unwell":
        return Finding("fail", "node", f"{name}: {'; '.join(node.problems)}", "check the log of that server")
    return Finding("ok", "node", f"{name}, {node.database_latency * 1000:.0f} ms from the database")


def _problem_detail(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=Problem).detail
    except msgspec.MsgspecError:
        return ""


def _scope_of_key(address: Address) -> str:
    with Client(*address, retries=0) as client:
        client.list_tasks()
        try:
            client.list_keys()
        except NotAllowed:
            return "the key can read, and is not an admin key"
        return "the key is an admin key"


def _check_database(settings: Settings, *, production: bool) -> Iterator[Finding]:
    if settings.database_url is None:
        yield Finding("ok", "database", "none set: `tickwork up` runs its own")
        return
    try:
        with readable_postgres_errors():
            yield from asyncio.run(_database_findings(settings.database_url, production=production))
    except TickworkError as error:
        fix = "check --database-url, and that PostgreSQL runs there as a primary"
        yield Finding("fail", "database", str(error), fix)


async def _database_findings(url: str, *, production: bool) -> list[Finding]:
    database = Database(url, size=1)
    await database.open()
    try:
        findings = [finding async for finding in _check_connected(database, url)]
        return [*findings, await check_archive(database)] if production else findings
    finally:
        await database.close()


async def _check_connected(database: Database, url: str) -> AsyncIterator[Finding]:
    async with database.transaction() as connection:
        release = connection.get_server_version()
    found = f"PostgreSQL {release.major}"
    if release.major < _OLDEST_POSTGRES:
        yield Finding("fail", "database", found, f"upgrade it to {_OLDEST_POSTGRES} or newer")
        return
    yield Finding("ok", "database", found)
    for finding in (
        *await _server_settings(database),
        await _session_settings(database),
        await _connections(database),
    ):
        yield finding
    schema = await _schema(url)
    yield schema
    if schema.status != "fail":
        yield await _rights(database)
        clock = DatabaseClock(database)
        await clock.read()
        yield _clock(clock.micros() / 1e6 - time.time())


async def _server_settings(database: Database) -> list[Finding]:
    found = {name: await _setting(database, name) for name in _SHOULD_BE_ON}
    findings = [
        Finding("warn", "server settings", f"{name} is off: {_SHOULD_BE_ON[name]}", f"set {name} = on")
        for name, value in found.items()
        if value == "off"
    ]
    if await _setting(database, "transaction_read_only") == "on":
        fix = "find out why, and set default_transaction_read_only = off"
        findings.append(Finding("fail", "server settings", "nothing may be written", fix))
    return findings or [Finding("ok", "server settings", f"{', '.join(_SHOULD_BE_ON)} are on")]


async def _session_settings(database: Database) -> Finding:
    """Check that the session has the settings that Tickwork sets."""
    wanted = {**SETTINGS, **WORK.settings()}
    found = {name: await _setting(database, name) for name in wanted}
    wrong = [
        f"{name} = {found[name]}" for name, value in wanted.items() if found[name].lower() != value.lower()
    ]
    if wrong:
        fix = "let the pooler pass on settings from the start of a session or a transaction"
        return Finding("fail", "session settings", f"not as set: {', '.join(wrong)}", fix)
    return Finding("ok", "session settings", f"as set: jit = {found['jit']} and {len(wanted) - 1} others")


async def _connections(database: Database) -> Finding:
    (row,) = await database.fetch(_FREE_CONNECTIONS)
    servers = max(row[0], 0) // CONNECTIONS
    found = f"{row[0]} for Tickwork, {CONNECTIONS} for each server"
    if not servers:
        return Finding("warn", "connections", found, "raise max_connections, or put PgBouncer in between")
    return Finding("ok", "connections", f"{found}: enough for {servers}")


async def _setting(database: Database, name: str) -> str:
    (row,) = await database.fetch("SELECT current_setting($1)", name)
    return str(row[0])


async def _schema(url: str) -> Finding:
    try:
        schema = await status(url)
    except WrongSchema as error:
        return Finding("fail", "schema", error.found, error.fix)
    if schema.pending:
        return Finding("fail", "schema", f"lacks {', '.join(schema.pending)}", "tickwork db upgrade")
    if schema.current > schema.latest:
        found = f"at migration {schema.current}, made by a newer Tickwork; this one, of {schema.latest}, works with it"
        return Finding("ok", "schema", found, "upgrade this Tickwork, too, when you can")
    return Finding("ok", "schema", f"at migration {schema.current}")


async def _rights(database: Database) -> Finding:
    (row,) = await database.fetch(_MAY_MAKE_PARTITIONS)
    if row["may"]:
        return Finding("ok", "rights", f"{row['user']} may create partitions")
    fix = f"make {row['user']} the owner of the schema tickwork and of its tables"
    return Finding("fail", "rights", f"{row['user']} may not create partitions for the coming days", fix)


def _clock(offset: float) -> Finding:
    if abs(offset) > _LARGEST_OFFSET:
        found = f"this machine is {abs(offset):.1f} s {'behind' if offset > 0 else 'ahead of'} the database"
        return Finding("warn", "clock", found, "run a time service such as chrony on both")
    return Finding("ok", "clock", f"{abs(offset) * 1000:.0f} ms from the database")
