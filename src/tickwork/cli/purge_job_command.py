"""`tickwork job purge`: deletes a job and everything about it."""

import time

import click

from tickwork.cli.output import Columns, output_option, say, show_item
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.purge_progress import PurgeView

_PAUSE = 1.0  # seconds between two looks at a purge that goes on


def _removed(purge: PurgeView) -> str:
    counts = ", ".join(
        f"{count:,} {name.replace('_', ' ')}" for name, count in purge.removed.items() if count
    )
    return f"{counts} deleted" if counts else "nothing deleted yet"


_FIELDS: Columns[PurgeView] = {
    "job": lambda purge: purge.job_id,
    "status": lambda purge: purge.status,
    "requested": lambda purge: purge.requested_at,
    "by": lambda purge: purge.requested_by and f"{purge.requested_by.name} ({purge.requested_by.key})",
    "ended": lambda purge: purge.ended_at,
    "removed": _removed,
}


@click.command()
@click.argument("job_id", metavar="JOB")
@click.option("--stop-running", is_flag=True, help="Stop what runs of it first; otherwise it must not run.")
@click.option("--wait/--no-wait", default=True, help="Wait until everything is gone.  [default: wait]")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@output_option
@with_client
def purge(client: Client, job_id: str, stop_running: bool, wait: bool, yes: bool, output: str) -> None:
    """Delete a job and everything about it, for good.

    Its executions, attempts, logs, dead letters, events and notifications are deleted with it, and its key is free at
    once. Statistics keep their counts. Needs a key with the scope admin. After an interruption, run the command again
    with the id of the job: it shows how far the deletion has come.
    """
    if not yes:
        warning = f"Delete job {job_id} with all executions, logs and events? Nothing of it can be restored."
        click.confirm(warning, abort=True, err=True)
    state = client.purge_job(job_id, running="cancel" if stop_running else "leave")
    while wait and state.status == "running":
        say(_removed(state))
        time.sleep(_PAUSE)
        state = client.get_purge(state.job_id)
    show_item(state, _FIELDS, output)
