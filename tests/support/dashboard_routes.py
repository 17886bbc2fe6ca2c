"""The pages that dashboard/src/routes.tsx names, and which of them a list of addresses leaves out."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from support.docs_page import ROOT

_ROUTE = re.compile(
    r"const (?P<name>\w+) = createRoute\(\{\n"
    r"  getParentRoute: \(\) => (?P<parent>\w+),\n"
    r'  (?:path: "(?P<path>.*?)"|id: ".*?"),\n'
    r"(?P<rest>.*?)\n\}\);",
    re.DOTALL,
)


def dashboard_routes() -> list[str]:
    """The path of every route that shows a page: `/jobs/$id`."""
    source = (ROOT / "dashboard/src/routes.tsx").read_text()
    whole = {"root": ""}
    pages = []
    for route in _ROUTE.finditer(source):
        path = whole[route["name"]] = whole[route["parent"]] + (route["path"] or "").rstrip("/")
        if route["path"] and "component:" in route["rest"]:
            pages.append(path or "/")
    return pages


def routes_without(addresses: Iterable[str]) -> list[str]:
    """Those that none of the addresses leads to. A word that a route has itself is no value of another: `/jobs/new`."""
    routes = dashboard_routes()
    paths = {urlsplit(address).path for address in addresses}
    values = paths - set(routes)
    return [
        route for route in routes if route not in paths and not any(_leads_to(route, each) for each in values)
    ]


def _leads_to(route: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\\\$\w+", "[^/]+", re.escape(route)), path) is not None
