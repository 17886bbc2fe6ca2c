"""A workflow from Python through a real server and a real worker, with a failure on the way."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tickwork.client.sync_client import Client

TASKS = """
from pathlib import Path
from tickwork import App, Context, NoRetry

app = App()

@app.task(name="extract")
def extract(day: str) -> dict[str, int]:
    return {"rows": len(day)}

@app.task(name="clean")
async def clean(*, ctx: Context) -> int:
    return ctx.result_of("extract")["rows"] - 1

@app.task(name="enrich", process=True)
def enrich(*, ctx: Context) -> int:
    if Path("broken").exists():
        raise NoRetry("the address book is down")
    return ctx.parents[0].result["rows"] * 10

@app.task(name="report")
def report(to: str, *, ctx: Context) -> dict[str, int]:
    return {each.task: each.result for each in ctx.parents}
"""
SUBMIT = """
from tasks import clean, enrich, extract, report
from tickwork import gather

first = extract.step(day="monday")
last = first.then(gather(clean.step(), enrich.step())).then(report.step(to="ann"))
print(last.submit().id)
"""


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.chdir(tmp_path)
    for name in ("TICKWORK_URL", "TICKWORK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "broken").touch()
    command = [sys.executable, "-m", "tickwork.cli", "up", "tasks:app", "--port", "0"]
    up = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert up.stderr
    next(line for line in up.stderr if "worker  tasks:app" in line)
    with Client() as client:
        yield client
    up.terminate()
    up.communicate()


def test_a_diamond_with_a_failure_goes_on_after_the_retry(client: Client, tmp_path: Path) -> None:
    last = _said("-c", SUBMIT).strip()
    drawn = _said("-m", "tickwork.cli", "job", "tree", last, "--watch")
    names = [line.lstrip(" │├└─").split("  ")[0] for line in drawn.splitlines()]
    assert names == ["extract", "clean", "enrich", "report"]
    execution = next(job for job in client.get_graph(last).items if job.task == "enrich")
    assert execution.status == "failed"
    (tmp_path / "broken").unlink()
    client.retry_execution(execution.execution_id or "")
    assert client.wait_for_job(last, 30).result == {"clean": 5, "enrich": 60}
    drawn = _said("-m", "tickwork.cli", "job", "tree", last, "--watch")
    assert all("completed" in line for line in drawn.splitlines())


def _said(*words: str) -> str:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True).stdout
