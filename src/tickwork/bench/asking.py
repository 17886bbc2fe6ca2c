"""Sends a caller on its errand."""

from collections.abc import Iterable
from typing import Any

import msgspec

from tickwork.bench.caller import Answers, Ask, Errand
from tickwork.bench.stage import Stage
from tickwork.model.errors import TickworkError


def post(path: str, bodies: Iterable[Any]) -> list[Ask]:
    return [Ask(path, msgspec.json.encode(body).decode()) for body in bodies]


async def ask(on: Stage, asks: list[Ask], *, in_flight: int, seconds: float | None = None) -> Answers:
    """What a process of its own found out by sending these."""
    url, key = on.address
    errand = Errand(url=url, key=key or "", asks=asks, in_flight=in_flight, seconds=seconds)
    file = on.folder / "errand.json"
    file.write_bytes(msgspec.json.encode(errand))
    caller = await on.start_program("tickwork.bench.caller", str(file))
    out, messages = await caller.communicate()
    if caller.returncode:
        raise TickworkError(f"the caller failed:\n{messages.decode()}")
    return msgspec.json.decode(out, type=Answers)
