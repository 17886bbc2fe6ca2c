"""Inspect and reset the circuit breakers of HTTP destinations."""

import click

from tickwork.cli.find_server import with_client
from tickwork.cli.output import Columns, output_option, show_item
from tickwork.cli.refreshing_list import show_list, watch_option
from tickwork.client.sync_client import Client
from tickwork.model.circuit_breaker import BreakerView

_COLUMNS: Columns[BreakerView] = {
    "destination": lambda breaker: breaker.destination,
    "state": lambda breaker: breaker.state,
    "since": lambda breaker: breaker.since,
    "in a row": lambda breaker: breaker.failures_in_a_row,
    "within a minute": lambda breaker: f"{breaker.failures} of {breaker.calls}",
    "waiting": lambda breaker: breaker.waiting,
    "next try": lambda breaker: breaker.next_probe_at,
    "last error": lambda breaker: breaker.last_error,
}


@click.group()
def command() -> None:
    """Inspect and reset the circuit breakers of HTTP destinations."""


@command.command("list")
@watch_option
@output_option
@with_client
def list_(client: Client, output: str, watch: float | None) -> None:
    """List destinations that failed recently, with the number of executions that wait for them."""
    show_list(client.list_breakers, _COLUMNS, output, watch)


@command.command()
@click.argument("destination")
@output_option
@with_client
def reset(client: Client, destination: str, output: str) -> None:
    """Close the circuit breaker of a destination, such as https://api.example.com, at once."""
    show_item(client.reset_breaker(destination), _COLUMNS, output)
