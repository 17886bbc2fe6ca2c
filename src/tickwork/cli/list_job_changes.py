"""`tickwork job changes`: who changed a job, when and what."""

from collections.abc import Iterator

import click

from tickwork.cli.output import absolute, as_json, brief, output_option, page_options, print_json, say
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.errors import printable
from tickwork.model.job_change_record import FieldChange, JobChange


@click.command()
@click.argument("job_id", metavar="JOB")
@page_options
@output_option
@with_client
def changes(client: Client, job_id: str, limit: int | None, cursor: str | None, output: str) -> None:
    """List who changed a job, when and what, latest first."""
    page = client.list_job_changes(job_id, limit=limit, cursor=cursor)
    if output != "table":
        return print_json(page.items if output == "jsonl" else [page], output)
    for change in page.items:
        for line in _lines(change):
            click.echo(line)
    if page.next_cursor:
        say(f"more: --cursor {page.next_cursor}")
    return None


def _lines(change: JobChange) -> Iterator[str]:
    head = f"{absolute(change.at)} ({brief(change.at)})  {change.kind}"
    yield f"{click.style(head, bold=True)}{_author(change)}"
    for field in change.fields:
        yield f"  {printable(field.field)}: {_values(field)}"
    if change.more_fields:
        yield f"  and {change.more_fields} more fields"


def _author(change: JobChange) -> str:
    if change.by is None:
        return ""
    signed_in = ", signed in" if change.by.session else ""
    return f" by {printable(change.by.name)} ({change.by.key}{signed_in})"


def _values(field: FieldChange) -> str:
    old, new = (printable(as_json(value) or "nothing") for value in (field.old, field.new))
    return f"{old} → {new}"
