"""Whether checkpoints are kept: the steps of tasks write down themselves when they run and when they are stored."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from support.attempt_ledger import LEDGER_VARIABLE, Attempted, Ledger


def steps_file(ledger: Path) -> Path:
    return ledger.with_suffix(".steps")


def write_step(event: Literal["ran", "stored"], step: str, origin: Attempted) -> None:
    line = f"{event} {origin.execution_id} {origin.attempt} {step}\n"
    file = os.open(steps_file(Path(os.environ[LEDGER_VARIABLE])), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def steps_run_again(ledger: Ledger) -> Iterator[str]:
    """A step that an attempt knew to be stored must not run in a later one."""
    stored: dict[tuple[str, str], int] = {}  # the first attempt that knew
    ran: list[tuple[str, str, int]] = []
    file = steps_file(ledger.file)
    for line in file.read_text().splitlines() if file.exists() else ():
        event, execution, attempt, step = line.split(" ", 3)
        if event == "ran":
            ran.append((execution, step, int(attempt)))
        else:
            stored.setdefault((execution, step), int(attempt))
    for execution, step, later in ran:
        if later > stored.get((execution, step), later):
            yield f"{execution}: step {step!r} ran again in attempt {later}, although it was stored before"
