"""The dashboard: its page at / and at all its paths, and the built files that the page loads.

The page holds no secrets and needs no key; it asks the API for everything that it shows. Where the dashboard was not
built, a plain page says how to build it."""

import re
from functools import cache
from html import escape
from pathlib import Path
from secrets import token_urlsafe

from tickwork.api.docs_pages import HTML
from tickwork.api.problem import NOT_FOUND, Refusal
from tickwork.api.reply import Reply
from tickwork.api.route import Call, Route

BUILT_FILES = Path(__file__).parent / "static" / "dashboard"
HOW_TO_BUILD = "The dashboard is not built. Build it with `make dashboard` and load the page again."
SECTIONS = (  # the first part of every path that the dashboard shows, as in dashboard/src/routes.tsx
    "sign-in",
    "jobs",
    "executions",
    "calendar",
    "workflows",
    "dead-letters",
    "pings",
    "notifications",
    "notification-rules",
    "channels",
    "queues",
    "workers",
    "tasks",
    "breakers",
    "cluster",
    "events",
    "settings",
)
_BASE = '<base href="/" />'
_NONCE = '<meta property="csp-nonce" nonce="" />'
_ASSET = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.(?:js|css|svg|woff2)")
_MEDIA = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'nonce-{nonce}'; "
    "connect-src 'self'; img-src 'self' data:; font-src 'self'; manifest-src 'self'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
_PRIVACY = {"referrer-policy": "no-referrer", "cross-origin-opener-policy": "same-origin"}
_YEAR = 365 * 24 * 60 * 60


def is_built() -> bool:
    return (BUILT_FILES / "index.html").is_file()


async def dashboard_page(call: Call[None, None]) -> Reply:
    """Show the dashboard."""
    nonce = token_urlsafe(16)
    headers = {
        "content-type": HTML,
        "content-security-policy": _POLICY.format(nonce=nonce),
        "vary": "x-forwarded-prefix",
        **_PRIVACY,
    }
    try:
        page = (BUILT_FILES / "index.html").read_text()
    except FileNotFoundError:
        return Reply(404, _not_built_page(), headers)
    page = page.replace(_BASE, f'<base href="{escape(call.origin.prefix)}/" />', 1)
    page = page.replace(_NONCE, f'<meta property="csp-nonce" nonce="{nonce}" />', 1)
    return Reply(200, page.encode(), headers)


async def dashboard_asset(call: Call[None, None]) -> Reply:
    """Give a script, a style sheet or an image of the dashboard."""
    name = call.path["name"]
    if not _ASSET.fullmatch(name):
        raise Refusal(NOT_FOUND, "there is no such file")
    headers = {
        "content-type": _MEDIA[Path(name).suffix],
        "cache-control": f"public, max-age={_YEAR}, immutable",  # the name changes with the content
        "vary": "accept-encoding",
        **_PRIVACY,
    }
    if b"gzip" in call.headers.get(b"accept-encoding", b"") and (packed := _read(f"{name}.gz")):
        return Reply(200, packed, {**headers, "content-encoding": "gzip"})
    if (plain := _read(name)) is None:
        raise Refusal(NOT_FOUND, "there is no such file")
    return Reply(200, plain, headers)


def _read(name: str) -> bytes | None:
    try:
        return _asset(name)
    except FileNotFoundError:
        return None


@cache  # bounded by the files there are: what is missing raises, and is not kept
def _asset(name: str) -> bytes:
    return (BUILT_FILES / "assets" / name).read_bytes()


def _not_built_page() -> bytes:
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", HOW_TO_BUILD)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Tickwork</title>'
        f"<h1>Tickwork is running</h1><p>{text}</p>"
        "<p>The server, its API, the command line and the workers need no dashboard: "
        'see the <a href="docs">documentation of the API</a>.</p></html>\n'
    ).encode()


def _page(path: str) -> Route:
    return Route("GET", path, dashboard_page, None, None, query=None, media=HTML)


PAGES = (
    _page("/"),
    *(_page(f"/{section}") for section in SECTIONS),
    *(_page(f"/{section}/{{rest:path}}") for section in SECTIONS),
    Route("GET", "/assets/{name}", dashboard_asset, None, None, query=None, media="*/*"),
)
