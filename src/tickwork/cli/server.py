"""Run a server on your own PostgreSQL."""

import click

from tickwork.cli.connect import read_settings
from tickwork.cli.data import keep_key, make_folder
from tickwork.cli.database import require_database, wait_option
from tickwork.cli.loop import Stop, run_loop
from tickwork.cli.output import say
from tickwork.cli.serving import answering, listen, url_of, working
from tickwork.config import Settings
from tickwork.logs import configure_logs
from tickwork.model.errors import TickworkError


@click.command()
@click.option("--database-url", metavar="URL", help="postgresql://user:password@host/name")
@wait_option
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="[default: 8080]")
@click.option("--no-http", is_flag=True, help="Leave HTTP jobs to other servers.")
def command(no_http: bool, **flags: object) -> None:
    """Run a server on your own PostgreSQL.

    Start as many as you like on one database: every one does every duty.
    """
    settings, _ = read_settings(**flags, http=False if no_http else None)
    require_database(settings)
    configure_logs(settings.log_format, settings.log_level)
    run_loop(_serve(settings))


async def _serve(settings: Settings) -> None:
    stop = Stop()
    stop.listen()
    with listen(settings.host, settings.port) as listener:
        async with working(settings, stop) as node:
            if node.first_key and not settings.admin_key:
                _hand_over(node.first_key, settings)
            async with answering(node, listener, settings.max_connections):
                say(f"Tickwork answers on {url_of(listener)}")
                await stop.asked.wait()


def _hand_over(key: str, settings: Settings) -> None:
    try:
        make_folder(settings.data_dir)
        say(f"The admin key of this new database is in {keep_key(settings.data_dir, key)}")
    except TickworkError as error:
        say(f"{error}. The admin key of this new database, shown only now: {key}")
