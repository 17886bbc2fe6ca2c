"""Inspect and reset the circuit breakers of HTTP destinations."""

import click

from tickwork.cli.output import Columns
from tickwork.cli.print_or_watch_answer import prints_item, prints_list
from tickwork.client.sync_client import Client
from tickwork.model.circuit_breaker import BreakerView
from tickwork.model.field_types import Page

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
@prints_list(_COLUMNS)
def list_(client: Client) -> Page[BreakerView]:
    """List destinations that failed recently, with the number of executions that wait for them."""
    return client.list_breakers()


@command.command()
@click.argument("destination")
@prints_item(_COLUMNS)
def reset(client: Client, destination: str) -> BreakerView:
    """Close the circuit breaker of a destination, such as https://api.example.com, at once."""
    return client.reset_breaker(destination)
