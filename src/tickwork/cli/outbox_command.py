"""Manage the outbox in your own database."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import asyncpg
import click

from tickwork.cli.option_types import duration
from tickwork.cli.output import Columns, output_option, say, show_page
from tickwork.cli.run_until_stopped import StopRequest, run_loop
from tickwork.cli.settings_and_client import find_address, read_settings, server_option
from tickwork.cli.wait_for_database import readable_postgres_errors
from tickwork.client.async_client import AsyncClient
from tickwork.client.find_server import Address
from tickwork.log_setup import configure_logs
from tickwork.model.errors import Invalid
from tickwork.model.field_types import Page
from tickwork.outbox import outbox_tables as statement
from tickwork.outbox.create_jobs_from_outbox import Relay, connected
from tickwork.outbox.outbox_tables import Connection, check, install, schema_sql
from tickwork.store.database_errors import unavailable

Result = TypeVar("Result")

_COLUMNS: Columns[dict[str, Any]] = {
    "id": lambda job: job["id"],
    "status": lambda job: job["status"],
    "task": lambda job: job["task"] or job["url"],
    "key": lambda job: job["key"],
    "written": lambda job: job["written_at"],
    "error": lambda job: job["error"],
}
_DATABASE_URL = click.option(
    "--database-url",
    "url",
    metavar="URL",
    help="The database of your application.  [default: TICKWORK_OUTBOX_URL]",
)


@click.group()
def command() -> None:
    """Manage the outbox in your own database."""


@command.command("install")
@_DATABASE_URL
@click.option("--sql", is_flag=True, help="Print the SQL instead, for your own migrations.")
def install_(url: str | None, sql: bool) -> None:
    """Create the tables of the outbox in their own schema. Safe to repeat."""
    if sql:
        return click.echo(schema_sql(), nl=False)
    _in_outbox(url, install, checked=False)
    return say("the outbox is ready")


@command.command()
@_DATABASE_URL
@server_option
def relay(url: str | None, server: str | None) -> None:
    """Create the jobs that your committed transactions have submitted, until stopped.

    You can run several relays; they share the work.
    """
    settings, _ = read_settings(url=server, outbox_url=url)
    configure_logs(settings.log_format, settings.log_level)
    address = find_address(settings)
    with readable_postgres_errors():
        run_loop(_relay(_required_url(settings.outbox_url), address))


@command.command("list")
@_DATABASE_URL
@click.option(
    "--limit", type=click.IntRange(1, 500), default=100, show_default=True, help="How many at most."
)
@output_option
def list_(url: str | None, limit: int, output: str) -> None:
    """List jobs that are not created yet: rejected ones first, then the oldest."""
    rows = _in_outbox(url, lambda connection: connection.fetch(statement.LIST, limit))
    show_page(Page([dict(row) for row in rows], None), _COLUMNS, output)


@command.command()
@click.argument("ids", metavar="[ID]...", type=click.UUID, nargs=-1)
@_DATABASE_URL
def retry(ids: tuple[Any, ...], url: str | None) -> None:
    """Send rejected jobs again: those with the given ids, or all."""
    count = _in_outbox(url, lambda connection: connection.fetchval(statement.RETRY, ids))
    say(f"{count} will be sent again")


@command.command()
@click.argument("ids", metavar="ID...", type=click.UUID, nargs=-1, required=True)
@_DATABASE_URL
def discard(ids: tuple[Any, ...], url: str | None) -> None:
    """Delete rejected jobs."""
    count = _in_outbox(url, lambda connection: connection.fetchval(statement.DISCARD, ids))
    say(f"{count} discarded")


@command.command()
@_DATABASE_URL
@click.option(
    "--older-than",
    type=duration,
    default="30d",
    show_default=True,
    help="Keep records at least as long as executions are kept.",
)
def prune(url: str | None, older_than: Any) -> None:
    """Delete old completion records."""
    count = _in_outbox(url, lambda connection: connection.fetchval(statement.PRUNE, older_than))
    say(f"{count} deleted")


async def _relay(url: str, address: Address) -> None:
    stop = StopRequest()
    stop.listen()
    async with AsyncClient(*address, retries=0) as client:
        relaying = asyncio.create_task(Relay(url, client).run())
        stopping = asyncio.create_task(stop.received.wait())
        say(f"relaying to {address.url}")
        await asyncio.wait({relaying, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if relaying.done():
            relaying.result()
        relaying.cancel()


def _in_outbox(
    url: str | None, action: Callable[[Connection], Awaitable[Result]], *, checked: bool = True
) -> Result:
    """Run the action on a connection to the user's database. `checked`: the outbox must be installed."""
    database = _required_url(read_settings(outbox_url=url)[0].outbox_url)

    async def main() -> Result:
        async with connected(database) as connection:
            if checked:
                await check(connection)
            return await action(connection)

    try:
        with readable_postgres_errors():
            return asyncio.run(main())
    except (OSError, asyncpg.InterfaceError) as error:
        raise unavailable(error) from error


def _required_url(url: str | None) -> str:
    if url is None:
        raise Invalid.field(
            "outbox_url",
            "is not set",
            "give the database of your application as --database-url, or set TICKWORK_OUTBOX_URL",
        )
    return url
