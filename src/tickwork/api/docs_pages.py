"""/docs: pages that show the OpenAPI document and explain the problem types, without resources from other hosts.

The pages hold no secrets and need no key; trying an operation does."""

import re
from functools import cache
from html import escape
from importlib.resources import files

from tickwork.api.problem import NOT_FOUND, PROBLEM_TYPES, TYPES_PATH, ProblemType, Refusal
from tickwork.api.reply import Reply
from tickwork.api.route import Call, Route

HTML = "text/html; charset=utf-8"
_SCRIPT = "text/javascript; charset=utf-8"
_ASSETS = {"docs.css": "text/css; charset=utf-8", "docs.js": _SCRIPT, "try.js": _SCRIPT}
_CODE = re.compile(r"`([^`]+)`")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


async def docs_page(_call: Call[None, None]) -> Reply:
    """Show the OpenAPI document."""
    return _page(HTML, _static("docs.html"))


async def docs_asset(call: Call[None, None]) -> Reply:
    """Give a script or the style sheet of the pages."""
    name = call.path["name"]
    if name not in _ASSETS:
        raise Refusal(NOT_FOUND, "there is no such page")
    return _page(_ASSETS[name], _static(name))


async def problem_page(call: Call[None, None]) -> Reply:
    """Explain one type of problem, or all of them."""
    slug = call.path.get("slug")
    kinds = [kind for kind in PROBLEM_TYPES if slug in (None, kind.slug)]
    if not kinds:
        raise Refusal(NOT_FOUND, "there is no such type of problem")
    sections = "".join(map(_section, kinds))
    return _page(HTML, _static("problems.html").replace(b"<!-- sections -->", sections.encode()))


def _section(kind: ProblemType) -> str:
    text = _CODE.sub(r"<code>\1</code>", escape(kind.explanation))
    return (
        f'<article id="{kind.slug}"><h2><span class="status">{kind.status}</span> {escape(kind.title)}</h2>'
        f"<p>{text}</p><p><code>{kind.uri}</code></p></article>"
    )


def _page(media: str, body: bytes) -> Reply:
    return Reply(200, body, {"content-type": media, **_HEADERS})


@cache
def _static(name: str) -> bytes:
    return (files("tickwork.api") / "static" / name).read_bytes()


PAGES = (
    Route("GET", "/docs", docs_page, None, None, query=None, media=HTML),
    Route("GET", TYPES_PATH, problem_page, None, None, query=None, media=HTML),
    Route("GET", f"{TYPES_PATH}/{{slug}}", problem_page, None, None, query=None, media=HTML),
    Route("GET", "/docs/{name}", docs_asset, None, None, query=None, media=HTML),
)
