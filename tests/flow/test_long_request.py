"""A request with thousands of schedules does not hold up everybody else."""

import asyncio
from datetime import datetime
from typing import Any

import pytest

from tickwork.define import compile_job, jobs
from tickwork.model.job import JobRequest
from tickwork.model.parsed_schedule_and_preview import Schedule
from tickwork.node import Node
from tickwork.schedule.parse import parse_schedule
from tickwork.testing.scripted_worker import ScriptedWorker


async def test_others_have_their_turn_while_a_batch_is_read(
    still_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, seen = 0, set()

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def parse(schedule: Any, timezone: str | None, *, now: datetime, seed: str) -> Schedule:
        seen.add(turns)
        return parse_schedule(schedule, timezone, now=now, seed=seed)

    await ScriptedWorker.offer_only(still_node, ["work"])
    monkeypatch.setattr(jobs, "_YIELD_AFTER", 0)
    monkeypatch.setattr(compile_job, "parse_schedule", parse)
    busy = asyncio.create_task(others())
    requests = [JobRequest(task="work", schedule=f"every {60 + number}s") for number in range(50)]
    assert len(await still_node.jobs.create_many(1, requests)) == 50
    busy.cancel()
    assert len(seen) > 40
