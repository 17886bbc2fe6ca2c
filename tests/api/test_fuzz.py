"""The whole API against its own document: every check of Schemathesis, all phases, the stateful one included."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tickwork.api.asgi_app import ROUTES
from tickwork.cli.server_command import listen, serving_http, url_of
from tickwork.node import Node

FOLDER = Path(__file__).parent / "fuzz"
EXAMPLES = os.environ.get("FUZZ_EXAMPLES", "2")  # of each operation; more by hand
SECONDS = os.environ.get("FUZZ_SECONDS", "60")


async def test_nothing_that_the_document_allows_or_forbids_breaks_the_server(
    node: Node, tmp_path: Path
) -> None:
    with listen("127.0.0.1", 0) as listener:
        async with serving_http(node, listener):
            done = await asyncio.to_thread(_fuzz, url_of(listener), node.first_key or "", tmp_path)
    assert done.returncode == 0, done.stdout[-8000:]
    assert f"Tested: {len(ROUTES) - 1}" in done.stdout  # all but the document itself


def _fuzz(url: str, key: str, folder: Path) -> subprocess.CompletedProcess[str]:
    options = (
        "--checks",
        "all",
        "--seed",
        "1",
        "--no-color",
        "--generation-database",
        "none",
        "--no-shrink",
        "--max-time",
        SECONDS,
    )
    return subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "--config-file", str(FOLDER / "schemathesis.toml"), "run",
         f"{url}/v1/openapi.json", "--header", f"Authorization: Bearer {key}", "--max-examples", EXAMPLES, *options],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(FOLDER)}, capture_output=True, text=True, check=False,
        timeout=280,
    )  # fmt: skip
