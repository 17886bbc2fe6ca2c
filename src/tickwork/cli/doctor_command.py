"""Check the installation, and say how to fix it."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version

import click
import httpx2
import msgspec

from tickwork.cli.database_check import Finding, check_database
from tickwork.cli.exit_codes import FAILED
from tickwork.cli.find_server import find_address, read_settings
from tickwork.cli.output import Columns, output_option, show_page
from tickwork.client.server_address import KEY_FILE, Address
from tickwork.client.sync_client import Client
from tickwork.client.types import Problem
from tickwork.config import Settings, did_you_mean, unknown_variables, variable
from tickwork.log_setup import configure_logs
from tickwork.model.errors import NotAllowed, TickworkError
from tickwork.model.page import Page

_OTHERS = 0o077
_PATIENCE = 5.0  # seconds


_COLUMNS: Columns[Finding] = {
    "": lambda finding: finding.status,
    "what": lambda finding: finding.what,
    "found": lambda finding: finding.found,
    "fix": lambda finding: finding.fix,
}


@click.command()
@click.option("--database-url", metavar="URL", help="postgresql://user:password@host/name")
@output_option
def command(database_url: str | None, output: str) -> None:
    """Check the installation, and say how to fix it.

    Checks settings, time zones, data folder, database and server. Exits with 1 if something must be fixed.
    """
    settings, _ = read_settings(database_url=database_url)
    configure_logs(settings.log_format, settings.log_level)  # keep logs out of the output
    findings = [
        *_check_variables(),
        *_check_time_zones(),
        *_check_data_folder(settings),
        *check_database(settings),
        *_check_server(settings),
    ]
    show_page(Page(findings), _COLUMNS, output)
    if any(finding.status == "fail" for finding in findings):
        raise click.exceptions.Exit(FAILED)


def _check_variables() -> Iterator[Finding]:
    known = [variable(name) for name in Settings.__struct_fields__]
    unknown = unknown_variables(os.environ)
    for name in unknown:
        yield Finding(
            "warn", "settings", f"{name} is not a setting", did_you_mean(name, known) or "remove it"
        )
    if not unknown:
        yield Finding("ok", "settings", "all are known")


def _check_time_zones() -> Iterator[Finding]:
    release = version("tzdata")
    if int(release.split(".")[0]) < datetime.now(UTC).year:
        yield Finding("warn", "time zones", f"tzdata {release} is old", "upgrade the package tzdata")
    else:
        yield Finding("ok", "time zones", f"tzdata {release}")


def _check_data_folder(settings: Settings) -> Iterator[Finding]:
    key = settings.data_dir / KEY_FILE
    if not key.exists():
        yield Finding("ok", "data folder", f"no {key} here")
    elif os.name != "nt" and key.stat().st_mode & _OTHERS:
        yield Finding("fail", "data folder", f"{key} can be read by others", f"chmod 600 {key}")
    else:
        yield Finding("ok", "data folder", f"only you can read {key}")


def _check_server(settings: Settings) -> Iterator[Finding]:
    try:
        address = find_address(settings)
    except TickworkError as error:
        yield Finding("warn", "server", "not checked", str(error))
        return
    try:
        found = _key_of(address)
    except NotAllowed as error:
        yield Finding("fail", "server", f"{address.url}: {error}", "set TICKWORK_API_KEY to a valid key")
    except TickworkError as error:
        yield Finding("fail", "server", str(error), "start it with `tickwork up`, or correct TICKWORK_URL")
    else:
        yield Finding("ok", "server", f"{address.url}: {found}")
        yield _readiness(address)


def _readiness(address: Address) -> Finding:
    try:
        answer = httpx2.get(f"{address.url}/readyz", timeout=_PATIENCE)
    except httpx2.TransportError as error:
        return Finding("fail", "readiness", str(error) or type(error).__name__, "check the server's log")
    if answer.is_success:
        return Finding("ok", "readiness", "the server and its loops work")
    said = _detail(answer.content) or f"the server answers {answer.status_code}"
    return Finding("fail", "readiness", said, "the server's log has the whole error: look for `step failed`")


def _detail(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=Problem).detail
    except msgspec.MsgspecError:
        return ""


def _key_of(address: Address) -> str:
    with Client(*address, retries=0) as client:
        client.list_tasks()
        try:
            client.list_keys()
        except NotAllowed:
            return "the key can read, and is not an admin key"
        return "the key is an admin key"
