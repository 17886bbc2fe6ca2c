"""Programs for commands, and a worker that runs them for a test that plays the server."""

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psutil
import pytest

from support.worker_server import Conversation, run_of, working
from tickwork import App
from tickwork.model.command import COMMAND_TASK
from tickwork.model.process_limits import Usage
from tickwork.model.worker_protocol import Outcome, Run

MEGABYTE = 1024 * 1024


class Programs:
    """A folder in the PATH of the worker."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir()
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def add(self, name: str, text: str, *, mode: int = 0o755) -> Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def shell(self, name: str, text: str) -> Path:
        return self.add(name, f"#!/bin/sh\n{text}\n")

    def python(self, name: str, text: str) -> Path:
        return self.add(name, f"#!{sys.executable} -IS\n{text}\n")


class Ended(NamedTuple):
    outcome: Outcome
    lines: list[tuple[str, str]]  # level, text
    usage: Usage | None

    @property
    def error(self) -> str | None:
        return self.outcome.failure.type if self.outcome.failure else None

    @property
    def message(self) -> str:
        return self.outcome.failure.message if self.outcome.failure else ""

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.lines]


class CommandBench:
    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._jobs = 0

    async def start(
        self, *command: str, payload: Any = None, time: float = 60.0, attempt: int = 1, **fields: Any
    ) -> Run:
        self._jobs += 1
        run = run_of(
            COMMAND_TASK,
            msgspec.json.encode(payload).decode(),
            job=self._jobs,
            attempt=attempt,
            timeout=time,
        )
        target = msgspec.json.encode({"command": list(command), **fields})
        run = msgspec.structs.replace(run, target=target)
        await self.conversation.run(run)
        return run

    async def ended(self) -> Ended:
        outcome = await self.conversation.outcome()
        notes = [note for note in self.conversation.noted() if note.job == outcome.job]
        lines = [(line.level, line.text) for note in notes for line in note.lines]
        return Ended(outcome, lines, next((note.usage for note in notes if note.usage), None))

    async def run(self, *command: str, **fields: Any) -> Ended:
        await self.start(*command, **fields)
        return await self.ended()


@asynccontextmanager
async def running_commands(allowed: Sequence[str], **options: Any) -> AsyncIterator[CommandBench]:
    async with working(App(), commands=allowed, **options) as bench:
        yield CommandBench(await bench.connected())


def is_gone(pid: int) -> bool:
    """A zombie counts as gone: whoever adopted it reaps it, which may take a while."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
