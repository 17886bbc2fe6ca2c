"""Print a link that signs a browser in once."""

import click

from tickwork.cli.output import say
from tickwork.cli.settings_and_client import find_address, read_settings, server_option
from tickwork.client.sync_client import Client


def sign_in_url(server: str, token: str) -> str:
    """The token is behind the #, which browsers send to no server and proxies do not log."""
    return f"{server.rstrip('/')}/sign-in#{token}"


@click.command()
@click.option("--open", "opens", is_flag=True, help="Open the link in the browser.")
@server_option
def command(opens: bool, server: str | None) -> None:
    """Print a link that signs a browser in once.

    It works for 10 minutes, and the browser then has the rights of your API key.
    """
    address = find_address(read_settings(url=server)[0])
    with Client(*address) as client:
        url = sign_in_url(address.url, client.create_sign_in_link().token)
    click.echo(url)
    if opens:
        open_in_browser(url)


def open_in_browser(url: str) -> None:
    if click.launch(url):
        say("no browser could be opened; open the link yourself")
