"""List tenants, and delete one with everything that it has."""

import time

import click

from tickwork.cli.output import Columns, output_option, say, show_item
from tickwork.cli.print_or_watch_answer import prints_item, prints_page
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.field_types import Page
from tickwork.model.tenant import TenantContents, TenantPurgeView, TenantView

_PAUSE = 1.0  # seconds between two looks at a purge that goes on

_COLUMNS: Columns[TenantView] = {
    "name": lambda tenant: tenant.name,
    "created": lambda tenant: tenant.created_at,
    "valid keys": lambda tenant: tenant.keys,
    "is being deleted": lambda tenant: "yes" if tenant.is_being_purged else "",
}


def _has(contents: TenantContents) -> str:
    counts = [
        f"{'at least ' if what in contents.at_least else ''}{count:,} {what.replace('_', ' ')}"
        for what, count in contents.counts.items()
        if count
    ]
    return ", ".join(counts) or "nothing"


def _removed(purge: TenantPurgeView) -> str:
    counts = ", ".join(
        f"{count:,} {name.replace('_', ' ')}" for name, count in purge.removed.items() if count
    )
    return f"{counts} deleted" if counts else "nothing deleted yet"


_CONTENTS: Columns[TenantContents] = {
    "name": lambda contents: contents.name,
    "has": _has,
    "archive": lambda contents: "may have something of it" if contents.is_in_archive else "none",
}
_PURGE: Columns[TenantPurgeView] = {
    "tenant": lambda purge: purge.name,
    "status": lambda purge: purge.status,
    "requested": lambda purge: purge.requested_at,
    "by": lambda purge: purge.requested_by and f"{purge.requested_by.name} ({purge.requested_by.key})",
    "ended": lambda purge: purge.ended_at,
    "removed": _removed,
    "archive": lambda purge: "may still have something of it" if purge.is_in_archive else "has nothing of it",
}


@click.group()
def command() -> None:
    """List tenants, and delete one with everything that it has.

    Needs an admin key of the tenant default. A tenant is created with its first key: tickwork key create --tenant.
    """


@command.command("list")
@prints_page(_COLUMNS)
def list_(client: Client) -> Page[TenantView]:
    """List all tenants."""
    return client.list_tenants()


@command.command()
@click.argument("name")
@prints_item(_CONTENTS)
def get(client: Client, name: str) -> TenantContents:
    """Show what a tenant has, and would lose by a purge. Each is counted up to 100,000."""
    return client.get_tenant(name)


@command.command()
@click.argument("name")
@click.option("--confirm", metavar="NAME", help="The name of the tenant once more, instead of being asked.")
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.option("--wait/--no-wait", default=True, help="Wait until the database is rid of it.  [default: wait]")
@output_option
@with_client
def purge(client: Client, name: str, confirm: str | None, dry_run: bool, wait: bool, output: str) -> None:
    """Delete a tenant and everything that it has, for good.

    Its keys are revoked at once; what waits or runs is cancelled; jobs, history, statistics, channels, pings and
    workers are deleted, and so is what the archive has of it. After an interruption, run the command again: it shows
    how far the deletion has come.
    """
    if dry_run:
        show_item(client.get_tenant(name), _CONTENTS, output)
        return
    if confirm is None:
        say(f"tenant {name} has {_has(client.get_tenant(name))}")
        say("All of it will be deleted, in the archive, too. Nothing of it can be restored.")
        confirm = click.prompt("Type the name of the tenant to go on", err=True)
    state = client.purge_tenant(name, confirm=confirm)
    while wait and state.status == "running":
        say(_removed(state))
        time.sleep(_PAUSE)
        state = client.get_tenant_purge(name)
    show_item(state, _PURGE, output)


@command.command("purge-progress")
@click.argument("name")
@prints_item(_PURGE)
def purge_progress(client: Client, name: str) -> TenantPurgeView:
    """Show how far the deletion of a tenant has come."""
    return client.get_tenant_purge(name)
