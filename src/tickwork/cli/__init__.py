"""`tickwork`: one command group per file, each imported only when it is used."""

import os
from importlib import import_module
from typing import Any

import click

from tickwork.cli.exit_codes import explained

_COMMANDS = {  # cli/NAME_command.py holds it; its own --help begins with the same sentence
    "up": "Run everything here: PostgreSQL, a server and a worker.",
    "server": "Run a server on your own PostgreSQL.",
    "worker": "Run a worker; list the workers of a server.",
    "status": "See on one screen how things stand.",
    "top": "Watch what goes on, on the whole screen.",
    "job": "Create, look at and steer jobs.",
    "task": "See which tasks workers offer, and what each takes.",
    "execution": "Look at what ran, runs and waits.",
    "dead-letter": "Look at what failed for good; run it again or set it aside.",
    "queue": "See what waits in queues; limit, pause and resume them.",
    "breaker": "See which destinations of HTTP jobs fail, and call them again.",
    "preview": "Say what a schedule means and when it is due.",
    "outbox": "Effects and jobs of your own transactions: the outbox in your database.",
    "key": "Create, list and revoke API keys.",
    "db": "Upgrade the database, see where it stands, back it up and restore it.",
    "config": "See the settings and where each comes from.",
    "doctor": "Check that everything is in order.",
    "bench": "Measure Tickwork on this machine.",
}
_COMPLETION = 'Completion: eval "$(_TICKWORK_COMPLETE=bash_source tickwork)", or zsh_source, or fish_source.'


class LateGroup(click.Group):
    """Knows its commands by name and summary, and imports one only to run it: --help stays quick."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        if name not in _COMMANDS:
            raise click.NoSuchCommand(name, possibilities=_COMMANDS, ctx=ctx)
        command: click.Command = import_module(f"tickwork.cli.{name.replace('-', '_')}_command").command
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        with explained():
            return super().invoke(ctx)


@click.command(cls=LateGroup, epilog=_COMPLETION, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(message="tickwork %(version)s", package_name="tickwork")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Tickwork runs jobs on time, once per due time, and keeps the record."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False
