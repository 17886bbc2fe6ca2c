"""`tickwork job missed`: due times that a job missed and did not run later."""

import click

from tickwork.cli.output import Columns
from tickwork.cli.print_or_watch_answer import prints_page
from tickwork.client.sync_client import Client
from tickwork.model.execution import MissedView
from tickwork.model.field_types import Page

_COLUMNS: Columns[MissedView] = {
    "from": lambda missed: missed.begin,
    "to": lambda missed: missed.end,
    "count": lambda missed: missed.count,
    "reason": lambda missed: missed.reason,
}


@click.command()
@click.argument("job_id", metavar="JOB")
@prints_page(_COLUMNS)
def missed(client: Client, job_id: str) -> Page[MissedView]:
    """List due times that a job missed and did not run later."""
    return client.list_missed(job_id)
