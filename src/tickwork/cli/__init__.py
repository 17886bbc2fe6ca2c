"""The `tickwork` command. Each subcommand is a file NAME_command.py, imported only when it is used."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from tickwork.cli.exit_codes import errors_as_exit_codes

_COMMANDS = {  # the help of cli/NAME_command.py begins with the same sentence
    "up": "Run PostgreSQL, a server and a worker, all in one.",
    "server": "Run a server on your own PostgreSQL.",
    "worker": "Run a worker; list and drain workers.",
    "status": "Show the state of the system on one screen.",
    "top": "Show the state of the system live, on the full screen.",
    "stats": "Show how many executions ran, failed and waited over time, as small charts.",
    "job": "Create, inspect and control jobs.",
    "workflow": "List workflows: jobs that depend on each other.",
    "task": "List, declare, disable, enable and retire tasks.",
    "execution": "Inspect, cancel and retry executions.",
    "upcoming": "Show what is due next, over all jobs.",
    "events": "Show what happened, or follow what happens.",
    "errors": "Inspect failures by cause; redrive or discard all of one cause.",
    "dead-letter": "Inspect, redrive and discard executions that failed for good.",
    "notification": "Inspect what channels are told, send it again, and set who is told of what.",
    "queue": "Inspect, limit, pause and resume queues.",
    "retention": "Show and set how much history the jobs of your tenant keep.",
    "breaker": "Inspect and reset the circuit breakers of HTTP destinations.",
    "channel": "Set, test and preview channels: where notifications go.",
    "ping": "Expect what runs elsewhere, and see whether it did.",
    "preview": "Show what a schedule means and when it is due.",
    "outbox": "Manage the outbox in your own database.",
    "key": "Create, list and revoke API keys.",
    "tenant": "List tenants, and delete one with everything that it has.",
    "login": "Print a link that signs a browser in once.",
    "logout": "Sign out all browsers that signed in with your key.",
    "cluster": "Pause and resume the whole cluster, and see what it would run.",
    "archive": "List, verify, query and restore archived days of history.",
    "db": "Upgrade, check, back up and restore the database.",
    "config": "Show the settings and their sources.",
    "doctor": "Check the installation, and say how to fix it.",
    "bench": "Measure Tickwork on this machine.",
}
_COMPLETION = 'Completion: eval "$(_TICKWORK_COMPLETE=bash_source tickwork)", or zsh_source, or fish_source.'


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A thousand modules are many objects and no garbage, and a search for some takes a sixth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class LazyGroup(click.Group):
    """Knows its commands by name and summary, and imports one only to run it, so that --help stays fast."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        if name not in _COMMANDS:
            raise click.NoSuchCommand(name, possibilities=_COMMANDS, ctx=ctx)
        with _no_garbage_collection():
            module = import_module(f"tickwork.cli.{name.replace('-', '_')}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        with errors_as_exit_codes():
            return super().invoke(ctx)


@click.command(cls=LazyGroup, epilog=_COMPLETION, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(message="tickwork %(version)s", package_name="tickwork")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Tickwork runs jobs on time, once per due time, and keeps their history."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False
