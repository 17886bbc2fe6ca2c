"""The parts of docs/reference that follow from the code: `python tests/support/generate_reference.py` writes them."""

import re
from collections.abc import Iterable, Iterator
from inspect import getdoc
from pathlib import Path

import click

from tickwork.api.asgi_app import ROUTES
from tickwork.api.docs_pages import PAGES
from tickwork.api.problem import PROBLEM_TYPES
from tickwork.api.route import Route
from tickwork.cli import main

_REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
CLI = _REFERENCE / "cli.md"
REST = _REFERENCE / "rest.md"
_WIDTH = 100


def current_cli() -> str:
    """The page with every command's help as it is now."""
    helps = "\n".join(f"## {name}\n\n```text\n{text}\n```\n" for name, text in _helps(main, "tickwork"))
    return _between("commands", helps, CLI.read_text())


def current_rest() -> str:
    """The page with every route and every type of problem as they are now."""
    routes = _table(("request", "scope", "what it does"), map(_route, (*ROUTES, *PAGES)))
    kinds = ((str(kind.status), f"`{kind.slug}`", kind.title) for kind in PROBLEM_TYPES)
    problems = _table(("status", "type", "meaning"), kinds)
    return _between("problems", problems, _between("routes", routes, REST.read_text()))


def _helps(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    context = command.make_context(name, [], parent, resilient_parsing=True, terminal_width=_WIDTH)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            if found := command.get_command(context, inner):
                yield from _helps(found, inner, context)


def _route(route: Route) -> tuple[str, str, str]:
    summary = (getdoc(route.handler) or "").partition("\n")[0]
    return f"`{route.method} {route.path}`", f"`{route.scope}`" if route.scope else "none", summary


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _between(name: str, text: str, page: str) -> str:
    """The page with the text between its two marks of that name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    replaced, count = re.subn(f"(?s)(?<={begin}).*?(?={end})", lambda _: f"\n{text}\n", page)
    if count != 1:
        raise ValueError(f"the page has no {begin.strip()}")
    return replaced


if __name__ == "__main__":
    CLI.write_text(current_cli())
    REST.write_text(current_rest())
