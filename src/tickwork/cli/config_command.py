"""Show the settings and their sources."""

import click
import msgspec

from tickwork.cli.output import Columns, output_option, show_page
from tickwork.cli.settings_and_client import read_settings
from tickwork.config import shown
from tickwork.model.field_types import Page


class Setting(msgspec.Struct, frozen=True):
    name: str
    value: str
    source: str


_COLUMNS: Columns[Setting] = {
    "setting": lambda setting: setting.name,
    "value": lambda setting: setting.value,
    "from": lambda setting: setting.source,
}


@click.group()
def command() -> None:
    """Show the settings and their sources."""


@command.command()
@output_option
def show(output: str) -> None:
    """Show every setting with its value and source; secrets are masked."""
    settings, sources = read_settings()
    items = [Setting(name, shown(name, getattr(settings, name)), source) for name, source in sources.items()]
    show_page(Page(items), _COLUMNS, output)
