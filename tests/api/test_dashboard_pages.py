"""The dashboard is served at all its paths and nowhere else, under a policy that lets nothing foreign in."""

import gzip
import re
from pathlib import Path

import httpx2
import pytest

from api.conftest import Connect
from tickwork.api import dashboard_pages
from tickwork.node import Node

INDEX = """<!doctype html><base href="/" /><meta property="csp-nonce" nonce="" />
<script type="module" src="./assets/index-1234.js"></script>"""
SCRIPT = b"export default 'tickwork';\n" * 100


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dashboard of one page and one script."""
    assets = tmp_path / "assets"
    assets.mkdir()
    (tmp_path / "index.html").write_text(INDEX)
    (assets / "index-1234.js").write_bytes(SCRIPT)
    (assets / "index-1234.js.gz").write_bytes(gzip.compress(SCRIPT))
    (tmp_path / "manifest.json").write_text("{}")
    monkeypatch.setattr(dashboard_pages, "BUILT_FILES", tmp_path)
    dashboard_pages._asset.cache_clear()
    return tmp_path


@pytest.fixture
async def browser(still_node: Node, connect: Connect) -> httpx2.AsyncClient:
    """Without a key, as a browser asks for pages."""
    return await connect(still_node, None)


@pytest.mark.parametrize(
    "path", ["/", "/jobs", "/jobs/j1?tab=history", "/executions/e1-2", "/sign-in", "/settings"]
)
async def test_every_path_of_the_dashboard_shows_it(
    path: str, browser: httpx2.AsyncClient, built: Path
) -> None:
    answer = await browser.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "assets/index-1234.js" in answer.text


@pytest.mark.parametrize(
    ("path", "status"),
    [("/v1/nothing", 401), ("/nothing", 401), ("/docs/nothing", 404), ("/livez", 200), ("/docs", 200)],
)
async def test_other_paths_are_not_taken(
    path: str, status: int, browser: httpx2.AsyncClient, built: Path
) -> None:
    answer = await browser.get(path)
    assert answer.status_code == status
    assert "assets/index-1234.js" not in answer.text


async def test_the_policy_allows_no_inline_script_and_no_other_host(
    browser: httpx2.AsyncClient, built: Path
) -> None:
    answer = await browser.get("/")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


async def test_styles_made_at_run_time_need_a_nonce_that_is_new_each_time(
    browser: httpx2.AsyncClient, built: Path
) -> None:
    nonces = set()
    for _ in range(2):
        answer = await browser.get("/jobs")
        (nonce,) = re.findall(r'nonce="([\w-]{20,})"', answer.text)
        assert f"style-src 'self' 'nonce-{nonce}'" in answer.headers["content-security-policy"]
        nonces.add(nonce)
    assert len(nonces) == 2


async def test_scripts_are_compressed_and_kept_for_good(browser: httpx2.AsyncClient, built: Path) -> None:
    answer = await browser.get("/assets/index-1234.js", headers={"accept-encoding": "br, gzip"})
    assert answer.content == SCRIPT
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["vary"] == "accept-encoding"
    assert int(answer.headers["content-length"]) < len(SCRIPT) / 4


async def test_scripts_come_plain_to_those_who_cannot_unpack(
    browser: httpx2.AsyncClient, built: Path
) -> None:
    answer = await browser.get("/assets/index-1234.js", headers={"accept-encoding": "identity"})
    assert answer.content == SCRIPT
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize(
    "name", ["..%2Findex.html", "..%2f..%2f..%2fauth.py", "none.js", "index-1234.js.gz", ".js"]
)
async def test_nothing_but_built_files_is_given(name: str, browser: httpx2.AsyncClient, built: Path) -> None:
    answer = await browser.get(f"/assets/{name}")
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("sent", "base"),
    [("/tools/tickwork/", "/tools/tickwork/"), ("", "/"), ('/"><script>', "/"), ("//evil.example", "/")],
)
async def test_behind_a_trusted_proxy_the_page_knows_its_path(
    sent: str, base: str, browser: httpx2.AsyncClient, built: Path
) -> None:
    answer = await browser.get("/jobs", headers={"x-forwarded-prefix": sent})
    assert f'<base href="{base}" />' in answer.text


async def test_without_a_built_dashboard_a_plain_page_says_how_to_build_it(
    browser: httpx2.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard_pages, "BUILT_FILES", tmp_path / "none")
    answer = await browser.get("/")
    assert answer.status_code == 404
    assert "<code>make dashboard</code>" in answer.text
    assert not dashboard_pages.is_built()
