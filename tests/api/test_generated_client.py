"""Clients that generators make of the OpenAPI document, against a real server."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path

import pytest

from tickwork.api.asgi_app import ROUTES
from tickwork.api.openapi import document
from tickwork.cli.server_command import listen, serving_http, url_of
from tickwork.node import Node

OPERATIONS = {route.handler.__name__ for route in ROUTES}

USE_OPENAPI_PYTHON_CLIENT = """
import sys
from generated import AuthenticatedClient
from generated.api.executions import list_job_executions
from generated.api.jobs import create_job, edit_job, get_job, run_job
from generated.models import HttpTarget, JobPatch, JobRequest, Problem

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
request = JobRequest(http=HttpTarget(url="http://127.0.0.1:9/"), schedule="0 9 * * MON", timeout="90s", tags=["a"])
job = create_job.sync(client=client, body=request)
edit_job.sync(job.id, client=client, body=JobPatch(name="renamed"))
execution = run_job.sync(job.id, client=client)
assert get_job.sync(job.id, client=client).name == "renamed"
assert [each.id for each in list_job_executions.sync(job.id, client=client).items] == [execution.id]
assert isinstance(get_job.sync("j9999", client=client), Problem)
print(job.timeout, job.schedule_words)
"""
USE_OPENAPI_GENERATOR = """
import sys
import generated as api

client = api.ApiClient(api.Configuration(host=sys.argv[1], access_token=sys.argv[2]))
jobs, executions = api.JobsApi(client), api.ExecutionsApi(client)
request = api.JobRequest(
    http=api.HttpTarget(url="http://127.0.0.1:9/"), tags=["a"],
    schedule=api.ScheduleRequest("0 9 * * MON"), timeout=api.Duration("90s"),
)
job = jobs.create_job(request)
jobs.edit_job(job.id, api.JobPatch(name="renamed"))
execution = jobs.run_job(job.id)
assert jobs.get_job(job.id).name == "renamed"
assert [each.id for each in executions.list_job_executions(job.id).items] == [execution.id]
try:
    jobs.get_job("j9999")
except api.exceptions.NotFoundException as error:
    assert error.data.title == "Not found"
print(job.timeout, job.schedule_words)
"""


@pytest.fixture
def document_file(tmp_path: Path) -> Path:
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document(ROUTES)))
    return file


@pytest.fixture
async def address(node: Node) -> AsyncIterator[tuple[str, str]]:
    with listen("127.0.0.1", 0) as listener:
        async with serving_http(node, listener):
            assert node.first_key
            yield url_of(listener), node.first_key


async def run(*words: str, folder: Path) -> str:
    """What the command says; it may be that of a child which takes its time."""
    done = await asyncio.to_thread(
        subprocess.run, words, cwd=folder, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


async def use(script: str, address: tuple[str, str], folder: Path) -> None:
    said = await run(sys.executable, "-c", script, *address, folder=folder)
    assert said.strip() == "90.0 every Monday at 09:00 (UTC)"


async def test_openapi_python_client(document_file: Path, address: tuple[str, str], tmp_path: Path) -> None:
    generate = ("-m", "openapi_python_client", "generate", "--path", str(document_file), "--meta", "none")
    said = await run(sys.executable, *generate, "--output-path", str(tmp_path / "generated"), folder=tmp_path)
    assert "Endpoint will not be generated" not in said
    assert "Unable to process schema" not in said
    assert {file.stem for file in (tmp_path / "generated/api").rglob("*.py")} >= OPERATIONS
    await use(USE_OPENAPI_PYTHON_CLIENT, address, tmp_path)


@pytest.mark.skipif(not shutil.which("java"), reason="openapi-generator needs Java")
async def test_openapi_generator(document_file: Path, address: tuple[str, str], tmp_path: Path) -> None:
    program = str(files("openapi_generator_cli") / "openapi-generator.jar")
    generate = (
        "generate",
        "-i",
        str(document_file),
        "-g",
        "python",
        "-o",
        ".",
        "--package-name",
        "generated",
    )
    await run("java", "-jar", program, *generate, folder=tmp_path)
    await use(USE_OPENAPI_GENERATOR, address, tmp_path)
