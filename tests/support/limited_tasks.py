"""Tasks with limits, for child processes, which import this module by its path."""

import os
import time
from pathlib import Path

from tickwork import App

app = App()
_MEGABYTE = 1024 * 1024


@app.task(name="modest", process=True, memory="400Mi", cpu_time="60s", files=64)
def modest(megabytes: int) -> int:
    held = [b"x" * _MEGABYTE for _ in range(megabytes)]
    print("done")  # noqa: T201
    return len(held)


@app.task(name="free", process=True)
def free(megabytes: int) -> int:
    return len(b"x" * (megabytes * _MEGABYTE))


@app.task(name="spin_within", process=True, cpu_time=1)
def spin_within() -> None:
    while True:
        pass


@app.task(name="hang_within", process=True, memory="1Gi")
def hang_within() -> None:
    time.sleep(600)


@app.task(name="die_within", process=True, memory="1Gi")
def die_within() -> None:
    os._exit(5)


@app.task(name="leave_behind", process=True, memory="1Gi")
def leave_behind(file: str) -> None:
    if os.fork() == 0:
        os.setsid()
        Path(f"{file}.new").write_text(str(os.getpid()))
        Path(f"{file}.new").rename(file)
        time.sleep(600)
    while not Path(file).exists():
        time.sleep(0.01)
