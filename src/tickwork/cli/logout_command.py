"""Sign out all browsers that signed in with your key."""

import click

from tickwork.cli.output import say
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client


@click.command()
@with_client
def command(client: Client) -> None:
    """Sign out all browsers that signed in with your key."""
    ended = client.end_sessions().ended
    say(f"{ended} signed out" if ended else "nobody was signed in")
