"""Python tasks through a real server and a real worker: values of every kind, options of tasks, keys and waiting."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from support.ready_cluster import copy_ready_cluster
from tickwork import ExecutionFailed, NotFound
from tickwork.client.sync_client import Client

TASKS = """
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel

from tickwork import App, Context

app = App()


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Order(BaseModel):
    id: UUID
    price: Decimal
    at: datetime


@dataclass
class Invoice:
    order: Order
    size: Size
    total: Decimal


@app.task(retries=0, timeout="90s", queue="billing", priority="high")
async def bill(ctx: Context, order: Order, size: Size = Size.SMALL) -> Invoice:
    return Invoice(order, size, order.price * 2)


@app.task(process=True)
def bill_apart(order: Order, *, ctx: Context) -> list[Order]:
    return [order]


@app.task
def fail(*, ctx: Context) -> None:
    raise ValueError("no")
"""


@pytest.fixture(scope="module")
def monkeypatch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tickwork-test-", ignore_cleanup_errors=True) as name:
        monkeypatch.chdir(name)
        yield Path(name)
        monkeypatch.undo()


@pytest.fixture(scope="module")
def client(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    for name in ("TICKWORK_URL", "TICKWORK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (folder / "python_up_tasks.py").write_text(TASKS)
    copy_ready_cluster(folder / ".tickwork")
    command = [sys.executable, "-m", "tickwork.cli", "up", "python_up_tasks:app", "--port", "0"]
    up = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert up.stderr
    next(line for line in up.stderr if "worker  python_up_tasks:app" in line)
    with Client() as client:
        yield client
    up.terminate()
    up.communicate()


@pytest.fixture(scope="module")
def tasks(client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(folder))
    yield import_module("python_up_tasks")
    del sys.modules["python_up_tasks"]


def cli(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tickwork.cli", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


ORDER = {"id": "00000000-0000-0000-0000-000000000007", "price": "1.10", "at": "2026-01-01T00:00:00Z"}


def test_values_come_through_and_back_whole(client: Client, tasks: Any) -> None:
    order = tasks.Order(**ORDER)
    handle = tasks.bill.submit(order=order, size=tasks.Size.LARGE)
    assert handle.execution_id
    assert handle.result(timeout=60) == tasks.Invoice(order, tasks.Size.LARGE, order.price * 2)
    assert tasks.bill_apart.submit(order).result(timeout=60) == [order]
    with pytest.raises(ExecutionFailed, match="ValueError: no"):
        tasks.fail.options(retries=0).submit().result(timeout=60)


def test_jobs_of_commands_are_run_as_the_task_says_and_named_by_key(client: Client, tasks: Any) -> None:
    payload = json.dumps({"order": ORDER})
    create = ("job", "create", "--task", "python_up_tasks.bill", "--payload", payload)
    waited = cli(*create, "--key", "bill/7", "--wait", "--wait-timeout", "60s", "-o", "json")
    assert waited.returncode == 0, waited.stderr
    assert json.loads(waited.stdout)["result"]["total"] == "2.20"
    job = client.get_job("key:bill/7")
    shown = (job.priority, job.queue, job.timeout, job.retry.max_attempts)
    assert shown == ("high", "billing", 90.0, 1)
    assert cli("job", "get", "key:bill/7", "-o", "json").returncode == 0
    ran = client.run_job("key:bill/7", wait=60)
    assert ran.status == "completed"
    assert [each.id for each in client.list_executions(job="key:bill/7").items] == [ran.id, job.execution_id]
    created = client.create_job(task="python_up_tasks.bill", payload={"order": ORDER}, wait=60)
    assert created.execution
    assert created.execution.result["size"] == "small"
    with pytest.raises(NotFound, match="key:bill/8"):
        client.get_job("key:bill/8")
